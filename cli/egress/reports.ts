import { type EvidenceReport, evidenceReport } from '../../core/shapes/evidence.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { GRADES, type Grade } from '../../core/shapes/values.ts';
import { SEVERITIES } from '../../core/gap/finding.ts';
import {
  flag,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  parseWith,
  text,
  withDefault,
  type Field,
} from '../../core/untrusted/fields.ts';

/** One call that an agent made through a lane, as far as the commands show it. */
export interface ShownCall {
  id: number;
  /** ISO 8601 */
  at: string;
  lane: string;
  method: string;
  path: string;
  model: string | null;
  toolsOffered: string[];
  toolsCalled: string[];
  toolsExecuted: string[];
  usage: ShownUsage | null;
  statusCode: number | null;
  durationMs: number;
  violations: string[];
  blocked: boolean;
}

export interface ShownUsage {
  promptTokens: number;
  completionTokens: number;
  costUsd?: number;
  /** Day of a default price. */
  priceDate?: string;
}

/** One row of `GET /explore?view=matrix`. null: cannot be known. */
export interface ShownRow {
  kind: string;
  name: string;
  declared: boolean | null;
  reported: boolean | null;
  observed: boolean | null;
  verdict: string;
  /** Observed tokens, or US dollars. */
  amount?: number;
}

export interface ShownGap {
  score: number;
  grade: Grade;
  issues: { severity: string; property: string; description: string }[];
  /** The verdict; absent: a sidecar of an earlier version. */
  compliant?: { status: string; message: string };
  /** After the end of the agent: whether its port accepted a connection. */
  listened?: boolean;
}

/** `GET /gap` with the fixes and the evidence. */
export interface ShownAssessment {
  score: number;
  grade: Grade;
  issues: Issue[];
  evidence: EvidenceReport | null;
  /** null: not reported (an older version). */
  compliant: { status: string; message: string } | null;
}

const name = text({ max: 500, cut: true });
const names = withDefault(list(name, { max: 1_000, cut: true }), []);
const count = integer({ min: 0 });
const positive = number({ min: 0, max: Number.MAX_SAFE_INTEGER });

const CALL: Field<ShownCall> = object<ShownCall>({
  ...{ id: count, at: name, lane: name, method: name, path: name, model: nullable(name) },
  ...{ toolsOffered: names, toolsCalled: names, toolsExecuted: names, violations: names },
  usage: nullable(
    object<ShownUsage>(
      { promptTokens: count, completionTokens: count },
      { costUsd: number({ min: 0, max: 1e12 }), priceDate: name },
    ),
  ),
  statusCode: nullable(count),
  durationMs: positive,
  blocked: withDefault(flag, false),
});

const ROW: Field<ShownRow> = object<ShownRow>(
  {
    ...{ kind: name, name, verdict: name },
    ...{ declared: nullable(flag), reported: nullable(flag), observed: nullable(flag) },
  },
  { amount: positive },
);

const RATING = { score: number({ min: 0, max: 100 }), grade: oneOf(GRADES) };
const COMPLIANT = object({ status: name, message: name });

const GAP: Field<ShownGap> = object<ShownGap>(
  {
    ...RATING,
    issues: list(object({ severity: name, property: name, description: name }), { max: 1_000, cut: true }),
  },
  { compliant: COMPLIANT, listened: flag },
);

const EXPLORED = object<{ egress: { lanes: string[]; connect: string } }>({
  egress: object({ lanes: names, connect: withDefault(name, 'off') }),
});

const ASSESSMENT: Field<ShownAssessment> = object<ShownAssessment>({
  ...RATING,
  issues: list(
    object<Issue>(
      { severity: oneOf(SEVERITIES), property: name, description: name, recommendation: name },
      { source: oneOf(['policy', 'llm']) },
    ),
    { max: 1_000, cut: true },
  ),
  evidence: nullable(evidenceReport),
  compliant: withDefault(nullable(COMPLIANT), null),
});

/** The body of `GET /egress`; null: it is something else. */
export const parseCalls = (body: unknown): ShownCall[] | null => valueOf(list(CALL, { max: 100_000 }), body);

/** The body of `GET /explore?view=matrix`; null: it is something else. */
export const parseMatrix = (body: unknown): ShownRow[] | null =>
  valueOf(object<{ rows: ShownRow[] }>({ rows: list(ROW, { max: 100_000 }) }), body)?.rows ?? null;

/** Whether `GET /explore` shows a lane; null: the body is something else. */
export function parseHasLanes(body: unknown): boolean | null {
  const { egress } = valueOf(EXPLORED, body) ?? {};
  return egress === undefined ? null : egress.lanes.length > 0 || egress.connect !== 'off';
}

/** The body of `GET /gap`; null: it is something else. */
export const parseGap = (body: unknown): ShownGap | null => valueOf(GAP, body);

/** The body of `GET /gap` with the fixes and the evidence; null: it is something else. */
export const parseAssessment = (body: unknown): ShownAssessment | null => valueOf(ASSESSMENT, body);

function valueOf<T>(field: Field<T>, body: unknown): T | null {
  const parsed = parseWith(field, body);
  return parsed.ok ? parsed.value : null;
}
