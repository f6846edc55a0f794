import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { matrixOf } from '../../core/egress/matrix.ts';
import { egressReportOf } from '../../core/egress/report.ts';
import { misbehavingEgress } from '../../testing/fleet/egress-facts.ts';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import type { CliContext } from '../context.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import type { Rendered } from '../rendered.ts';
import { TestServers } from '../../testing/http/sockets.ts';

const { run } = commandFolder();

const CALL = {
  ...{ id: 1, at: '2026-03-01T12:00:01.000Z', lane: 'openai', method: 'POST', path: '/v1/chat/completions' },
  ...{ model: 'gpt-5', stream: false, toolsOffered: ['search'], toolsCalled: ['delete_order'] },
  ...{ toolsExecuted: [], usage: { promptTokens: 31, completionTokens: 5 }, statusCode: 200 },
  ...{ durationMs: 1234, violations: ['tool_not_declared'], blocked: true, requestId: null },
};
const ROWS = [
  {
    kind: 'tool',
    name: 'delete_order',
    declared: false,
    reported: null,
    observed: true,
    verdict: 'undeclared',
  },
  { kind: 'model', name: 'gpt-5', declared: true, reported: true, observed: true, verdict: 'match' },
];

const servers = new TestServers();
let url: string;
/** Bodies by path; a function is called for each request. */
let bodies: Record<string, unknown>;

beforeEach(async () => {
  bodies = { '/egress': [CALL], '/explore': { rows: ROWS, egress: { lanes: ['openai'] } } };
  const port = await servers.http((request, response) => {
    const body = bodies[new URL(request.url ?? '', 'http://sidecar').pathname];
    response
      .writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body));
  });
  url = `http://127.0.0.1:${port}`;
});
afterEach(() => servers.close());

const observe = (args: string, context: Partial<CliContext> = {}): Promise<Rendered> =>
  run(`observe --url ${url} ${args}`, context);

describe('platform observe --once', () => {
  test('prints every row that the sidecar computes, as the heartbeat has it', async () => {
    const facts = someFacts({ egress: misbehavingEgress() });
    const manifest = aManifest({ tools: [{ name: 'search' }] });
    const setup = { census: { state: 'on', reason: null }, notRewritten: [] } as const;
    bodies['/explore'] = matrixOf(manifest, facts);
    const { rows } = JSON.parse((await observe('--once --json')).output) as { rows: unknown };
    expect(rows).toEqual(egressReportOf(manifest, facts, setup)?.rows);
  });

  test('prints the matrix', async () => {
    expect(await observe('--once')).toEqual({
      exitCode: 0,
      errors: '',
      output: [
        'KIND   NAME          DECLARED  REPORTED  OBSERVED  VERDICT\n',
        'tool   delete_order  no        ?         yes       undeclared\n',
        'model  gpt-5         yes       yes       yes       match\n',
      ].join(''),
    });
  });

  test('prints it as JSON', async () => {
    expect(JSON.parse((await observe('--once --json')).output)).toEqual({ rows: ROWS });
  });

  test('rejects a server that is not a sidecar', async () => {
    bodies = {};
    const { errors, exitCode } = await observe('--once');
    expect(exitCode).toBe(1);
    expect(errors).toContain('is not the control port of a sidecar: GET /explore returned 404');
  });

  test('rejects an invalid response', async () => {
    bodies['/explore'] = { rows: [{ kind: 'tool' }] };
    expect((await observe('--once')).errors).toContain('returned an invalid response to GET /explore');
  });
});

describe('platform observe', () => {
  /** Runs the command until it has printed its first line. */
  async function untilPrinted(args: string): Promise<{ live: string; rendered: Rendered }> {
    const stopping = new AbortController();
    const output = new PassThrough();
    output.once('data', () => stopping.abort());
    const live = text(output);
    const stdio = { input: new PassThrough(), output, stopped: stopping.signal };
    const rendered = await observe(args, { stdio: () => stdio });
    output.end();
    return { live: await live, rendered };
  }

  test('prints calls, and the matrix at the end', async () => {
    const { live, rendered } = await untilPrinted('');
    expect(live).toBe(
      '12:00:01  openai  gpt-5  tools delete_order  31+5 tokens  200  1.2 s  blocked tool_not_declared\n',
    );
    expect(rendered.output).toContain('undeclared');
    expect(rendered.exitCode).toBe(0);
  });

  test.each([
    [
      'of a default price',
      { costUsd: 0.0001234, priceDate: '2026-10-21' },
      '$0.000123 (prices of 2026-10-21)',
    ],
    ['of a declared price', { costUsd: 12.5 }, '$12.5'],
  ])('prints the cost %s', async (_what, cost, shown) => {
    const [call] = bodies['/egress'] as { usage: object }[];
    bodies['/egress'] = [{ ...call, usage: { ...call?.usage, ...cost } }];
    expect((await untilPrinted('')).live).toContain(`31+5 tokens  ${shown}  200`);
  });

  test('prints the calls until its end, which the matrix contains', async () => {
    const calls = [CALL];
    bodies['/egress'] = calls;
    const stopping = new AbortController();
    const output = new PassThrough();
    output.once('data', () => {
      calls.push({ ...CALL, id: 2, toolsCalled: ['last_tool'] });
      stopping.abort();
    });
    const live = text(output);
    await observe('', { stdio: () => ({ input: new PassThrough(), output, stopped: stopping.signal }) });
    output.end();
    expect((await live).match(/delete_order|last_tool/g)).toEqual(['delete_order', 'last_tool']);
  });

  test.each([
    ['without lanes', { lanes: [], connect: 'off' }, 1],
    ['of an earlier version without lanes', { lanes: [] }, 1],
    ['with the CONNECT lane only', { lanes: [], connect: 'log' }, 0],
  ])('at a sidecar %s', async (_what, egress, exitCode) => {
    bodies['/explore'] = { rows: ROWS, egress };
    const stdio = { input: new PassThrough(), output: new PassThrough(), stopped: AbortSignal.abort() };
    const rendered = await observe('', { stdio: () => stdio });
    expect(rendered.exitCode).toBe(exitCode);
    expect(rendered.errors.startsWith('error: this sidecar has no lanes')).toBe(exitCode === 1);
  });

  test('prints JSON lines', async () => {
    const { live, rendered } = await untilPrinted('--json');
    expect(JSON.parse(live)).toMatchObject({ call: { id: 1, blocked: true } });
    expect(JSON.parse(rendered.output)).toEqual({ matrix: ROWS });
  });
});
