import { code, cutText, score } from './common.ts';
import { known } from './field.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';
import { SUPPRESSION_STATES } from './values.ts';

const MAX_RULES = 100;

export const suppression = namedObject('Suppression', 'One suppression and its effect.', {
  rule: code('The suppressed rule.'),
  reason: cutText('Why it is suppressed.'),
  state: known(
    'The effect. active, and unused if the manifest satisfies the rule: the rule does not count. expired, unreadable: the rule counts. outside: the rule is in no audited pack. unknown: the rule does not exist.',
    SUPPRESSION_STATES,
  ),
  'approvedBy?': cutText('Who approved it.'),
  'expires?': code('When the suppression expires, as written in the manifest.'),
});
export interface EvaluatedSuppression extends TypeOf<typeof suppression> {}

export const auditMembers = {
  declared: score('Declared score, 0 to 100; the weighted share of rules that the manifest satisfies.'),
  proved: score('Proved score, 0 to 100; the same rules, but only those with evidence.'),
  failed: list('Rules that the manifest does not satisfy.', code('The id of a rule, such as MODEL-01.'), {
    max: MAX_RULES,
    cut: true,
  }),
  suppressions: list('Suppressions in the manifest.', suppression, { max: MAX_RULES, cut: true }),
};

export const auditSummary = object('The summary of an audit.', auditMembers);

/** The summary of an audit in a heartbeat. */
export interface AuditSummary extends TypeOf<typeof auditSummary> {}
