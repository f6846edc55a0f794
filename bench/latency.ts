import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { OpenLoop, OpenLoopResult } from './open-loop.ts';
import { pin, type Started } from './processes.ts';
import { spreadOf } from './report.ts';
import type { LatencyRow } from './results.ts';
import { warmUp, type RoundOptions } from './rounds.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { DIRECT, SIDECAR, startTargets, TARGETS, UNDICI, type RunningTarget } from './targets.ts';

/** Requests per second. */
const RATE = 1_000;
const [SECONDS, WARM_UP_SECONDS] = [4, 1];
const MEASURED: readonly string[] = [DIRECT, UNDICI, SIDECAR];

/** Sends requests at a constant rate to the agent, to bare undici and to the sidecar, in turn. */
export async function measureLatency(opened: Started[], options: RoundOptions): Promise<LatencyRow[]> {
  const scenario = SCENARIOS.find(({ name }) => name === 'chat');
  if (scenario === undefined) throw new Error('there is no scenario chat');
  const { directory, rounds, log } = options;
  const targets = TARGETS.filter(({ name }) => MEASURED.includes(name));
  const running = await startTargets(targets, opened, { directory });
  const measured: Record<string, OpenLoopResult>[] = [];
  for (let round = 1; round <= rounds; round++) {
    log(`${RATE} requests per second, round ${round} of ${rounds}`);
    const results: Record<string, OpenLoopResult> = {};
    for (const target of round % 2 === 0 ? running : running.toReversed()) {
      // While the others were measured, this target was idle for more than eight seconds (MAX_TARGETS).
      await warmUp([{ ...target, scenario }], options);
      results[target.name] = await measureOnce(target, scenario);
    }
    measured.push(results);
  }
  return running.map(({ name }) => rowOf(name, measured));
}

async function measureOnce({ port, prefix }: RunningTarget, scenario: Scenario): Promise<OpenLoopResult> {
  const { method, path, body, response } = scenario;
  const head = `${method} /${prefix}${path} HTTP/1.1\r\nHost: agent\r\nContent-Type: application/json\r\n`;
  return runOpenLoop({
    port,
    request: `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    bodyBytes: Buffer.byteLength(response.join('')),
    rate: RATE,
    seconds: SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
  });
}

async function runOpenLoop(options: OpenLoop): Promise<OpenLoopResult> {
  const program = join(import.meta.dirname, 'open-loop.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) pin(child.pid, 'others');
  const [output, problem] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  if (child.exitCode !== 0) throw new Error(`the load generator failed: ${problem}`);
  return JSON.parse(output) as OpenLoopResult;
}

function rowOf(target: string, rounds: readonly Record<string, OpenLoopResult>[]): LatencyRow {
  const over = (
    value: (own: OpenLoopResult, direct: OpenLoopResult) => number,
  ): ReturnType<typeof spreadOf> =>
    spreadOf(
      rounds.flatMap(({ [target]: own, [DIRECT]: direct }) =>
        own === undefined || direct === undefined ? [] : [value(own, direct)],
      ),
    );
  return {
    target,
    addedP50Ms: over((own, direct) => own.p50Ms - direct.p50Ms),
    addedP99Ms: over((own, direct) => own.p99Ms - direct.p99Ms),
    lateP99Ms: over(({ lateP99Ms }) => lateP99Ms),
  };
}
