import type { PolicyEngine } from '../../core/policy/engine.ts';
import { evaluate, type Policy } from '../../core/policy/policy.ts';

/** Evaluates the generated rules in this process, synchronously. `policy`: returns the policy in force. */
export function createBuiltinEngine(policy: () => Policy): PolicyEngine {
  return { evaluate: (input) => ({ state: 'answered', denials: evaluate(policy(), input) }) };
}
