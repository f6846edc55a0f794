import { count } from './common.ts';
import { named, nullable, oneOf, text } from './field.ts';
import { list, object, type ObjectOf, type TypeOf } from './object.ts';
import { PACKS, SEVERITIES, SUPPRESSION_STATES } from './values.ts';

/** Maximum number of agents in each list of a rule. */
export const MAX_AGENTS = 100;

const textMembers = {
  id: text('For example `MODEL-01`, `tool:<name>` or `policy.memory_ttl_mismatch`.'),
  kind: oneOf('`gap`: its issues lower the score of the gap. `compliance`: the audit scores it.', [
    'gap',
    'compliance',
  ]),
  pack: nullable(oneOf('null: a gap rule.', PACKS)),
  title: text('What the rule is about.'),
  severity: oneOf('The highest severity of its issues.', SEVERITIES),
  points: count('`gap`: points of an issue with this severity. `compliance`: weight of the rule.'),
  meaning: text('When it passes or fails.'),
  remedy: text('What to do about it.'),
};

/** A gap rule, a policy rule or a compliance rule, described for people. */
export interface RuleText extends ObjectOf<typeof textMembers> {}

const agentName = { agentName: text('Name of the agent.'), namespace: text('Namespace of the agent.') };
export interface AgentName extends ObjectOf<typeof agentName> {}

const suppressedRule = object('A suppression of the rule in the manifest of one agent.', {
  ...agentName,
  reason: text('Why it is suppressed.'),
  approvedBy: nullable(text('null: the manifest does not have it.')),
  expires: nullable(text('As written in the manifest; null: never.')),
  state: oneOf('Its effect.', SUPPRESSION_STATES),
});
export interface SuppressedRule extends TypeOf<typeof suppressedRule> {}

const members = object('A rule, and its state in the last reports of the agents.', {
  ...textMembers,
  failing: list(
    'The first agents that fail the rule, by namespace and name.',
    object('One agent.', agentName),
    { max: MAX_AGENTS },
  ),
  failingCount: count('Number of all agents that fail the rule.'),
  suppressed: list(
    'The first suppressions of the rule, by namespace and name of the agent.',
    suppressedRule,
    { max: MAX_AGENTS },
  ),
  suppressedCount: count('Number of all suppressions of the rule.'),
});

/** One entry of `GET /api/v1/rules`. */
export interface RuleState extends TypeOf<typeof members> {}
export const ruleState = named('RuleState', members);
