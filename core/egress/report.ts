import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { cut } from '../untrusted/fields.ts';
import { present } from '../untrusted/present.ts';
import { matrixOf } from './matrix.ts';
import { egressSummaryOf } from './summary.ts';
import {
  MAX_NAME,
  type EgressSummary,
  type MatrixRow,
  type NotRewritten,
  type CensusState,
  type UnseenEgress,
  type EgressReport,
  MAX_REPORT,
} from '../shapes/egress.ts';
import type { MatrixState } from './matrix-state.ts';

/** What only the configuration of the sidecar knows. */
export interface EgressSetup {
  census: CensusState;
  notRewritten: readonly NotRewritten[];
}

/** null: neither a lane nor a census, and none is refused. */
export function egressReportOf(
  manifest: Manifest,
  facts: Pick<Facts, 'agentReport' | 'behavior' | 'egress' | 'reported'>,
  { census, notRewritten }: EgressSetup,
): EgressReport | null {
  const egress = facts.egress ?? null;
  if (egress === null) return census.state === 'refused' ? { ...egressSummaryOf(facts, []), census } : null;
  const { rows } = matrixOf(manifest, facts);
  const unseen = egress.census?.unseenEgress;
  return {
    ...egressSummaryOf(facts, rows),
    rows: mostUseful(rows).map((row) => ({ ...row, name: cut(row.name, MAX_NAME) })),
    ...present({
      rowsTotal: totalAbove(MAX_REPORT.rows, rows),
      unseen: unseen?.slice(0, MAX_REPORT.unseen).map(shortened),
      unseenTotal: totalAbove(MAX_REPORT.unseen, unseen),
      notRewritten: notRewritten.length === 0 ? null : notRewritten.slice(0, MAX_REPORT.notRewritten),
    }),
    census,
  };
}

/** The part that is stored in the status; null: lanes and census observe nothing. */
export function observedSummaryOf(report: EgressReport | null): EgressSummary | null {
  if (report === null) return null;
  const { rows, rowsTotal: _rows, unseen: _, unseenTotal: _unseen, notRewritten: _not, ...rest } = report;
  const { census, ...summary } = rest;
  return census !== undefined && rows === undefined ? null : summary;
}

const totalAbove = (max: number, all: readonly unknown[] | undefined): number | null =>
  all !== undefined && all.length > max ? all.length : null;

const shortened = (each: UnseenEgress): UnseenEgress => ({
  ...each,
  name: each.name === null ? null : cut(each.name, MAX_NAME),
  ...(each.lanes && { lanes: each.lanes.slice(0, MAX_REPORT.lanesOfUnseen) }),
});

/** If there are too many rows, these are left out first. All other states are contradictions. */
const LEFT_OUT_FIRST: readonly MatrixState[] = ['match', 'unknown', 'never-seen'];

/** At most as many rows as the limit, in the order of the matrix. */
function mostUseful(rows: readonly MatrixRow[]): readonly MatrixRow[] {
  if (rows.length <= MAX_REPORT.rows) return rows;
  const rank = ({ verdict }: MatrixRow): number => {
    const index = LEFT_OUT_FIRST.indexOf(verdict);
    return index < 0 ? LEFT_OUT_FIRST.length : index;
  };
  const kept = new Set([...rows].sort((a, b) => rank(b) - rank(a)).slice(0, MAX_REPORT.rows));
  return rows.filter((row) => kept.has(row));
}
