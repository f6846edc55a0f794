import type { PolicyInput } from './policy-input.ts';

/** What an engine says to one input. */
export type PolicyAnswer =
  /** The denial reasons, sorted; none: allowed. */
  | { state: 'answered'; denials: readonly string[] }
  /** It answers without a result: it does not know this agent's rules. */
  | { state: 'not-loaded' }
  | { state: 'unreachable'; reason: string };

/** Whoever decides on policy inputs: the builtin rules, or a policy engine over HTTP. Never throws, never rejects. */
export interface PolicyEngine {
  /** What can be said at once is no promise: a request must not wait for a turn of the event loop. */
  evaluate(input: PolicyInput): PolicyAnswer | Promise<PolicyAnswer>;
}
