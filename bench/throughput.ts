import { LANE_SCENARIOS } from './lane-scenarios.ts';
import type { Started } from './processes.ts';
import { rowsOf, type Row } from './report.ts';
import { MAX_TARGETS, measureRounds, type RoundOptions } from './rounds.ts';
import { SCENARIOS } from './scenarios.ts';
import {
  BASELINES,
  LANE_TARGETS,
  NO_LOG,
  RECORD_TARGETS,
  startTargets,
  UNDICI,
  type Target,
} from './targets.ts';

/** Starts the agent and the targets, and measures the targets. */
async function measureTargets(
  targets: readonly Target[],
  opened: Started[],
  { tls, baselines, ...options }: RoundOptions & { tls: boolean; baselines: readonly string[] },
): Promise<Row[]> {
  const running = await startTargets(targets, opened, { directory: options.directory, tls });
  return rowsOf(await measureRounds(running, options), baselines);
}

/**
 * The proxies in front of the agent. Many targets are measured in several groups, each with the baselines that its ratios refer to.
 * The figures of the baselines themselves are those of the first group.
 */
export async function measureThroughput(
  targets: readonly Target[],
  opened: Started[],
  options: RoundOptions,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const group of groupsOf(targets)) {
    const already = opened.length;
    const measured = await measureTargets(group, opened, { ...options, tls: false, baselines: BASELINES });
    const known = new Set(rows.map(({ target }) => target));
    rows.push(...measured.filter(({ target }) => !known.has(target)));
    for (const each of opened.splice(already).toReversed()) await each.close();
  }
  const order = ({ target }: Row): number => targets.findIndex(({ name }) => name === target);
  return rows.toSorted((a, b) => order(a) - order(b));
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

/** An egress lane and a bare forwarder in front of a vendor with TLS. */
export async function measureLanes(opened: Started[], options: RoundOptions): Promise<Row[]> {
  const own = { ...options, scenarios: LANE_SCENARIOS, tls: true, baselines: [UNDICI] };
  return measureTargets(LANE_TARGETS, opened, own);
}

/** What the audit log costs. All three targets are under load in each round, so ratios are those of the same second or so. */
export async function measureRecord(opened: Started[], options: RoundOptions): Promise<Row[]> {
  const scenarios = SCENARIOS.filter(({ name }) => name !== 'sse');
  return measureTargets(RECORD_TARGETS, opened, { ...options, scenarios, tls: false, baselines: [NO_LOG] });
}
