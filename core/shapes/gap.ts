import { cutText, MAX_TEXT, score } from './common.ts';
import { mapped, number, oneOf, text, withDefault } from './field.ts';
import { gradeOf } from './grade.ts';
import { computed, list, namedObject, object, type TypeOf } from './object.ts';
import { GRADES, REPORT_SOURCES, SEVERITIES } from './values.ts';

export const severity = oneOf('The severity. It deducts 30, 20, 10 or 5 points.', SEVERITIES);

export const issue = namedObject('Issue', 'One difference between the manifest and the observed behaviour.', {
  severity,
  property: text(
    'The affected property, such as healthcheckable, model.apiKey or policy.pii_detector_not_invoked.',
    { max: MAX_TEXT },
  ),
  description: cutText('The difference as a sentence.'),
  recommendation: withDefault(cutText('What to do about it.'), ''),
  'message?': cutText('On issues of the policy engine: the same text as description.'),
  'source?': oneOf('The source of the issue if not the gap rules: policy or llm (llm deducts no points).', [
    'policy',
    'llm',
  ]),
});

/** One difference between declared and observed (`GET /gap`, shape A). */
export interface Issue extends TypeOf<typeof issue> {}

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
  'source?': oneOf('Default for `source`.', REPORT_SOURCES),
  grade: computed(oneOf('Computed from the score.', GRADES), (gap: { score: number }) => gradeOf(gap.score)),
});
