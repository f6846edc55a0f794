import { count } from './common.ts';
import { nullable, oneOf, text } from './field.ts';
import { severity, source } from './gap.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';

const gap = object('One issue as declared and observed values.', {
  field: text('Manifest path, such as `spec.tools[0].name`.'),
  declared: text('What the manifest declares.'),
  observed: nullable(text('What was observed; null: nothing.')),
  severity,
  evidenceLevel: oneOf('How it is known.', ['declared', 'probed', 'behavioral']),
  remediation: text('What to do about it.'),
  'reported?': nullable(text('Only of issues about outgoing calls; null: the agent reports nothing.')),
});
export interface AlignmentGap extends TypeOf<typeof gap> {}

export const alignmentReport = namedObject('AlignmentReport', 'The issues as declared and observed values.', {
  source,
  gaps: list('The issues, most severe first.', gap),
  summary: object('Number of issues.', {
    total: count('All issues.'),
    critical: count('Issues with severity critical.'),
    high: count('Issues with severity high.'),
  }),
});

/** `GET /gap?view=alignment`, shape B. */
export interface AlignmentReport extends TypeOf<typeof alignmentReport> {}
