import type { PolicyInput } from './policy-input.ts';

/** The denial reason of a result, or of an element of it, that contains no reason. */
export const RESULT_INVALID = 'policy_result_invalid';

/** The result of a policy engine for one input. */
export type PolicyResult =
  /** The denial reasons, sorted; empty: allowed. `problem`: why one of them is `policy_result_invalid`. */
  | { state: 'answered'; denials: readonly string[]; problem?: string }
  /** The engine responds without a result, because it does not have this agent's rules. */
  | { state: 'not-loaded' }
  | { state: 'unreachable'; reason: string };

/** Evaluates policy inputs: the builtin rules, or a policy engine over HTTP. Never throws, never rejects. */
export interface PolicyEngine {
  /** Returns a plain value if the result is known immediately, so that a request does not wait for an event loop turn. */
  evaluate(input: PolicyInput): PolicyResult | Promise<PolicyResult>;
}
