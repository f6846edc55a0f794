import type { MatrixKind } from '../../core/shapes/values.ts';
import type { MatrixRow } from '../../core/shapes/egress.ts';
import type { MatrixState } from '../../core/egress/matrix-state.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { REMEDIES as UNDECLARED, RULES } from './egress-rows.ts';

/** A row of the matrix with what to do about it. */
export interface ShownRow extends MatrixRow {
  /** The text of the gap issue about the row; null: there is none. */
  description: string | null;
  /** null: the row matches. */
  remedy: string | null;
  /** Property of the gap issue, which leads to the page of its rule; null: no issue. */
  rule: string | null;
}

/** The look of each state, in the order of the rows: contradictions first. */
export const TAGS: Readonly<Record<MatrixState, string>> = {
  undeclared: 'is-bad',
  misreported: 'is-bad',
  unreported: 'is-warn',
  'never-seen': 'is-warn',
  unknown: '',
  match: 'is-good',
};
const ORDER = Object.keys(TAGS);

type Remedies = Readonly<{ any: string } & Partial<Record<MatrixKind, string>>>;

/** Why a row is unknown, and how it becomes known. */
const UNKNOWN: Remedies = {
  any: 'Neither a report nor an observation shows it.',
  model: 'No report and no lane shows it: add the vendor to platform.io/egress-lanes.',
  tool: 'Neither a report nor a call through a lane shows it: wait for calls, or report the tools of each response.',
  mcp: 'Neither a report nor a lane shows it: add mcp:<name>=<VARIABLE> to platform.io/egress-lanes.',
  host: 'No connection with this name was seen. A connection without a name may have been to it.',
  guardrail: 'Only a report shows a guardrail: send X-Platform-Guardrails-Invoked, or use the reporter.',
  tokens: 'No request has both reported tokens and calls through a lane.',
};

const REMEDIES: Readonly<Record<Exclude<MatrixState, 'match'>, Remedies>> = {
  undeclared: {
    any: 'Declare it in the manifest, or remove it from the agent.',
    ...UNDECLARED,
    tool: 'Declare the tool in spec.tools or spec.egress.tools, or remove it from the agent.',
    model: 'Declare the model in spec.model, its fallback or spec.egress.models, or call the declared model.',
    guardrail: 'Declare the guardrail in spec.guardrails, or remove it from the reports.',
  },
  misreported: {
    any: 'Report only what the agent does: the lanes would have seen it.',
    tokens: 'Report the usage that the vendor returns, for every call of the agent.',
  },
  unreported: { any: 'Report it in each response. The reporter does this.' },
  'never-seen': {
    any: 'Nothing showed it in the last 24 hours: remove it from the manifest, or use it.',
    guardrail:
      'The reports of the last requests do not name it: run the guardrail, or remove it from spec.guardrails.',
  },
  unknown: UNKNOWN,
};

/** The rows of the matrix, contradictions first, each with its remedy. A gap issue about a row has the more exact texts. */
export function matrixRows(rows: readonly MatrixRow[], issues: readonly Issue[]): ShownRow[] {
  const byProperty = new Map(issues.map((issue) => [issue.property, issue]));
  const shown = rows.map((row): ShownRow => {
    const issue = row.verdict === 'match' ? undefined : byProperty.get(propertyOf(row));
    return {
      ...row,
      description: issue?.description ?? null,
      remedy: issue?.recommendation ?? remedyOf(row),
      rule: issue?.property ?? null,
    };
  });
  return shown.sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
}

/** Of a host whose address may belong to a declared host. */
export const SHARED_ADDRESS =
  'The address may belong to a declared host, so it is not a violation. A lane shows the host.';

function remedyOf({ kind, verdict, observed }: MatrixRow): string | null {
  if (verdict === 'match') return null;
  if (verdict === 'unknown' && kind === 'host' && observed === true) return SHARED_ADDRESS;
  const remedies = REMEDIES[verdict];
  return remedies[kind] ?? remedies.any;
}

/** The property of the gap issue about the row, such as `tools.undeclared.delete_all`; empty: no rule is about such rows. */
function propertyOf({ kind, name, verdict }: MatrixRow): string {
  const rule = RULES.find((each) => each.state === verdict && (each.kind ?? each.item) === kind);
  if (rule === undefined) return '';
  return rule.kind === null ? rule.prefix : `${rule.prefix}${name}`;
}
