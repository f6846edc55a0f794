import {
  checkOf,
  type AgentPolicyStatus,
  type OrganisationRule,
  type Place,
} from '../shapes/agent-policy.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { CHECKS, OF_MANIFEST } from './checks.ts';
import type { AgentPolicy, RuleSource } from './finding.ts';
import { selects } from './select.ts';

/** An agent whose status has the result of the last judgement. */
export interface JudgedAgent {
  namespace: string;
  name: string;
  status: Pick<ObservationStatus, 'organisation'> | undefined;
}

/** The number of agents that a policy selects, and of those that break its rules. */
export function policyCounts(
  policy: AgentPolicy,
  agents: readonly JudgedAgent[],
  rules: Pick<RuleSource, 'labelsOf'>,
): Omit<AgentPolicyStatus, 'conditions'> {
  const selected = agents.filter(
    ({ namespace, name }) => selects(policy, { labels: rules.labelsOf(namespace), names: [name] }) === 'yes',
  );
  const broken = selected.map(
    ({ status }) =>
      new Set(
        status?.organisation?.broken.flatMap((each) => (each.policy === policy.name ? [each.rule] : [])),
      ),
  );
  return {
    agents: selected.length,
    broken: broken.filter((ids) => ids.size > 0).length,
    rules: policy.spec.rules.map((rule) => ({
      id: rule.id,
      enforcedAt: placesOf(rule),
      broken: broken.filter((ids) => ids.has(rule.id)).length,
    })),
  };
}

/** Where a rule is applied. Warn and Audit rules prevent nothing. */
export function placesOf(rule: OrganisationRule): Place[] {
  const check = checkOf(rule);
  const places = check === 'expression' ? OF_MANIFEST : CHECKS[check].places;
  return rule.action === 'Deny'
    ? [...places]
    : places.filter((place) => place === 'ci' || place === 'runtime');
}
