import { MEMORY_RULES } from './memory-rules.ts';
import { MODEL_RULES } from './model-rules.ts';
import { EVALUATION_RULES, METADATA_RULES, OBSERVABILITY_RULES } from './operation-rules.ts';
import { OWASP_RULES } from './owasp-rules.ts';
import { PACKS, type Pack } from '../shapes/values.ts';
import type { Rule, RulesOfPack } from './rule.ts';

const RULES_OF: Readonly<Record<Pack, RulesOfPack>> = {
  'owasp-llm-top10': OWASP_RULES,
  'model-resilience': MODEL_RULES,
  'memory-hygiene': MEMORY_RULES,
  'evaluation-coverage': EVALUATION_RULES,
  observability: OBSERVABILITY_RULES,
  'metadata-quality': METADATA_RULES,
};

/** All compliance rules, grouped by pack. */
export const RULES: readonly Rule[] = PACKS.flatMap((pack) =>
  Object.entries(RULES_OF[pack]).map(([id, rule]) => ({ id, ...rule, pack })),
);

/** All rule ids; every rule may have a proof. */
export const RULE_IDS: readonly string[] = RULES.map((rule) => rule.id);

export const isRuleId = (id: string): boolean => RULE_IDS.includes(id);
