import type { Severity, CheckCategory, Pack } from '../shapes/values.ts';
import type { GuardrailType, Manifest } from '../manifest/manifest.ts';

/** The evidence that a rule needs to count as proved: Declared (never proved), Probed, Behavioral, eXternal (a proof record). */
export type Tier = 'D' | 'P' | 'B' | 'X';

/** The run-time evidence for a declaration. Except for `none`, an unexpired proof of the rule itself also counts. */
export type EvidenceKind =
  /** Checks of one of the categories: all checks that `of` names exist, and every check of their category passes. */
  | { kind: 'check'; categories: readonly CheckCategory[]; of: (manifest: Manifest) => readonly string[] }
  /** An entry of the audit ring has one of the declared guardrails. */
  | { kind: 'guardrail'; of: (manifest: Manifest) => readonly GuardrailType[] }
  /** A submitted evaluation: a proof of EVAL-01, as `evaluate --submit` posts it. */
  | { kind: 'evaluation' }
  | { kind: 'proof' }
  /** No evidence outside the manifest exists; such a rule is never proved. */
  | { kind: 'none' };

/** One compliance rule: a row of the catalogue. */
export interface Rule {
  id: string;
  pack: Pack;
  severity: Severity;
  tier: Tier;
  /** What the manifest must declare, as text. */
  passesWhen: string;
  /** Manifest path of the invalid or missing value; null: the rule passes. */
  violatedAt(manifest: Manifest): string | null;
  evidence: EvidenceKind;
  /** The violation, as one sentence. */
  message: string;
  recommendation: string;
  /** Sources of the rule, such as an entry of the OWASP Top 10 for LLM Applications. */
  references: readonly string[];
}

/** The rules of one pack by id. */
export type RulesOfPack = Readonly<Record<string, Omit<Rule, 'id' | 'pack'>>>;

/** Weight of a rule in the score. */
export const WEIGHTS: Readonly<Record<Severity, number>> = { critical: 4, high: 3, medium: 2, low: 1 };

export const weightOf = (rules: readonly Rule[]): number =>
  rules.reduce((sum, { severity }) => sum + WEIGHTS[severity], 0);
