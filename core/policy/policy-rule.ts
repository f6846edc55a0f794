import type { Severity } from '../gap/gap.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { PolicyInput } from './policy-input.ts';

export type DenialReason =
  | 'pii_detector_not_invoked'
  | 'toxicity_threshold_exceeded'
  | 'monthly_cost_limit_exceeded'
  | 'daily_token_limit_exceeded'
  | 'memory_ttl_mismatch'
  | 'destructive_tool_without_confirmation';

/** What the rules compare with: computed once from the manifest, the same values for every engine. */
export interface PolicyConfig {
  toxicityThreshold?: number;
  maxMonthlyUSD?: number;
  /** `maxMonthlyUSD / 30`, divided here so that no engine divides. */
  maxDailyUSD?: number;
  maxTokensPerDay?: number;
  ttlSeconds?: number;
  destructiveTools?: readonly string[];
}

/** What is said about a rule, whatever the manifest. */
export interface RuleFacts {
  reason: DenialReason;
  /** Manifest path of the declaration that brings the rule. */
  field: string;
  /** When the declaration brings it, and when it denies, in words. */
  declaredBy: string;
  deniesWhen: string;
  /** Of the gap issue `policy.<reason>`. */
  severity: Severity;
  recommendation: string;
  /** The rule in Rego, for every manifest the same text: what a manifest says only ever reaches the data. */
  rego: string;
}

/** A rule together with what one manifest declares for it. */
export interface BoundRule {
  rule: RuleFacts;
  /** Its part of the data. */
  config: PolicyConfig;
  denies: (input: PolicyInput) => boolean;
  /** Facts that it must deny as long as the engine has this manifest's rules and data. */
  canaries: readonly Partial<PolicyInput>[];
}

/** One row of the table: the facts and how a manifest brings it to life. null: the manifest does not declare it. */
export interface PolicyRule extends RuleFacts {
  bind: (manifest: Manifest) => BoundRule | null;
}

/** A row as it is written: `C` is its part of the data. */
export interface RuleSource<C extends PolicyConfig> extends RuleFacts {
  /** null: the manifest does not declare what the rule is about. */
  configOf: (manifest: Manifest) => C | null;
  denierOf: (config: C) => (input: PolicyInput) => boolean;
  canariesOf: (config: C) => readonly Partial<PolicyInput>[];
}

export function policyRule<C extends PolicyConfig>(source: RuleSource<C>): PolicyRule {
  const { configOf, denierOf, canariesOf, ...facts } = source;
  return {
    ...facts,
    bind(manifest) {
      const config = configOf(manifest);
      if (config === null) return null;
      return { rule: facts, config, denies: denierOf(config), canaries: canariesOf(config) };
    },
  };
}
