import { LANE_SCENARIOS } from './lane-scenarios.ts';
import { residentMb, type Started } from './processes.ts';
import { rowsOf, type Row } from './report.ts';
import type { TargetMemory } from './results.ts';
import { measureRounds, type RoundOptions } from './rounds.ts';
import { BASELINES, LANE_TARGETS, startTargets, TLS_TARGETS, UNDICI, type Target } from './targets.ts';

/** Starts the agent and the targets, and measures the targets. */
async function measureTargets(
  targets: readonly Target[],
  opened: Started[],
  { tls, ...options }: RoundOptions & { tls: boolean; baselines: readonly string[] },
): Promise<{ rows: Row[]; memory: TargetMemory[] }> {
  const running = await startTargets(targets, opened, { directory: options.directory, tls });
  const idle = running.map(({ pid }) => residentMb(pid));
  const rows = rowsOf(await measureRounds(running, options), options.baselines);
  const memory = running.map(({ name, pid }, index) => ({
    target: name,
    idleMb: idle[index] ?? NaN,
    afterLoadMb: residentMb(pid),
  }));
  return { rows, memory };
}

/** The proxies in front of the agent. */
export const measureThroughput = (
  targets: readonly Target[],
  opened: Started[],
  options: RoundOptions,
): Promise<{ rows: Row[]; memory: TargetMemory[] }> =>
  measureTargets(targets, opened, { ...options, tls: false, baselines: BASELINES });

/** The sidecar and bare undici in front of an agent with TLS. */
export async function measureTls(opened: Started[], options: RoundOptions): Promise<Row[]> {
  const measured = await measureTargets(TLS_TARGETS, opened, { ...options, tls: true, baselines: [UNDICI] });
  return measured.rows;
}

/** An egress lane and a bare forwarder in front of a vendor with TLS. */
export async function measureLanes(opened: Started[], options: RoundOptions): Promise<Row[]> {
  const own = { ...options, scenarios: LANE_SCENARIOS, tls: true, baselines: [UNDICI] };
  return (await measureTargets(LANE_TARGETS, opened, own)).rows;
}
