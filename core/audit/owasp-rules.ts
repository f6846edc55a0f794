import type { Guardrail, Manifest } from '../manifest/manifest.ts';
import { referenceOf } from '../manifest/references.ts';
import { EVALUATION, KEY_REFERENCE, MODEL, PROMPT_FILE, PROOF } from './evidence-kinds.ts';
import { isPinned, missingScrubFieldsPath } from './declarations.ts';
import { OWASP } from './references.ts';
import type { RulesOfPack } from './rule.ts';

/** Input guardrails that protect against prompt injection. */
function injectionGuardrails({ spec }: Manifest): Guardrail[] {
  return (spec.guardrails?.input ?? []).filter(
    ({ type }) => type === 'prompt-injection' || type === 'topic-filter',
  );
}

/** Manifest path of the annotations of the first tool for which `declares` is false; null: every tool declares it. */
function firstToolWithout(
  { spec }: Manifest,
  declares: (annotations: object & { destructiveHint?: boolean }) => boolean,
): string | null {
  const index = (spec.tools ?? []).findIndex(({ annotations }) => !declares(annotations ?? {}));
  return index === -1 ? null : `spec.tools[${index}].annotations`;
}

/** Rules based on the OWASP Top 10 for LLM Applications; the ids follow its edition of 2023. */
export const OWASP_RULES: RulesOfPack = {
  'SEC-LLM-01': {
    severity: 'high',
    tier: 'B',
    passesWhen: 'an input guardrail of type prompt-injection or topic-filter is declared',
    violatedAt: (manifest) => (injectionGuardrails(manifest).length > 0 ? null : 'spec.guardrails.input'),
    evidence: { kind: 'guardrail', of: (manifest) => injectionGuardrails(manifest).map(({ type }) => type) },
    message: 'User input reaches the model without a guardrail against prompt injection.',
    recommendation: 'Add a guardrail of type prompt-injection or topic-filter to spec.guardrails.input.',
    references: [OWASP.promptInjection],
  },
  'SEC-LLM-02': {
    severity: 'high',
    tier: 'B',
    passesWhen: 'an output guardrail is declared',
    violatedAt: ({ spec }) => (spec.guardrails?.output?.length ? null : 'spec.guardrails.output'),
    evidence: {
      kind: 'guardrail',
      of: ({ spec }) => (spec.guardrails?.output ?? []).map(({ type }) => type),
    },
    message: 'Model output reaches users and tools without a guardrail.',
    recommendation: 'Add a guardrail such as toxicity-filter or pii-detector to spec.guardrails.output.',
    references: [OWASP.outputHandling],
  },
  'SEC-LLM-03': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'prompts.system is a $file: reference',
    violatedAt: ({ spec }) =>
      referenceOf(spec.prompts?.system ?? '')?.kind === 'file' ? null : 'spec.prompts.system',
    evidence: PROMPT_FILE,
    message: 'The system prompt is not loaded from a versioned file.',
    recommendation:
      'Store the system prompt in a file and reference it: spec.prompts.system: $file:prompts/system.md',
    references: [OWASP.poisoning, OWASP.contextExposure],
  },
  'SEC-LLM-04': {
    severity: 'medium',
    tier: 'X',
    passesWhen: 'api.rateLimit.requestsPerMinute or model.costControls.maxMonthlyUSD is set',
    violatedAt: ({ spec }) =>
      spec.api?.rateLimit?.requestsPerMinute === undefined &&
      spec.model.costControls?.maxMonthlyUSD === undefined
        ? 'spec.api.rateLimit.requestsPerMinute'
        : null,
    evidence: PROOF,
    message: 'Neither a rate limit nor a cost limit is declared.',
    recommendation:
      'Set spec.api.rateLimit.requestsPerMinute or spec.model.costControls.maxMonthlyUSD, and enforce it.',
    references: [OWASP.consumption],
  },
  'SEC-LLM-05': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'model.provider is set and model.id is pinned, not latest',
    violatedAt: ({ spec }) => {
      if (spec.model.provider.trim() === '') return 'spec.model.provider';
      return isPinned(spec.model.id) ? null : 'spec.model.id';
    },
    evidence: MODEL,
    message: 'The model provider or the model version is not fixed.',
    recommendation: 'Set spec.model.provider and pin one version of the model in spec.model.id.',
    references: [OWASP.supplyChain],
  },
  'SEC-LLM-06': {
    severity: 'critical',
    tier: 'X',
    passesWhen: 'there is no memory.longTerm, or memory.hygiene.piiScrubFields is not empty',
    violatedAt: missingScrubFieldsPath,
    evidence: PROOF,
    message: 'User data is stored in long-term memory without scrubbing personal data.',
    recommendation:
      'Scrub personal data before it is stored, and list the fields in spec.memory.hygiene.piiScrubFields.',
    references: [OWASP.disclosure],
  },
  'SEC-LLM-07': {
    severity: 'medium',
    tier: 'X',
    passesWhen: 'there are no tools, or every tool has annotations',
    violatedAt: (manifest) =>
      firstToolWithout(manifest, (annotations) => Object.keys(annotations).length > 0),
    evidence: PROOF,
    message: 'A tool has no annotations.',
    recommendation: 'Add annotations to every tool, such as readOnlyHint and destructiveHint.',
    references: [OWASP.agency],
  },
  'SEC-LLM-08': {
    severity: 'high',
    tier: 'X',
    passesWhen: 'there are no tools, or every tool declares destructiveHint',
    violatedAt: (manifest) =>
      firstToolWithout(manifest, ({ destructiveHint }) => destructiveHint !== undefined),
    evidence: PROOF,
    message: 'A tool does not declare destructiveHint.',
    recommendation:
      'Set annotations.destructiveHint to true or false for every tool. Destructive tools need user confirmation.',
    references: [OWASP.agency],
  },
  'SEC-LLM-09': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'evaluation.framework is set and evaluation.ciGate is true',
    violatedAt: ({ spec }) => {
      if (!spec.evaluation?.framework?.trim()) return 'spec.evaluation.framework';
      return spec.evaluation.ciGate === true ? null : 'spec.evaluation.ciGate';
    },
    evidence: EVALUATION,
    message: 'No evaluation gate blocks bad releases in CI.',
    recommendation: 'Set spec.evaluation.framework, and set spec.evaluation.ciGate to true.',
    references: [OWASP.misinformation],
  },
  'SEC-LLM-10': {
    severity: 'high',
    tier: 'P',
    passesWhen: 'model.apiKey is a reference: $secret: (better) or $env:',
    violatedAt: ({ spec }) =>
      ['secret', 'env'].includes(referenceOf(spec.model.apiKey)?.kind ?? '') ? null : 'spec.model.apiKey',
    evidence: KEY_REFERENCE,
    message: 'The model API key is neither a $secret: nor an $env: reference.',
    recommendation:
      'Set spec.model.apiKey to $secret:model-key, or to $env:VAR. $secret: is better, because the key can be in a file; every child process inherits an environment variable.',
    references: [OWASP.disclosure, OWASP.supplyChain],
  },
};
