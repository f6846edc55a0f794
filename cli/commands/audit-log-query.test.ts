import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { columnsOf, parseLine } from '../../core/record/columns.ts';
import { RecordLines } from '../../core/record/line.ts';
import { NO_LINE } from '../../core/record/record-event.ts';
import type { AuditEvent } from '../../core/shapes/audit-event.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import {
  ADMIN_KEY,
  startControlPlaneRig,
  type ControlPlaneRig,
} from '../../testing/fleet/control-plane-rig.ts';
import { sampleEvents } from '../../testing/record/sample-events.ts';

const { run, write } = commandFolder();
const NAMESPACE = 'platform-remote';

const LINES = ((): string[] => {
  const source = {
    ...{ namespace: NAMESPACE, agent: 'shop', instance: 'pod-1', version: '1.0.0' },
    startedAt: Date.parse('2026-03-01T09:00:00.000Z'),
  };
  const lines = new RecordLines({ source, hintsOf: () => undefined, hostOf: () => undefined });
  let prev = NO_LINE;
  return Object.values(sampleEvents()).map((event, index) => {
    const made = lines.line(event, { sequence: index + 1, prev });
    prev = hash('sha256', made);
    return made;
  });
})();
const FIRST = columnsOf((parseLine(LINES[0]!) as { event: AuditEvent }).event);
const AT = FIRST.at;

interface Output {
  events: AuditEvent[];
  isLimited: boolean;
  otherLines: number;
}
const outputOf = (output: string): Output => JSON.parse(output) as Output;
const uidsOf = ({ events }: Output): string[] => events.map(({ metadata }) => metadata.uid);

describe('platform audit-log query', () => {
  let rig: ControlPlaneRig;
  beforeAll(async () => {
    rig = await startControlPlaneRig();
    rig.clock.advance(365 * 86_400_000);
    const { apiKey } = await rig.register('shop');
    const response = await rig.send('POST', '/api/v1/audit-events', {
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/x-ndjson' },
      body: LINES.join('\n'),
    });
    expect(response.status).toBe(204);
  });
  afterAll(() => rig.close());

  const ask = (options: string) =>
    run(`audit-log query --url http://127.0.0.1:${rig.listener.port} ${options}`, {
      env: { PLATFORM_ADMIN_KEY: ADMIN_KEY },
    });

  test.each([
    '',
    '--kind model',
    '--outcome deny',
    '--outcome failOpen --kind request',
    '--user auth0|5f7c',
    '--user unknown',
    '--tool delete_file',
    `--until ${new Date(AT + 1).toISOString()}`,
    `--since ${new Date(AT + 1).toISOString()}`,
    '--agent shop',
    '--agent other',
    '--namespace other',
    '--limit 3',
  ])('finds the same events in a file and in a control plane: %s', async (options) => {
    write('audit.log', LINES.map((line) => `${line}\n`).join(''));
    const inFile = await run(`audit-log query audit.log --json ${options}`);
    expect(inFile).toMatchObject({ errors: '', exitCode: 0 });
    const found = outputOf(inFile.output);
    const remote = await ask(`--json ${options.includes('--namespace') ? '' : `-n ${NAMESPACE}`} ${options}`);
    expect(remote.errors).toBe('');
    // Without what the control plane itself recorded.
    const events = outputOf(remote.output).events.filter(({ metadata }) => metadata.uid.startsWith('pod-1/'));
    if (!options.includes('--limit')) expect(events).toEqual(found.events);
    else expect(found).toMatchObject({ isLimited: true, events: { length: 3 } });
    const every = outputOf((await run('audit-log query audit.log --json')).output).events.length;
    const selects = !/other|unknown|--since/.test(options);
    expect(found.events.length > 0).toBe(selects);
    expect(every).toBe(LINES.length);
  });

  test('shows a table, newest first, and counts the lines of other programs', async () => {
    const odd = LINES.slice(0, 3).map((line, index) =>
      JSON.stringify({ ...(JSON.parse(line) as object), time: AT + index }),
    );
    write('audit.log', `${odd.join('\n')}\nnpm notice\n{"a":1}\n{"cut`);
    const { output, exitCode } = await run('audit-log query audit.log');
    expect(exitCode).toBe(0);
    const [head, ...rows] = output.split('\n');
    expect(head).toBe(
      'TIME                      AGENT                 KIND       OUTCOME  USER        TOOLS  REASON',
    );
    expect(rows.slice(0, 3).map((row) => row.slice(0, 24))).toEqual(
      [2, 1, 0].map((index) => new Date(AT + index).toISOString()),
    );
    expect(output).toContain('\n\nnote: 3 lines of other programs skipped\n');
    const limited = outputOf((await run('audit-log query audit.log --limit 2 --json')).output);
    expect([limited.isLimited, limited.otherLines, uidsOf(limited)]).toEqual([
      ...[true, 3],
      [2, 1].map((index) => (JSON.parse(LINES[index]!) as AuditEvent).metadata.uid),
    ]);
  });

  test('keeps the newest of many events in any order', async () => {
    const times = Array.from({ length: 5_000 }, (_, index) => AT + ((index * 7_919) % 5_000));
    const event = JSON.parse(LINES[1]!) as AuditEvent;
    write('audit.log', times.map((time) => `${JSON.stringify({ ...event, time })}\n`).join(''));
    const { events } = outputOf((await run('audit-log query audit.log --limit 4 --json')).output);
    expect(events.map(({ time }) => time - AT)).toEqual([4_999, 4_998, 4_997, 4_996]);
  });

  test('an escape sequence in an event does not reach the terminal', async () => {
    const event = JSON.parse(LINES[1]!) as AuditEvent;
    const actor = { ...event.actor, user: { uid: 'a\u001b[31mb' } };
    write('audit.log', `${JSON.stringify({ ...event, actor })}\n`);
    expect((await run('audit-log query audit.log')).output).not.toContain('\u001b');
  });

  test.each([
    ['', 'error: pass files of an audit log, or --url'],
    ['audit.log --url http://127.0.0.1:1', 'error: pass files of an audit log, or --url'],
    ['audit.log --since yesterday', 'Must be 30s, 5m, 2h or 7d, or a time such as 2026-03-01T10:00:00Z.'],
    ['audit.log --limit 1001', 'Must be an integer from 1 to 1000.'],
    ['audit.log --limit 0', 'Must be an integer from 1 to 1000.'],
    ['audit.log --kind chat', 'Allowed choices are request, model,'],
    ['gone.log', 'cannot read gone.log: '],
    ['--url http://127.0.0.1:1', 'no credential'],
  ])('%s is an error', async (options, message) => {
    const { errors, exitCode } = await run(`audit-log query ${options}`);
    expect(exitCode).toBe(1);
    if (message !== 'no credential') expect(errors).toContain(message);
    else expect(errors).toMatch(/^error: .*PLATFORM_ADMIN_KEY/);
  });
});
