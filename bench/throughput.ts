import { LANE_SCENARIOS } from './lane-scenarios.ts';
import { residentMb, type Started } from './processes.ts';
import { rowsOf, type Row } from './report.ts';
import type { TargetMemory } from './results.ts';
import { MAX_TARGETS, measureRounds, type RoundOptions } from './rounds.ts';
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

/**
 * The proxies in front of the agent. Many targets are measured in several groups, each with the baselines that its ratios refer to.
 * The figures of the baselines themselves are those of the first group.
 */
export async function measureThroughput(
  targets: readonly Target[],
  opened: Started[],
  options: RoundOptions,
): Promise<{ rows: Row[]; memory: TargetMemory[] }> {
  const rows: Row[] = [];
  const memory: TargetMemory[] = [];
  for (const group of groupsOf(targets)) {
    const already = opened.length;
    const measured = await measureTargets(group, opened, { ...options, tls: false, baselines: BASELINES });
    const isNew = ({ target }: { target: string }): boolean => !memory.some((each) => each.target === target);
    rows.push(...measured.rows.filter(isNew));
    memory.push(...measured.memory.filter(isNew));
    for (const each of opened.splice(already).toReversed()) await each.close();
  }
  const inOrder = (a: { target: string }, b: { target: string }): number => order(a) - order(b);
  const order = ({ target }: { target: string }): number => targets.findIndex(({ name }) => name === target);
  return { rows: rows.toSorted(inOrder), memory: memory.toSorted(inOrder) };
}

/** Splits the targets into groups that are small enough for `measureRounds`. */
export function groupsOf<T extends { name: string }>(targets: readonly T[]): T[][] {
  const isBaseline = ({ name }: T): boolean => BASELINES.some((baseline) => baseline === name);
  const baselines = targets.filter(isBaseline);
  const others = targets.filter((target) => !isBaseline(target));
  const size = MAX_TARGETS - baselines.length;
  return Array.from({ length: Math.max(1, Math.ceil(others.length / size)) }, (_, index) => [
    ...baselines,
    ...others.slice(index * size, (index + 1) * size),
  ]);
}

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
