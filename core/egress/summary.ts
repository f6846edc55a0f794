import { modelNamesOf } from '../facts/sightings.ts';
import type { Facts } from '../facts/facts.ts';
import { cut } from '../untrusted/fields.ts';
import { present } from '../untrusted/present.ts';
import { type MatrixRow, type EgressSummary, MAX_NAME, MAX_SUMMARY } from '../shapes/egress.ts';

/** The summary of a sidecar with neither a lane nor a census. */
const NOTHING_OBSERVED: EgressSummary = {
  ...{ lanes: [], calls: 0, models: [], tools: [], undeclared: 0, undeclaredNames: [] },
  ...{ neverSeen: 0, misreported: 0 },
};

/** The summary of the matrix of `facts`. */
export function egressSummaryOf(
  { egress = null }: Pick<Facts, 'egress'>,
  rows: readonly MatrixRow[],
): EgressSummary {
  if (egress === null) return NOTHING_OBSERVED;
  const undeclared = rows.filter(({ verdict, observed }) => verdict === 'undeclared' && observed === true);
  const countOf = (wanted: string): number => rows.filter(({ verdict }) => verdict === wanted).length;
  const calls = [
    ...egress.toolsCalled,
    ...[...egress.mcpServers.values()].flatMap((each) => [...each.toolsCalled]),
  ];
  const models = [...egress.models].filter(([id]) => modelNamesOf(id).length > 0);
  return {
    lanes: short(egress.lanes, MAX_SUMMARY.lanes),
    calls: [...egress.models.values()].reduce((sum, count) => sum + count, 0),
    models: most(models, MAX_SUMMARY.models),
    tools: most(calls, MAX_SUMMARY.tools),
    undeclared: undeclared.length,
    undeclaredNames: short(
      undeclared.map(({ kind, name }) => `${kind} ${name}`),
      MAX_SUMMARY.undeclaredNames,
    ),
    neverSeen: countOf('never-seen'),
    misreported: countOf('misreported'),
    ...present({
      failedOpen: egress.failedOpen,
      unseenEgress: egress.census?.unseenEgress.filter(({ verdict }) => verdict === 'undeclared').length,
      unexplainedOpens: egress.census?.unexplainedOpens,
    }),
  };
}

function short(names: readonly string[], max: number): string[] {
  return names.slice(0, max).map((name) => cut(name, MAX_NAME));
}

/** The names with the largest sums, largest first. */
function most(counts: readonly (readonly [string, number])[], max: number): string[] {
  const sums = new Map<string, number>();
  for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count);
  return short(
    [...sums].sort(([, a], [, b]) => b - a).map(([name]) => name),
    max,
  );
}
