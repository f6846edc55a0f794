import { CHECK_NAMES, enforcedAt, exceptionMembers, RULE_ACTIONS } from './agent-policy.ts';
import { count, cutText } from './common.ts';
import { sentDirective } from './directive.ts';
import { flag, isoTime, named, nullable, oneOf, optional, text, type Field } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { SEVERITIES } from './values.ts';

/** Limits of the lists in a status. */
export const MAX_BROKEN = 50;
/** Agents that are listed for one rule. */
export const MAX_BREAKING = 50;

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
    broken: list(
      'The broken rules; at most 50.',
      object('One broken rule.', {
        ...finding.members,
        since: optional(isoTime('When this rule was first found broken. Absent: by an earlier version.')),
      }),
      { max: MAX_BROKEN },
    ),
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

const breaking = object('An agent that breaks a rule.', {
  namespace: text('Namespace of the agent.'),
  agentName: text('Name of the agent.'),
  since: isoTime('When it was first found.'),
});

const rule = object('One rule.', {
  id: text('Its id.'),
  action: oneOf('What a broken rule causes.', RULE_ACTIONS),
  severity: oneOf('Its severity.', SEVERITIES),
  check: oneOf('What it compares.', CHECK_NAMES),
  enforcedAt,
  broken: count('Number of agents that break it.'),
  wouldBlock: nullable(
    count(
      'Dry run of a Warn or Audit rule: number of agents whose manifest, start or calls the action Deny would reject. null: the action is Deny, or the check only reports.',
    ),
  ),
  agents: list('The agents that break it, by namespace and name; at most 50.', breaking, {
    max: MAX_BREAKING,
  }),
});
export interface RuleReport extends TypeOf<typeof rule> {}

const exception = object('An exception of a policy.', {
  ...exceptionMembers.members,
  state: oneOf('`ending`: active, and ends within 30 days.', ['active', 'ending', 'expired']),
});
export interface ExceptionReport extends TypeOf<typeof exception> {}

const policy = object('One AgentPolicy.', {
  name: text('Its name.'),
  agents: count('Number of agents that it selects.'),
  broken: count('Number of these agents that break one of its rules.'),
  notJudged: count(
    'Number of agents to which a rule of it could not be applied yet. They are not counted as passed.',
  ),
  rules: list('Its rules.', rule),
  exceptions: list('Its exceptions; the first to end is the first.', exception),
});

/** One AgentPolicy, as the fleet keeps it. */
export interface PolicyReport extends TypeOf<typeof policy> {}

const rules = object('The rules of the organisation.', {
  policies: list('The AgentPolicies.', policy),
  invalid: list('AgentPolicies that are not valid.', notJudged),
});

/** The response of `GET /api/v1/organisation`. */
export interface OrganisationReport extends TypeOf<typeof rules> {}
export const organisationRules = named('OrganisationRules', rules);
