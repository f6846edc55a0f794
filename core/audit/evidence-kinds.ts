import { modelCheckId, reachTargets } from '../facts/declared.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { referenceOf } from '../manifest/references.ts';
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
  category: 'model',
  of: ({ spec }) => [modelCheckId(spec.model)],
};

export const MEMORY: EvidenceKind = { kind: 'check', category: 'memory', of: reachIds('memory') };

export const TRACING: EvidenceKind = { kind: 'check', category: 'tracing', of: reachIds('tracing') };

export const PROMPT_FILE: EvidenceKind = {
  kind: 'check',
  category: 'file',
  of: ({ spec }) => referenceIds(spec.prompts?.system, 'file'),
};

export const KEY_SECRET: EvidenceKind = {
  kind: 'check',
  category: 'secret',
  of: ({ spec }) => referenceIds(spec.model.apiKey, 'secret'),
};

function reachIds(category: string): (manifest: Manifest) => string[] {
  return (manifest) =>
    reachTargets(manifest)
      .map(({ id }) => id)
      .filter((id) => id.startsWith(`${category}:`));
}

function referenceIds(value: string | undefined, kind: 'file' | 'secret'): string[] {
  const reference = value === undefined ? null : referenceOf(value);
  return reference?.kind === kind ? [`${kind}:${reference.name}`] : [];
}
