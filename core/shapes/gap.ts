import { cutText, MAX_TEXT, score } from './common.ts';
import { mapped, named, number, oneOf, optional, text, withDefault, type Field } from './field.ts';
import { gradeOf } from './grade.ts';
import { computed, list, object, type TypeOf } from './object.ts';
import { GRADES, REPORT_SOURCES } from './values.ts';

export const severity = oneOf('Severity of the issue.', ['critical', 'high', 'medium', 'low']);

const issueMembers = object('A difference between the declaration and the observations.', {
  severity,
  property: text(
    '`healthcheckable`, `model.apiKey`, `guardrails.input.pii-detector`, `policy.<reason>`, ...',
    { max: MAX_TEXT },
  ),
  description: cutText('What was found.'),
  recommendation: withDefault(cutText('How to fix it.'), ''),
  message: optional(cutText('Only on issues from the policy engine; same text as `description`.')),
  source: optional(
    oneOf('`policy`: from the policy engine. `llm`: from the LLM analysis, without points.', [
      'policy',
      'llm',
    ]),
  ),
});

/** One difference between declared and observed (`GET /gap`, shape A). */
export interface Issue extends TypeOf<typeof issueMembers> {}
export const issue: Field<Issue> = named('Issue', issueMembers);

export const grade = oneOf('A from 90, B from 75, C from 60, D from 45, else F.', GRADES);
export const source = oneOf('`agent-sdk`: the agent reports its own checks.', REPORT_SOURCES);
export const issues = list('The differences that cost points.', issue, { max: 1_000, cut: true });

const report = object('Differences between the declaration and the observations.', {
  score: score('0 to 100.'),
  grade,
  source,
  issues,
});
export interface GapReport extends TypeOf<typeof report> {}

/** `gap` of a heartbeat. */
export const sentGap = object('Differences between the declaration and the observations.', {
  score: mapped(number('Rounded to a whole number.', { min: 0, max: 100 }), score('0 to 100.'), Math.round),
  issues,
  source: optional(oneOf('Default for `source`.', REPORT_SOURCES)),
  grade: computed(oneOf('Computed from the score.', GRADES), (gap: { score: number }) => gradeOf(gap.score)),
});
