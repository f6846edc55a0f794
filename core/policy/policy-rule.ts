import type { Manifest } from '../manifest/manifest.ts';
import type { Severity } from '../shapes/values.ts';
import type { PolicyInput } from './policy-input.ts';

export type DenialReason =
  | 'pii_detector_not_invoked'
  | 'toxicity_threshold_exceeded'
  | 'monthly_cost_limit_exceeded'
  | 'daily_token_limit_exceeded'
  | 'memory_ttl_mismatch'
  | 'destructive_tool_without_confirmation';

/** Denial reasons for calls on an egress lane. */
export type EgressReason =
  | 'daily_token_limit_exceeded'
  | 'destructive_tool_without_confirmation'
  | 'host_not_declared'
  | 'model_not_declared'
  | 'monthly_cost_limit_exceeded'
  | 'tool_arguments_invalid'
  | 'tool_not_declared';

/** The values that the rules compare facts with: computed once from the manifest, the same for every engine. */
export type PolicyConfig = Readonly<Record<string, number | readonly string[]>>;

/** One row of a table of rules. */
export interface PolicyRule<Reason extends string = DenialReason> {
  reason: Reason;
  /** Manifest path of the declaration that activates the rule. */
  field: string;
  /** When the declaration activates the rule, as text. */
  declaredBy: string;
  /** When the rule denies, as text. */
  deniesWhen: string;
  /** Severity of the gap issue `policy.<reason>`. */
  severity: Severity;
  recommendation: string;
  /** The rule in Rego, the same text for every manifest: manifest values are only written to the data. */
  rego: string;
  /** What a manifest declares for the rule; null: the manifest does not declare it. */
  bind: (manifest: Manifest) => Declared | null;
}

/** Rules from a table by their reasons. */
export const policyRules = <Reason extends string>(
  rules: Readonly<Record<Reason, Omit<PolicyRule, 'reason'>>>,
): readonly PolicyRule<Reason>[] =>
  Object.entries<Omit<PolicyRule, 'reason'>>(rules).map(([reason, rule]) => ({
    ...{ reason: reason as Reason, ...rule },
  }));

export interface Declared {
  /** The rule's part of the data. */
  config: PolicyConfig;
  denies: (input: PolicyInput) => boolean;
  /** Facts that the rule denies if the engine has this manifest's rules and data. */
  canaries: readonly Partial<PolicyInput>[];
}

/** What the manifest declares for a rule about this value; null: it does not declare the value. */
export const ifDeclared = <T>(value: T | undefined, declared: (value: T) => Declared): Declared | null =>
  value === undefined ? null : declared(value);

/** A rule together with what one manifest declares for it. */
export interface BoundRule<Reason extends string = DenialReason> extends Declared {
  rule: PolicyRule<Reason>;
}
