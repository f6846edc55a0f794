import { named, nullable, number, text, type Field } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { MAX_PATTERN } from './agent-policy.ts';
import { stopDirective } from './agent-stop.ts';

const patterns = (about: string): Field<string[]> =>
  list(about, text('A pattern, in which * stands for any characters.', { max: MAX_PATTERN }), { max: 2_000 });

const all = (about: string): Field<string[][]> =>
  list(`${about} Each list is one rule, and all rules apply.`, patterns('One rule.'), { max: 500 });

const members = object('What the Deny rules of the organisation allow an agent, for its egress lanes.', {
  models: all('Allowed models, as vendor/id.'),
  tools: object('Tools.', {
    allowed: all('Allowed tools.'),
    forbidden: patterns('Forbidden tools.'),
  }),
  hosts: all('Allowed hosts.'),
  maxMonthlyUSD: nullable(number('Largest cost per month in US dollars; null: no limit.', { min: 0 })),
  maxTokensPerDay: nullable(number('Largest number of tokens per UTC day; null: no limit.', { min: 0 })),
});

/** The rules of the organisation that egress lanes enforce. */
export interface OrganisationDirective extends TypeOf<typeof members> {}

/** The rules with their revision, which a sidecar sends back with its heartbeats. */
const sent = object('What the organisation allows the agent on its egress lanes, with a revision.', {
  revision: text('Changes with the rules.', { max: 64 }),
  ...members.members,
});
export const sentDirective = named('OrganisationDirective', sent);

const wanted = object('What the control plane wants a sidecar to apply.', {
  revision: text('Changes with the other members.', { max: 64 }),
  stop: nullable(stopDirective),
  'organisation?': sentDirective,
});

/** One event of `GET /api/v1/directives`. An absent `organisation` changes nothing: no rules are known. */
export interface Directives extends TypeOf<typeof wanted> {}
export const directives = named('Directives', wanted);
