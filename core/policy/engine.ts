import type { PolicyInput } from './policy-input.ts';

/** What an engine says to one input. */
export type PolicyAnswer =
  /** The denial reasons, sorted; none: allowed. */
  | { state: 'answered'; denials: readonly string[] }
  /** It answers without a result: it does not know this agent's rules. */
  | { state: 'not-loaded' }
  | { state: 'unreachable'; reason: string };

/** Whoever decides on policy inputs: the builtin rules, or a policy engine over HTTP. Never rejects. */
export interface PolicyEngine {
  evaluate(input: PolicyInput): Promise<PolicyAnswer>;
}
