import { count, DNS_LABEL, dnsLabel } from './common.ts';
import { condition } from './condition.ts';
import { checked, flag, inCrd, integer, isoTime, matching, number, oneOf, text } from './field.ts';
import type { Field, Problem } from './field.ts';
import { list, map, object, partial, type Members, type TypeOf } from './object.ts';
import { GRADES, POLICY_MODES, SEVERITIES } from './values.ts';

/** Limits of an AgentPolicy. */
export const MAX_RULES = 50;
export const MAX_PATTERNS = 100;
export const MAX_PATTERN = 200;
export const MAX_EXPRESSION = 2_000;

/** `Deny`: the manifest is rejected, and lanes enforce the rule. `Warn`: the writer gets a warning. `Audit`: recorded only. */
export const RULE_ACTIONS = ['Deny', 'Warn', 'Audit'] as const;

/** A text that a person writes. The API server checks it as well: what it accepts must have an effect. */
export const written = (about: string, max: number): Field<string> =>
  inCrd(text(about, { max }), { minLength: 1, maxLength: max, pattern: String.raw`\S` });

export const patterns = (about: string, each: string): Field<string[]> =>
  nonEmpty(list(about, written(`${each}; * stands for any characters.`, MAX_PATTERN), { max: MAX_PATTERNS }));

/** A list that has at least one entry: an empty list of allowed values would allow nothing by accident. */
const nonEmpty = <T>(of: Field<T[]>): Field<T[]> =>
  inCrd(
    checked(of, (entries) => (entries.length > 0 ? [] : [['', 'must have at least one entry']])),
    { minItems: 1 },
  );

export const validations = (...rules: { rule: string; message?: string; messageExpression?: string }[]) => ({
  'x-kubernetes-validations': rules,
});

/** An object that needs at least one of its members, all of which are optional. */
function atLeastOne<M extends Members>(about: string, members: M) {
  const names = Object.keys(members);
  const message = `needs at least one of ${names.join(', ')}`;
  const rule = names.map((name) => `has(self.${name})`).join(' || ');
  return inCrd(
    checked(object(about, partial(members)), (value) =>
      Object.keys(value).length > 0 ? [] : [['', message]],
    ),
    validations({ rule, message }),
  );
}

/** The checks, of which a rule has exactly one. */
const checks = partial({
  models: object('The models that a manifest may declare and an agent may call.', {
    allowed: patterns(
      'Models as vendor/id, such as openai/gpt-4o*. A pattern without a slash is compared with the id alone.',
      'A pattern of models',
    ),
  }),
  tools: atLeastOne('The tools that a manifest may declare and an agent may call.', {
    allowed: patterns('Only these tools.', 'A pattern of tool names'),
    forbidden: patterns('Not these tools.', 'A pattern of tool names'),
  }),
  hosts: object('The hosts that a manifest may declare and an agent may connect to.', {
    allowed: patterns(
      'Only these hosts, and loopback addresses. The hosts of the model vendor are subject to the check models.',
      'A pattern of host names',
    ),
  }),
  guardrails: atLeastOne('The guardrails that a manifest must declare.', {
    input: patterns('On the input of the model.', 'A guardrail type, such as pii-detector'),
    output: patterns('On the output of the model.', 'A guardrail type, such as toxicity-filter'),
  }),
  budget: atLeastOne('The budgets that a manifest must declare, and their largest values.', {
    maxMonthlyUSD: number('Largest spec.model.costControls.maxMonthlyUSD.', { min: 0, max: 1_000_000_000 }),
    maxTokensPerDay: inCrd(
      integer('Largest spec.model.costControls.maxTokensPerDay.', { min: 1, max: 1_000_000_000_000 }),
      { format: 'int64' },
    ),
  }),
  confirmation: object('The tools whose calls need the confirmation of a person.', {
    tools: oneOf(
      'destructive: tools that the manifest declares neither read-only nor not destructive. all: every tool.',
      ['destructive', 'all'],
    ),
  }),
  runtime: atLeastOne('How the sidecar of the agent must run.', {
    minimumMode: oneOf('The weakest policy mode; the injector applies it to new pods.', POLICY_MODES),
    lanes: flag('True: calls of models must go through egress lanes.'),
    census: flag('True: the socket census must run.'),
  }),
  result: atLeastOne('The result that a running agent must have. It never prevents the start of a pod.', {
    minimumGrade: oneOf('The lowest grade.', GRADES),
    minimumEvidence: integer('The lowest share of shown items, in percent.', { min: 0, max: 100 }),
  }),
  proofs: object('The compliance rules for which an agent must have an unexpired proof.', {
    required: nonEmpty(
      list('Rule ids.', written('A rule id, such as SEC-LLM-06.', 100), { max: MAX_PATTERNS }),
    ),
    'maximumAgeDays?': integer('The oldest proof that counts, in days.', { min: 1, max: 3_650 }),
  }),
  expression: written(
    'A CEL expression over manifest and namespaceObject (metadata.name, metadata.labels) that must be true. docs/reference/organisation.md lists the functions.',
    MAX_EXPRESSION,
  ),
});

export type CheckName = keyof typeof checks;
export const CHECK_NAMES = Object.keys(checks) as CheckName[];

const ID = { pattern: DNS_LABEL, wanted: 'a DNS label' };

