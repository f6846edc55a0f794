import type { Severity } from '../gap/gap.ts';
import type { CheckCategory } from '../health/health.ts';
import type { GuardrailType, Manifest } from '../manifest/manifest.ts';
import type { Pack } from './packs.ts';

/** What it takes for a rule to count as proved: Declared (never), Probed, Behavioral, eXternal (a proof record). */
export type Tier = 'D' | 'P' | 'B' | 'X';

/** What shows that a declaration holds at run time. An unexpired proof of the rule itself does, too, but for `none`. */
export type EvidenceKind =
  /** Checks of this category: all that `of` names, and every other one of the category, pass. */
  | { kind: 'check'; category: CheckCategory; of: (manifest: Manifest) => readonly string[] }
  /** One of the declared guardrails is in an entry of the audit ring. */
  | { kind: 'guardrail'; of: (manifest: Manifest) => readonly GuardrailType[] }
  /** A submitted evaluation: a proof of EVAL-01, as `evaluate --submit` posts it. */
  | { kind: 'evaluation' }
  | { kind: 'proof' }
  /** Nothing outside the manifest can show it; such a rule is never proved. */
  | { kind: 'none' };

/** One compliance rule: a row of the catalogue. */
export interface Rule {
  id: string;
  pack: Pack;
  severity: Severity;
  tier: Tier;
  /** What the manifest must say, in words. */
  passesWhen: string;
  /** Manifest path of what violates the rule, or where it is missing; null: the rule passes. */
  violatedAt(manifest: Manifest): string | null;
  evidence: EvidenceKind;
  /** The violation, in a sentence. */
  message: string;
  recommendation: string;
  /** Where the rule comes from, such as an entry of the OWASP Top 10 for LLM Applications. */
  references: readonly string[];
}

/** How much a rule counts. */
export const WEIGHTS: Readonly<Record<Severity, number>> = { critical: 4, high: 3, medium: 2, low: 1 };
