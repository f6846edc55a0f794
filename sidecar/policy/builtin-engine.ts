import type { PolicyEngine } from '../../core/policy/engine.ts';
import { evaluate, type Policy } from '../../core/policy/policy.ts';

/** The generated rules, evaluated in this process: the answer is there at once. `policy`: the one in force now. */
export function createBuiltinEngine(policy: () => Policy): PolicyEngine {
  return { evaluate: (input) => ({ state: 'answered', denials: evaluate(policy(), input) }) };
}