const ruleMembers = object('One rule, with exactly one check.', {
  id: inCrd(matching('Id of the rule in this policy.', ID), { pattern: DNS_LABEL.source, maxLength: 63 }),
  action: oneOf(
    'Deny: a manifest that breaks the rule is rejected, and egress lanes deny calls outside it. Warn: the writer of the manifest gets a warning. Audit: only recorded.',
    RULE_ACTIONS,
  ),
  'severity?': inCrd(oneOf('The severity of a finding; default: high.', SEVERITIES), { default: 'high' }),
  'message?': written('Replaces the built-in text of a finding.', 500),
  ...checks,
});

/** One rule of an AgentPolicy. */
export interface OrganisationRule extends TypeOf<typeof ruleMembers> {}

/** The check of a rule that was parsed. */
export const checkOf = (rule: OrganisationRule): CheckName =>
  CHECK_NAMES.find((name) => rule[name] !== undefined) ?? 'expression';

const EXACTLY_ONE = `exactly one of ${CHECK_NAMES.join(', ')} is required`;

const rule: Field<OrganisationRule> = inCrd(
  checked<OrganisationRule>(ruleMembers, (value) =>
    CHECK_NAMES.filter((name) => value[name] !== undefined).length === 1
      ? []
      : [['', `rule ${value.id}: ${EXACTLY_ONE}`]],
  ),
  validations({
    rule: `[${CHECK_NAMES.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() == 1`,
    messageExpression: `'rule ' + self.id + ': ${EXACTLY_ONE}'`,
  }),
);

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** Labels may be empty. */
const label = inCrd(text('The value of a label.', { cut: 63 }), { maxLength: 63 });

const selector = object('A selection of namespaces by their labels. All conditions must hold.', {
  'matchLabels?': map('Labels that a namespace must have.', label, { max: 50 }),
  'matchExpressions?': list(
    'Conditions of labels.',
    object('One condition.', {
      key: written('The label.', 317),
      operator: oneOf('How the label is compared.', OPERATORS),
      'values?': list('For In and NotIn.', label, { max: 100 }),
    }),
    { max: 50 },
  ),
});
export interface NamespaceSelector extends TypeOf<typeof selector> {}

/** One exception of a policy. */
export const exceptionMembers = object(
  'Rules of this policy that do not apply to some agents for some time.',
  {
    namespace: dnsLabel('The namespace of the agents.'),
    'agents?': patterns('The agents; absent: every agent of the namespace.', 'A pattern of agent names'),
    rules: nonEmpty(list('Ids of rules of this policy.', written('A rule id.', 63), { max: MAX_RULES })),
    reason: written('Why the rules do not apply.', 500),
    expires: isoTime('The end of the exception.'),
  },
);

const specMembers = object('Rules of the organisation for the agents of some namespaces.', {
  'namespaceSelector?': selector,
  'agents?': patterns(
    'Names of agents; absent: every agent. The developer chooses these names, so select Deny rules by namespace.',
    'A pattern of agent names',
  ),
  rules: nonEmpty(list('The rules; all of them apply.', rule, { max: MAX_RULES, key: 'id' })),
  'exceptions?': list('Exceptions. Only who may write the policy can add one.', exceptionMembers, {
    max: 100,
  }),
});

/** The spec of an AgentPolicy. */
export interface AgentPolicySpec extends TypeOf<typeof specMembers> {}

const UNKNOWN_RULE = 'an exception names a rule that this policy does not have';

export const agentPolicySpec: Field<AgentPolicySpec> = inCrd(
  checked<AgentPolicySpec>(specMembers, ({ rules, exceptions = [] }) => {
    const ids = rules.map(({ id }) => id);
    return [
      ...ids.flatMap((id, index): Problem[] =>
        ids.indexOf(id) === index ? [] : [[`rules[${index}].id`, `another rule has the id ${id}`]],
      ),
      ...exceptions.flatMap((each, index): Problem[] =>
        each.rules.every((id) => ids.includes(id)) ? [] : [[`exceptions[${index}].rules`, UNKNOWN_RULE]],
      ),
    ];
  }),
  validations({
    // A scan of the rules for each name would exceed the cost that the API server allows a policy with many exceptions.
    rule: '!has(self.exceptions) || self.exceptions.all(e, sets.contains(self.rules.map(x, x.id), e.rules))',
    message: UNKNOWN_RULE,
  }),
);

/** The places where a Deny rule is applied. */
export const PLACES = ['ci', 'manifest', 'start', 'pod', 'lanes', 'runtime'] as const;
export type Place = (typeof PLACES)[number];

export const enforcedAt = list(
  'Where it prevents something: manifest (writes of ConfigMaps), start (of a pod), pod (admission of pods), lanes (calls). ci and runtime only report.',
  oneOf('A place.', PLACES),
);

export const agentPolicyStatus = object('What became of the policy. Written by the operator.', {
  agents: count('Number of agents that the policy selects.'),
  broken: count('Number of these agents that break one of its rules.'),
  rules: list(
    'The rules.',
    object('One rule.', {
      id: text('Its id.'),
      enforcedAt,
      broken: count('Number of agents that break it.'),
    }),
    { max: MAX_RULES, key: 'id' },
  ),
  conditions: list('Accepted: whether every rule can be applied.', condition, { max: 8, key: 'type' }),
});

/** The status of an AgentPolicy. */
export interface AgentPolicyStatus extends TypeOf<typeof agentPolicyStatus> {}
