import { CHECK_NAMES, RULE_ACTIONS } from './agent-policy.ts';
import { count, cutText } from './common.ts';
import { sentDirective } from './directive.ts';
import { flag, isoTime, named, nullable, oneOf, optional, text, type Field } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { SEVERITIES } from './values.ts';

/** Limits of the lists in a status. */
export const MAX_BROKEN = 50;

const finding = object('One rule of the organisation that the agent breaks.', {
  policy: text('Name of the AgentPolicy.'),
  rule: text('Id of the rule in this policy.'),
  severity: oneOf('The severity of the rule.', SEVERITIES),
  action: oneOf('Deny, Warn or Audit.', RULE_ACTIONS),
  path: cutText('Path in the manifest or in the status, such as spec.egress.hosts[0].'),
  message: cutText('What breaks the rule.'),
});

/** One broken rule of the organisation. */
export interface OrganisationFinding extends TypeOf<typeof finding> {}
export const organisationFinding: Field<OrganisationFinding> = named('OrganisationFinding', finding);

const missed = object('A rule that could not be applied. It is not passed.', {
  policy: text('Name of the AgentPolicy.'),
  rule: optional(text('Id of the rule; absent: the whole policy.')),
  reason: cutText('Why it could not be applied.'),
});

/** A rule, or a whole policy, that could not be applied. */
export interface NotJudged extends TypeOf<typeof missed> {}
export const notJudged: Field<NotJudged> = named('NotJudged', missed);

const members = object(
  'The rules of the organisation that the agent breaks. Absent: no policy was applied yet.',
  {
    judgedAt: isoTime('When the last change of this result was found.'),
    manifestHash: text('Hash of the manifest that was compared.'),
    broken: list('The broken rules; at most 50.', organisationFinding, { max: MAX_BROKEN }),
    brokenTotal: count('Number of broken rules, including those that are not listed.'),
    notJudged: list('Rules that could not be applied; at most 50.', notJudged, { max: MAX_BROKEN }),
  },
);

/** Member `organisation` of the status of an AgentObservation. */
export interface OrganisationStatus extends TypeOf<typeof members> {}
export const organisationStatus: Field<OrganisationStatus> = members;

const judgement = object('Whether the organisation allows a manifest.', {
  manifestHash: text('SHA-256 of the manifest, hex.'),
  allowed: nullable(flag('Whether no Deny rule is broken; null: that is not known.')),
  findings: list('The broken rules.', organisationFinding, { max: MAX_BROKEN }),
  notJudged: optional(list('Rules that could not be applied.', notJudged, { max: MAX_BROKEN })),
  organisation: optional(sentDirective),
});

/** The response to `PUT /api/v1/manifest`. */
export interface ManifestJudgement extends TypeOf<typeof judgement> {}
export const manifestJudgement: Field<ManifestJudgement> = named('ManifestJudgement', judgement);

const rules = object('The rules of the organisation.', {
  policies: list(
    'The AgentPolicies.',
    object('One AgentPolicy.', {
      name: text('Its name.'),
      rules: list(
        'Its rules.',
        object('One rule.', {
          id: text('Its id.'),
          action: oneOf('What a broken rule causes.', RULE_ACTIONS),
          severity: oneOf('Its severity.', SEVERITIES),
          check: oneOf('What it compares.', CHECK_NAMES),
          broken: count('Number of agents that break it.'),
        }),
      ),
    }),
  ),
  invalid: list('AgentPolicies that are not valid.', notJudged),
});
/** The response of `GET /api/v1/organisation`. */
export const organisationRules = named('OrganisationRules', rules);
