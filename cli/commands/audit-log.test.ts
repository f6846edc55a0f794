import { mkdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MEMBERS } from '../../core/record/members.ts';
import { chainOf } from '../../core/record/record-event.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import { chainOfLines } from '../../testing/record/chain-of-lines.ts';
import { sha256 } from '../../testing/record/log-lines.ts';
import { SAMPLE_SOURCE } from '../../testing/record/sample-events.ts';

const { at, read, run, write } = commandFolder();
const CHAIN = chainOf(SAMPLE_SOURCE);
const LINES = chainOfLines(40);
const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const headOf = (sequence: number) => ({ chain: CHAIN, sequence, head: sha256(LINES[sequence - 1] ?? '') });
const HEADS = JSON.stringify([headOf(20), headOf(40)]);
const edited = (line: string): string => line.replace('"duration":612', '"duration":613');

describe('platform audit-log verify', () => {
  test('a log without changes', async () => {
    write('audit.log', text(LINES));
    write('heads.json', HEADS);
    const width = CHAIN.length;
    expect(await run('audit-log verify audit.log --heads heads.json')).toEqual({
      output: `no problem in 1 chain

${'CHAIN'.padEnd(width)}  EVENTS   LOST  HEADS
${CHAIN}  1 to 40  3     2
`,
      errors: '',
      exitCode: 0,
    });
    expect((await run('audit-log verify audit.log')).output).toContain('note: without --heads or --url, ');
  });

  test('names the file and the line of each problem, over the rotated files in their order', async () => {
    write('audit.log.2', text(LINES.slice(0, 10)));
    write('audit.log.1', text(LINES.slice(10, 20).with(4, edited(LINES[14]!))));
    write('audit.log', text(LINES.slice(20, 40).toSpliced(3, 1)));
    const { output, errors, exitCode } = await run('audit-log verify audit.log audit.log.1 audit.log.2');
    expect(output).toContain(
      'audit.log.1:5 changed: the line with sequence 15 is not the one that was written\n' +
        'audit.log:4 missing: lines 24 to 24 are missing before it\n',
    );
    expect({ errors, exitCode }).toEqual({
      errors: 'error: the audit log was changed or is not complete: 2 problems\n',
      exitCode: 1,
    });
  });

  test('--json has everything', async () => {
    write('audit.log', `${text(LINES.slice(2, 30))}npm notice\n${LINES[30]!.slice(0, 50)}`);
    write('heads.json', JSON.stringify([headOf(40), { ...headOf(1), chain: 'gone/1' }]));
    const { output, exitCode } = await run('audit-log verify audit.log --heads heads.json --json');
    expect(JSON.parse(output)).toEqual({
      lines: 30,
      otherLines: 1,
      chains: [{ chain: CHAIN, first: 3, last: 30, isFromStart: false, lost: 3, heads: 0 }],
      problems: [
        {
          ...{ file: 'audit.log', line: 28, problem: 'truncated' },
          message: 'head 40 is known, the chain ends at 30',
        },
        { file: 'audit.log', line: 30, problem: 'torn', message: 'not complete: no newline follows' },
      ],
      absent: ['gone/1'],
    });
    expect(exitCode).toBe(1);
    const notes = (await run('audit-log verify audit.log --heads heads.json')).output;
    for (const note of [
      `${CHAIN} has no lines before 3: rotated away, or in another file`,
      `no head is known for these lines of ${CHAIN}`,
      'heads are known, but no line, of gone/1',
      '1 line of other programs skipped',
    ])
      expect(notes).toContain(`note: ${note}`);
  });

  test('lists at most 100 problems in the text', async () => {
    write('audit.log', text(LINES.flatMap((line) => [line, '{', '{', '{'])));
    const { output } = await run('audit-log verify audit.log');
    expect(output.match(/ unreadable: /g)).toHaveLength(100);
    expect(output).toContain('\nand 20 more (--json)\n');
  });

  test('prints no control characters of a log', async () => {
    const lines = chainOfLines(2, { ...SAMPLE_SOURCE, instance: 'a\u001b[2Jb' });
    write('audit.log', text(lines.slice(0, 1)));
    const { output } = await run('audit-log verify audit.log');
    expect(output).toContain('a\ufffd[2Jb/');
    expect(output).not.toContain('\u001b');
  });

  test.each<[string, string, string]>([
    ['audit-log verify none.log', '', 'cannot read none.log: does not exist'],
    ['audit-log verify folder', '', 'cannot read folder: is a directory'],
    ['audit-log verify empty.log', '', 'empty.log: no line is an event of an audit log'],
    ['audit-log verify heads.json', HEADS, 'heads.json: no line is an event of an audit log'],
    ['audit-log verify audit.log --heads none.json', '', 'cannot read none.json: does not exist'],
    ['audit-log verify audit.log --heads heads.json', '[', 'heads.json is not valid JSON'],
    [
      'audit-log verify audit.log --heads heads.json',
      '{}',
      'heads.json is not a list of heads: must be a list',
    ],
    [
      'audit-log verify audit.log --heads heads.json',
      '[{"chain":"a/1","sequence":1,"head":"x"}]',
      'heads.json is not a list of heads: [0].head must be 64 hexadecimal digits',
    ],
    ['audit-log verify audit.log --agent shop', '', '--url and --agent require each other'],
    ['audit-log verify audit.log --url localhost:1', '', '--url and --agent require each other'],
    ['audit-log verify audit.log --url localhost:1 --agent shop', '', 'no credential for the control plane'],
    ['audit-log verify audit.log --output audit.log', '', 'cannot write audit.log: it is an input'],
  ])('%s (%s): %s', async (args, heads, message) => {
    write('audit.log', text(LINES));
    write('empty.log', '');
    mkdirSync(at('folder'));
    if (heads !== '') write('heads.json', heads);
    const { output, errors, exitCode } = await run(`${args} --json`);
    expect(errors).toContain(`error: ${message}`);
    expect(JSON.parse(output)).toEqual({ error: expect.stringContaining(message) });
    expect(exitCode).toBe(1);
    expect(read('audit.log')).toBe(text(LINES));
  });

  describe('with a control plane', () => {
    let servers: TestServers;
    beforeEach(() => {
      servers = new TestServers();
    });
    afterEach(() => servers.close());

    async function verified(status: number, body: string): Promise<{ result: string; requests: string[] }> {
      const requests: string[] = [];
      const port = await servers.http((request, response) => {
        requests.push(`${request.url} ${String(request.headers['x-admin-key'])}`);
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      });
      write('audit.log', text(LINES.slice(0, 30)));
      const line = `audit-log verify audit.log --url http://127.0.0.1:${port} --agent shop -n retail`;
      const { output, errors } = await run(line, { env: { PLATFORM_ADMIN_KEY: 'the-key' } });
      return { result: output + errors, requests };
    }

    test('compares the lines with the heads of the agent', async () => {
      const body = JSON.stringify([{ ...headOf(40), at: '2026-03-01T12:00:00.000Z', written: 40 }]);
      const { result, requests } = await verified(200, body);
      expect(requests).toEqual(['/api/v1/agents/shop/audit-heads?namespace=retail the-key']);
      expect(result).toContain('audit.log:30 truncated: head 40 is known, the chain ends at 30');
    });

    test.each([
      [
        404,
        '{"detail":"no agent shop"}',
        'returned 404 for GET /api/v1/agents/shop/audit-heads: no agent shop',
      ],
      [
        200,
        '<html>',
        'returned an invalid response to GET /api/v1/agents/shop/audit-heads; check its version',
      ],
    ])('response %i %s is an error', async (status, body, message) => {
      expect((await verified(status, body)).result).toContain(message);
    });
  });
});

test('platform audit-log columns lists each flattened name once', async () => {
  const { output } = await run('audit-log columns --json');
  const { columns } = JSON.parse(output) as { columns: { name: string; description: string }[] };
  expect(columns.map(({ name }) => name)).toEqual(Object.keys(MEMBERS));
  expect(columns).toContainEqual({ name: 'resources.type', description: '`tool`.' });
  expect((await run('audit-log columns')).output).toMatch(/^COLUMN +DESCRIPTION\naction_id +What was done/);
});
