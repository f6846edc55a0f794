import type { Severity } from '../gap/gap.ts';

export const PACKS = [
  'owasp-llm-top10',
  'model-resilience',
  'memory-hygiene',
  'evaluation-coverage',
  'observability',
  'metadata-quality',
] as const;
export type Pack = (typeof PACKS)[number];

/** What it takes for a rule to count as proved: Declared (never), Probed, Behavioral, eXternal (a proof record). */
export type Tier = 'D' | 'P' | 'B' | 'X';

/** One compliance rule. */
export interface Rule {
  id: string;
  pack: Pack;
  severity: Severity;
  tier: Tier;
}

/** The compliance rules, one row each. */
export const RULES: readonly Rule[] = [
  { id: 'SEC-LLM-01', pack: 'owasp-llm-top10', severity: 'high', tier: 'B' },
  { id: 'SEC-LLM-02', pack: 'owasp-llm-top10', severity: 'high', tier: 'B' },
  { id: 'SEC-LLM-03', pack: 'owasp-llm-top10', severity: 'medium', tier: 'P' },
  { id: 'SEC-LLM-04', pack: 'owasp-llm-top10', severity: 'medium', tier: 'X' },
  { id: 'SEC-LLM-05', pack: 'owasp-llm-top10', severity: 'medium', tier: 'P' },
  { id: 'SEC-LLM-06', pack: 'owasp-llm-top10', severity: 'critical', tier: 'X' },
  { id: 'SEC-LLM-07', pack: 'owasp-llm-top10', severity: 'medium', tier: 'X' },
  { id: 'SEC-LLM-08', pack: 'owasp-llm-top10', severity: 'high', tier: 'X' },
  { id: 'SEC-LLM-09', pack: 'owasp-llm-top10', severity: 'medium', tier: 'P' },
  { id: 'SEC-LLM-10', pack: 'owasp-llm-top10', severity: 'high', tier: 'P' },
  { id: 'MODEL-01', pack: 'model-resilience', severity: 'high', tier: 'X' },
  { id: 'MODEL-02', pack: 'model-resilience', severity: 'medium', tier: 'P' },
  { id: 'MODEL-03', pack: 'model-resilience', severity: 'medium', tier: 'X' },
  { id: 'MODEL-04', pack: 'model-resilience', severity: 'low', tier: 'X' },
  { id: 'MEM-01', pack: 'memory-hygiene', severity: 'critical', tier: 'X' },
  { id: 'MEM-02', pack: 'memory-hygiene', severity: 'high', tier: 'P' },
  { id: 'MEM-03', pack: 'memory-hygiene', severity: 'medium', tier: 'P' },
  { id: 'MEM-04', pack: 'memory-hygiene', severity: 'medium', tier: 'P' },
  { id: 'MEM-05', pack: 'memory-hygiene', severity: 'low', tier: 'P' },
  { id: 'EVAL-01', pack: 'evaluation-coverage', severity: 'medium', tier: 'P' },
  { id: 'EVAL-02', pack: 'evaluation-coverage', severity: 'medium', tier: 'P' },
  { id: 'EVAL-03', pack: 'evaluation-coverage', severity: 'medium', tier: 'P' },
  { id: 'OBS-01', pack: 'observability', severity: 'medium', tier: 'P' },
  { id: 'OBS-02', pack: 'observability', severity: 'low', tier: 'B' },
  { id: 'OBS-03', pack: 'observability', severity: 'medium', tier: 'X' },
  { id: 'META-01', pack: 'metadata-quality', severity: 'low', tier: 'D' },
  { id: 'META-02', pack: 'metadata-quality', severity: 'medium', tier: 'D' },
];

/** Every rule id; any of them may carry a proof. */
export const RULE_IDS: readonly string[] = RULES.map((rule) => rule.id);

export function isRuleId(id: string): boolean {
  return RULE_IDS.includes(id);
}
