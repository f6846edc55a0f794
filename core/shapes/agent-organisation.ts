import { amount, count } from './common.ts';
import { condition } from './condition.ts';
import { sentDirective } from './directive.ts';
import { MAX_NAME } from './egress.ts';
import { flag, named, nullable, number, text } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { organisationStatus } from './organisation.ts';

/** Items that are listed of one kind. */
export const MAX_ITEMS = 50;

const item = object('One model, tool or host.', {
  name: text('Its name; a model of the manifest as vendor/id.', { cut: MAX_NAME }),
  breaks: list('The rules that it breaks, as policy/rule.', text('A rule.')),
  undeclared: flag('True: it was observed, and the manifest does not declare it.'),
});

const items = object('The items of one kind, first those that break a rule or are not declared.', {
  items: list('At most 50.', item, { max: MAX_ITEMS }),
  total: count('Number of items, including those that are not listed.'),
});
export interface PictureItems extends TypeOf<typeof items> {}

const limit = (about: string) => nullable(number(`${about} null: none is declared.`, { min: 0 }));

const declared = object('What the manifest declares.', {
  ...{ models: items, tools: items, hosts: items },
  maxMonthlyUSD: limit('Cost per month in US dollars.'),
  maxTokensPerDay: limit('Tokens per day.'),
});

const observed = object('What was observed in the last 24 hours. null: it is not observed.', {
  ...{ models: nullable(items), tools: nullable(items), hosts: nullable(items) },
  tokensToday: nullable(count('Tokens of the UTC day.')),
  costTodayUsd: nullable(amount('Cost of the UTC day in US dollars; null: the manifest has no prices.')),
});

const policy = object('A policy that selects the agent.', {
  name: text('Its name.'),
  rules: count('Number of its rules.'),
  excepted: list('Ids of the rules from which the agent is excepted.', text('A rule id.')),
});

const picture = object('What the organisation allows an agent, what it declares, and what was observed.', {
  namespace: text('Namespace of the agent.'),
  agentName: text('Name of the agent.'),
  allowed: nullable(condition),
  compliant: nullable(condition),
  organisation: nullable(organisationStatus),
  policies: nullable(list('The AgentPolicies that select the agent; null: they are not known.', policy)),
  allows: nullable(sentDirective),
  declared: nullable(declared),
  observed,
});

/** `GET /api/v1/agents/{name}/organisation`. */
export interface AgentOrganisation extends TypeOf<typeof picture> {}
export const agentOrganisation = named('AgentOrganisation', picture);
