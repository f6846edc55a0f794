import { modelCheckId, reachTargets } from '../facts/declared.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { referenceOf, type ReferenceKind } from '../manifest/references.ts';
import type { EvidenceKind } from './rule.ts';

/** Only an external proof counts as evidence. */
export const PROOF: EvidenceKind = { kind: 'proof' };
export const EVALUATION: EvidenceKind = { kind: 'evaluation' };
export const NONE: EvidenceKind = { kind: 'none' };

/** What shows a rule at run time, as text. */
export const EVIDENCE_TEXTS: Readonly<Record<EvidenceKind['kind'], string>> = {
  check: 'its checks pass, or an unexpired proof of this rule was submitted',
  guardrail:
    'requests through the sidecar show the guardrail, or an unexpired proof of this rule was submitted',
  evaluation: 'an unexpired proof of EVAL-01 or of this rule was submitted',
  proof: 'an unexpired proof of this rule was submitted',
  none: 'none; the rule counts only as declared',
};

/** The declared model is reachable, and so is its fallback when the fallback is checked. */
export const MODEL: EvidenceKind = {
  kind: 'check',
  categories: ['model'],
  of: ({ spec }) => [modelCheckId(spec.model)],
};

export const MEMORY: EvidenceKind = { kind: 'check', categories: ['memory'], of: reachIds('memory') };

export const TRACING: EvidenceKind = { kind: 'check', categories: ['tracing'], of: reachIds('tracing') };

export const PROMPT_FILE: EvidenceKind = {
  kind: 'check',
  categories: ['file'],
  of: ({ spec }) => referenceIds(spec.prompts?.system, 'file'),
};

export const KEY_REFERENCE: EvidenceKind = {
  kind: 'check',
  categories: ['secret', 'env'],
  of: ({ spec }) =>
    ['secret' as const, 'env' as const].flatMap((kind) => referenceIds(spec.model.apiKey, kind)),
};

function reachIds(category: string): (manifest: Manifest) => string[] {
  return (manifest) =>
    reachTargets(manifest)
      .map(({ id }) => id)
      .filter((id) => id.startsWith(`${category}:`));
}

function referenceIds(value: string | undefined, kind: ReferenceKind): string[] {
  const reference = value === undefined ? null : referenceOf(value);
  return reference?.kind === kind ? [`${kind}:${reference.name}`] : [];
}
