import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../core/shapes/audit-entry.ts';
import { MODES } from '../testing/sidecar/client-rig.ts';
import { ProcessRig, type RunningPart } from '../testing/machine/process-rig.ts';
import type { FromAgent, ToAgent } from '../testing/processes/streaming-agent.ts';
import { manifestText } from '../testing/sidecar/sidecar-rig.ts';
import { StreamingClient } from '../testing/http/streaming-client.ts';
import { until } from '../testing/time/until.ts';

/** Number of concurrent streams (`make soak`: 1,000). */
const STREAMS = Number(process.env['STREAMS'] ?? 200);
const WARM_UP = 100;
const EVENTS = 10;
/** Maximum memory growth in bytes, relative to a sidecar that has proxied a few streams. */
const MAX_GROWTH = 150 * 1024 * 1024;
/** Tolerance for files that a sidecar opens for itself. */
const EXTRA_FILES = 10;
/** Time-out of one step, long enough for a busy machine; not a measurement. */
const STEP_TIMEOUT_MS = 100_000;

/** Why this machine cannot open that many streams; undefined: it can. */
function whySkipped(): string | undefined {
  if (!existsSync('/proc/self/fd'))
    return 'this system has no /proc, from which memory and open files are read';
  const files = Number(spawnSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).stdout);
  return files < 4 * STREAMS ? `${4 * STREAMS} open files are required, ulimit -Hn is ${files}` : undefined;
}
const reason = whySkipped();
if (reason !== undefined) process.stderr.write(`SKIPPED: ${STREAMS} streams: ${reason}\n`);

(reason === undefined ? describe : describe.skip).each(MODES)(`${STREAMS} streams, in mode %s`, (mode) => {
  let rig: ProcessRig;
  let agent: ChildProcess;
  let sidecar: RunningPart & { proxyUrl: string; controlUrl: string };
  let streams: Extract<FromAgent, { kind: 'streams' }>;

  beforeEach(async () => {
    rig = await ProcessRig.open();
    streams = { kind: 'streams', open: 0, left: 0, ended: 0 };
    agent = fork(join(import.meta.dirname, '../testing/processes/streaming-agent.ts'), { execArgv: [] });
    const [{ port }] = (await once(agent, 'message')) as [{ port: number }];
    agent.on('message', (message: FromAgent) => {
      if (message.kind === 'streams') streams = message;
    });
    const manifest = manifestText({ guardrails: { input: [{ type: 'pii-detector' }] } });
    sidecar = await rig.startSidecar(port, await rig.file('agent.yaml', manifest), {
      POLICY_ENGINE: 'builtin',
      POLICY_PROXY_MODE: mode,
      AUDIT_RING_SIZE: String(4 * STREAMS),
    });
  }, STEP_TIMEOUT_MS);

  afterEach(async () => {
    agent.kill('SIGKILL');
    await once(agent, 'exit');
    await rig.close();
  }, STEP_TIMEOUT_MS);

  const memory = (): number =>
    Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${sidecar.pid}/status`, 'utf8'))?.[1]) * 1024;
  const openFiles = (): number => readdirSync(`/proc/${sidecar.pid}/fd`).length;
  const command = (message: ToAgent): void => void agent.send(message);

  /**
   * Opens streams, sends each event through all of them, disconnects every second client and ends the other streams.
   * Returns the maximum memory of the sidecar.
   */
  async function wave(count: number): Promise<number> {
    const { left: leftBefore, ended: endedBefore } = streams;
    const readers = Array.from(
      { length: count },
      () => new StreamingClient(Number(new URL(sidecar.proxyUrl).port)),
    );
    const behind = (number: number): number => readers.filter((reader) => reader.number < number).length;
    const faults = (): string[] => readers.flatMap(({ fault }) => fault ?? []);
    let most = 0;
    // The next event is sent only after all readers have this event. Therefore an event that is held back fails the test.
    for (let number = 0; number <= EVENTS; number++) {
      if (number > 0) command('event');
      await until(
        () => behind(number) === 0 || faults().length > 0,
        () => `event ${number} did not reach ${behind(number)} of ${count} readers`,
      );
      expect(faults()).toEqual([]);
      most = Math.max(most, memory());
    }
    const leaving = readers.filter((_, index) => index % 2 === 0);
    for (const { socket } of leaving) socket.destroy();
    await until(
      () => streams.left - leftBefore === leaving.length,
      () => `the agent noticed ${streams.left - leftBefore} of ${leaving.length} disconnects`,
    );
    expect(streams.open).toBe(count - leaving.length);
    command('end');
    const staying = readers.filter(({ socket }) => !socket.destroyed);
    await until(
      () => staying.every(({ hasEnded }) => hasEnded) && streams.ended - endedBefore === staying.length,
      () => `${staying.filter(({ hasEnded }) => !hasEnded).length} streams did not end`,
    );
    expect(staying.filter(({ hasUsage }) => !hasUsage)).toEqual([]);
    for (const { socket } of staying) socket.destroy();
    return most;
  }

  /** The audit entries after `count` exchanges: the sidecar may complete an entry later than the client and the agent. */
  async function completeEntries(count: number): Promise<AuditEntry[]> {
    for (const deadline = Date.now() + STEP_TIMEOUT_MS; ;) {
      const entries = (await (await fetch(`${sidecar.controlUrl}/audit`)).json()) as AuditEntry[];
      const complete = entries.filter(({ outcome }) => outcome !== undefined).length;
      if (complete === entries.length && complete >= count) return entries;
      if (Date.now() > deadline) throw new Error(`${complete} of ${entries.length} entries are complete`);
      await sleep(20);
    }
  }

  test(
    'are forwarded without delay, need less than 150 MB, and release all resources',
    async () => {
      await wave(WARM_UP);
      const idle = { files: openFiles(), memory: memory() };
      const first = await wave(STREAMS);
      expect(first - idle.memory).toBeLessThan(MAX_GROWTH);
      // The sockets to the agent stay open for a while for the next request.
      await until(
        () => openFiles() <= idle.files + EXTRA_FILES,
        () => `${openFiles()} files are open, ${idle.files} were open before the streams`,
      );
      const second = await wave(STREAMS);
      expect(second - idle.memory).toBeLessThan(MAX_GROWTH);
      const entries = (await completeEntries(WARM_UP + 2 * STREAMS)).slice(WARM_UP);
      const byOutcome = Map.groupBy(entries, ({ outcome, aborted, usage }) =>
        JSON.stringify({
          outcome,
          aborted,
          tokens: usage && 'totalTokens' in usage ? usage.totalTokens : null,
        }),
      );
      expect(Object.fromEntries([...byOutcome].map(([outcome, { length }]) => [outcome, length]))).toEqual({
        [JSON.stringify({ outcome: 'allow', aborted: true, tokens: null })]: STREAMS,
        [JSON.stringify({ outcome: 'allow', tokens: 7 + EVENTS })]: STREAMS,
      });
    },
    4 * STEP_TIMEOUT_MS,
  );
});
