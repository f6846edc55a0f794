import type { Outcome, PolicyMode } from '../shapes/values.ts';
import type { PolicyResult } from './engine.ts';

/** The policy decision on one response. */
export interface Decision {
  outcome: Outcome;
  /** Denial reasons; empty: not denied. A response that passes lists them in its head. */
  denials: readonly string[];
  /** true: the client receives the denial instead of the response. */
  blocks: boolean;
}

/** The decision on a response that no engine with the rules of the agent has evaluated. */
export const NOT_EVALUATED: Decision = { outcome: 'notEvaluated', denials: [], blocks: false };
const FAIL_OPEN: Decision = { outcome: 'failOpen', denials: [], blocks: false };

/** In the mode `off`, responses are not evaluated. */
export function decisionOf(result: PolicyResult, mode: Exclude<PolicyMode, 'off'>): Decision {
  if (result.state === 'unreachable') return FAIL_OPEN;
  if (result.state === 'not-loaded') return NOT_EVALUATED;
  const { denials } = result;
  const isDenied = denials.length > 0;
  return { outcome: isDenied ? 'deny' : 'allow', denials, blocks: isDenied && mode === 'enforce' };
}
