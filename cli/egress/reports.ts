import { amount, count, cutText } from '../../core/shapes/common.ts';
import { matrixMembers } from '../../core/shapes/egress.ts';
import { evidenceReport } from '../../core/shapes/evidence.ts';
import {
  flag,
  nullable,
  number,
  optional,
  parseWith,
  withDefault,
  type Field,
} from '../../core/shapes/field.ts';
import { grade, issues } from '../../core/shapes/gap.ts';
import { list, object, type TypeOf } from '../../core/shapes/object.ts';

/** The parts of the reports of a sidecar that commands show. Other versions may have other values of closed lists. */

const MANY = { max: 1_000, cut: true };
const names = (about: string): Field<string[]> => withDefault(list(about, cutText('A name.'), MANY), []);

const usage = object('The usage of a call.', {
  promptTokens: count('Tokens of the prompt.'),
  completionTokens: count('Tokens of the completion.'),
  costUsd: optional(number('Cost in US dollars.', { min: 0, max: 1e12 })),
  priceDate: optional(cutText('Day of a default price.')),
});
export interface ShownUsage extends TypeOf<typeof usage> {}

const call = object('One call through a lane.', {
  id: count('Number of the call.'),
  at: cutText('Its time, ISO 8601.'),
  lane: cutText('Id of the lane.'),
  method: cutText('The HTTP method.'),
  path: cutText('The path of the request.'),
  model: nullable(cutText('The requested model.')),
  toolsOffered: names('Tools that the request offers.'),
  toolsCalled: names('Tools that the model calls.'),
  toolsExecuted: names('Tools whose results the request has.'),
  violations: names('Reasons of the policy.'),
  usage: nullable(usage),
  statusCode: nullable(count('Status of the response.')),
  durationMs: amount('Milliseconds.'),
  blocked: withDefault(flag('Whether the policy blocked it.'), false),
});

/** One call that an agent made through a lane, as far as the commands show it. */
export interface ShownCall extends TypeOf<typeof call> {}

const row = object('One row of the matrix.', {
  ...matrixMembers,
  kind: cutText('Kind of the item.'),
  name: cutText('Name of the item.'),
  verdict: cutText('Result of the comparison.'),
});

/** One row of `GET /explore?view=matrix`. */
export interface ShownRow extends TypeOf<typeof row> {}

const rating = { score: number('The score.', { min: 0, max: 100 }), grade };
const compliant = object('The verdict.', { status: cutText('Its status.'), message: cutText('Its reason.') });

const gap = object('A gap report.', {
  ...rating,
  issues: list(
    'The issues.',
    object('One issue.', {
      severity: cutText('Its severity.'),
      property: cutText('The affected property.'),
      description: cutText('What was found.'),
    }),
    MANY,
  ),
  compliant: optional(compliant),
  listened: optional(flag('After the end of the agent: whether its port accepted a connection.')),
});

/** `GET /gap`. A sidecar of an earlier version sends no verdict. */
export interface ShownGap extends TypeOf<typeof gap> {}

const assessment = object('A gap report.', {
  ...rating,
  issues,
  evidence: nullable(evidenceReport),
  compliant: nullable(compliant),
});

/** `GET /gap` with the fixes and the evidence. null: not reported (an older version). */
export interface ShownAssessment extends TypeOf<typeof assessment> {}

const explored = object('What `GET /explore` shows.', {
  egress: object('The lanes.', {
    lanes: names('Ids of the lanes.'),
    connect: withDefault(cutText('State of the lane `connect`.'), 'off'),
  }),
});

const calls = list('The calls.', call, { max: 100_000 });
const matrix = object('The matrix.', { rows: list('Its rows.', row, { max: 100_000 }) });

/** The body of `GET /egress`; null: it is something else. */
export const parseCalls = (body: unknown): ShownCall[] | null => valueOf(calls, body);

/** The body of `GET /explore?view=matrix`; null: it is something else. */
export const parseMatrix = (body: unknown): ShownRow[] | null => valueOf(matrix, body)?.rows ?? null;

/** Whether `GET /explore` shows a lane; null: the body is something else. */
export function parseHasLanes(body: unknown): boolean | null {
  const { egress } = valueOf(explored, body) ?? {};
  return egress === undefined ? null : egress.lanes.length > 0 || egress.connect !== 'off';
}

/** The body of `GET /gap`; null: it is something else. */
export const parseGap = (body: unknown): ShownGap | null => valueOf(gap, body);

/** The body of `GET /gap` with the fixes and the evidence; null: it is something else. */
export const parseAssessment = (body: unknown): ShownAssessment | null => valueOf(assessment, body);

function valueOf<T>(field: Field<T>, body: unknown): T | null {
  const parsed = parseWith(field, body);
  return parsed.ok ? parsed.value : null;
}
