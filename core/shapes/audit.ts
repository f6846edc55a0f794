import { code, cutText, score } from './common.ts';
import { known, named, optional, type Field } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { SUPPRESSION_STATES } from './values.ts';

const MAX_RULES = 100;

const suppressionMembers = object('A suppression of the manifest.', {
  rule: code('The suppressed rule.'),
  reason: cutText('Why it is suppressed.'),
  state: known('Effect of the suppression.', SUPPRESSION_STATES),
  approvedBy: optional(cutText('Who approved it.')),
  expires: optional(code('Date after which the rule applies again.')),
});
export interface EvaluatedSuppression extends TypeOf<typeof suppressionMembers> {}
export const suppression: Field<EvaluatedSuppression> = named('Suppression', suppressionMembers);

export const auditMembers = {
  declared: score('Declared score.'),
  proved: score('Proved score.'),
  failed: list('Ids of the violated rules.', code('Id of a rule.'), { max: MAX_RULES, cut: true }),
  suppressions: list('The suppressions of the manifest.', suppression, { max: MAX_RULES, cut: true }),
};

const summary = object('The summary of an audit.', auditMembers);

/** The summary of an audit in a heartbeat. */
export interface AuditSummary extends TypeOf<typeof summary> {}
export const auditSummary: Field<AuditSummary> = summary;
