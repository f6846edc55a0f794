import { MEMORY_RULES } from './memory-rules.ts';
import { MODEL_RULES } from './model-rules.ts';
import { EVALUATION_RULES, METADATA_RULES, OBSERVABILITY_RULES } from './operation-rules.ts';
import { OWASP_RULES } from './owasp-rules.ts';
import type { Rule } from './rule.ts';

/** All compliance rules, grouped by pack. */
export const RULES: readonly Rule[] = [
  ...OWASP_RULES,
  ...MODEL_RULES,
  ...MEMORY_RULES,
  ...EVALUATION_RULES,
  ...OBSERVABILITY_RULES,
  ...METADATA_RULES,
];

/** All rule ids; every rule may have a proof. */
export const RULE_IDS: readonly string[] = RULES.map((rule) => rule.id);

export function isRuleId(id: string): boolean {
  return RULE_IDS.includes(id);
}
