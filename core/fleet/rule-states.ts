import type { EvaluatedSuppression } from '../shapes/audit.ts';
import type { AgentExcerpt } from './excerpt.ts';
import type { AgentName, RuleState, SuppressedRule } from '../shapes/rule-state.ts';
import { RULE_TEXTS } from './rule-texts.ts';

/** The state of every rule, in the order of RULE_TEXTS. `limit`: maximum length of each list. */
export function ruleStatesOf(agents: readonly AgentExcerpt[], limit: number): RuleState[] {
  const states = new Map(
    RULE_TEXTS.map((text): [string, RuleState] => [
      text.id,
      { ...text, failing: [], failingCount: 0, suppressed: [], suppressedCount: 0 },
    ]),
  );
  for (const { agentName, namespace, gapRules, failedRules, suppressions } of agents) {
    const name = { agentName, namespace };
    for (const id of [...gapRules, ...failedRules]) addFailing(states.get(id), name, limit);
    for (const suppression of suppressions)
      addSuppression(states.get(suppression.rule), { ...name, ...suppressedBy(suppression) }, limit);
  }
  return [...states.values()];
}

function addFailing(state: RuleState | undefined, name: AgentName, limit: number): void {
  if (state === undefined) return;
  state.failingCount += 1;
  if (state.failing.length < limit) state.failing.push(name);
}

/** A suppression of an unknown rule has no state. */
function addSuppression(state: RuleState | undefined, suppressed: SuppressedRule, limit: number): void {
  if (state?.kind !== 'compliance') return;
  state.suppressedCount += 1;
  if (state.suppressed.length < limit) state.suppressed.push(suppressed);
}

const suppressedBy = ({ reason, approvedBy, expires, state }: EvaluatedSuppression) => ({
  reason,
  approvedBy: approvedBy ?? null,
  expires: expires ?? null,
  state,
});
