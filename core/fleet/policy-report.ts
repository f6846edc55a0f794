import type { AgentPolicy, RuleSource } from '../organisation/finding.ts';
import { placesOf } from '../organisation/policy-status.ts';
import { selects } from '../organisation/select.ts';
import { checkOf, type OrganisationRule } from '../shapes/agent-policy.ts';
import {
  MAX_BREAKING,
  type ExceptionReport,
  type PolicyReport,
  type RuleReport,
} from '../shapes/organisation.ts';
import type { AgentExcerpt } from './excerpt.ts';

/** An exception that ends within this time needs a decision soon. */
const ENDING_MS = 30 * 86_400_000;

/**
 * An AgentPolicy with the agents that break its rules, as their last judgement found them.
 * @param agents ordered by namespace and name
 */
export function policyReportOf(
  policy: AgentPolicy,
  agents: readonly AgentExcerpt[],
  rules: Pick<RuleSource, 'labelsOf'>,
  at: Date,
): PolicyReport {
  const { name, spec } = policy;
  const isSelected = ({ namespace, agentName }: AgentExcerpt) =>
    selects(policy, { labels: rules.labelsOf(namespace), names: [agentName] });
  const selected = agents.filter((agent) => isSelected(agent) === 'yes');
  /** @param rule undefined: any rule of the policy */
  const breaking = (rule?: string): RuleReport['agents'] =>
    selected.flatMap(({ namespace, agentName, organisation }) => {
      const isOf = (each: { policy: string; rule: string }): boolean =>
        each.policy === name && each.rule === (rule ?? each.rule);
      const found = organisation?.broken.find(isOf);
      return found === undefined ? [] : [{ namespace, agentName, since: found.since }];
    });
  return {
    ...{ name, agents: selected.length, broken: breaking().length },
    notJudged: agents.filter((agent) => isNotJudged(agent, name) && isSelected(agent) !== 'no').length,
    rules: spec.rules.map((rule) => {
      const { id, action, severity = 'high' } = rule;
      const found = breaking(id);
      return {
        ...{ id, action, severity, check: checkOf(rule), enforcedAt: placesOf(rule), broken: found.length },
        wouldBlock: canBlock(rule) ? found.length : null,
        agents: found.slice(0, MAX_BREAKING),
      };
    }),
    exceptions: (spec.exceptions ?? [])
      .map((each) => ({ ...each, state: stateOf(each.expires, at) }))
      .sort((a, b) => Date.parse(a.expires) - Date.parse(b.expires)),
  };
}

const isNotJudged = ({ organisation }: AgentExcerpt, policy: string): boolean =>
  organisation === null || organisation.notJudged.includes(policy);

/** Whether the action Deny would reject what breaks a Warn or Audit rule. */
const canBlock = (rule: OrganisationRule): boolean =>
  rule.action !== 'Deny' && placesOf({ ...rule, action: 'Deny' }).includes('manifest');

function stateOf(expires: string, at: Date): ExceptionReport['state'] {
  const left = Date.parse(expires) - at.getTime();
  if (left <= 0) return 'expired';
  return left <= ENDING_MS ? 'ending' : 'active';
}
