import type { Guardrail, Manifest } from '../manifest/manifest.ts';
import { referenceOf } from '../manifest/references.ts';
import { EVALUATION, KEY_SECRET, MODEL, PROMPT_FILE, PROOF } from './evidence-kinds.ts';
import { isPinned, scrubsLongTerm } from './declarations.ts';
import { OWASP } from './references.ts';
import type { Rule } from './rule.ts';

/** Input guardrails that stand against prompt injection. */
function injectionGuardrails({ spec }: Manifest): Guardrail[] {
  return (spec.guardrails?.input ?? []).filter(
    ({ type }) => type === 'prompt-injection' || type === 'topic-filter',
  );
}

/** Manifest path of what the first tool lacks that `declares` nothing; null: every tool does. */
function firstToolWithout(
  { spec }: Manifest,
  declares: (annotations: object & { destructiveHint?: boolean }) => boolean,
): string | null {
  const index = (spec.tools ?? []).findIndex(({ annotations }) => !declares(annotations ?? {}));
  return index === -1 ? null : `spec.tools[${index}].annotations`;
}

/** After the OWASP Top 10 for LLM Applications; the ids follow its first edition. */
export const OWASP_RULES: readonly Rule[] = [
  {
    id: 'SEC-LLM-01',
    pack: 'owasp-llm-top10',
    severity: 'high',
    tier: 'B',
    passesWhen: 'there is an input guardrail prompt-injection or topic-filter',
    violatedAt: (manifest) => (injectionGuardrails(manifest).length > 0 ? null : 'spec.guardrails.input'),
    evidence: { kind: 'guardrail', of: (manifest) => injectionGuardrails(manifest).map(({ type }) => type) },
    message: 'Nothing stands between what users write and the model.',
    recommendation: 'Add a guardrail of type prompt-injection or topic-filter to spec.guardrails.input.',
    references: [OWASP.promptInjection],
  },
  {
    id: 'SEC-LLM-02',
    pack: 'owasp-llm-top10',
    severity: 'high',
    tier: 'B',
    passesWhen: 'there is an output guardrail',
    violatedAt: ({ spec }) => (spec.guardrails?.output?.length ? null : 'spec.guardrails.output'),
    evidence: {
      kind: 'guardrail',
      of: ({ spec }) => (spec.guardrails?.output ?? []).map(({ type }) => type),
    },
    message: 'What the model writes reaches users and tools unchecked.',
    recommendation: 'Add a guardrail such as toxicity-filter or pii-detector to spec.guardrails.output.',
    references: [OWASP.outputHandling],
  },
  {
    id: 'SEC-LLM-03',
    pack: 'owasp-llm-top10',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'prompts.system is a $file: reference',
    violatedAt: ({ spec }) =>
      referenceOf(spec.prompts?.system ?? '')?.kind === 'file' ? null : 'spec.prompts.system',
    evidence: PROMPT_FILE,
    message: 'The system prompt is no file that is versioned and reviewed.',
    recommendation:
      'Keep the system prompt in a file and name it: spec.prompts.system: $file:prompts/system.md',
    references: [OWASP.poisoning, OWASP.promptLeakage],
  },
  {
    id: 'SEC-LLM-04',
    pack: 'owasp-llm-top10',
    severity: 'medium',
    tier: 'X',
    passesWhen: 'api.rateLimit.requestsPerMinute or model.costControls.maxMonthlyUSD is set',
    violatedAt: ({ spec }) =>
      spec.api?.rateLimit?.requestsPerMinute === undefined &&
      spec.model.costControls?.maxMonthlyUSD === undefined
        ? 'spec.api.rateLimit.requestsPerMinute'
        : null,
    evidence: PROOF,
    message: 'Nothing limits how much a caller can make the agent spend.',
    recommendation:
      'Set spec.api.rateLimit.requestsPerMinute or spec.model.costControls.maxMonthlyUSD, and enforce it.',
    references: [OWASP.consumption],
  },
  {
    id: 'SEC-LLM-05',
    pack: 'owasp-llm-top10',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'model.provider is set and model.id is pinned, not latest',
    violatedAt: ({ spec }) => {
      if (spec.model.provider.trim() === '') return 'spec.model.provider';
      return isPinned(spec.model.id) ? null : 'spec.model.id';
    },
    evidence: MODEL,
    message: 'It is left open which model answers.',
    recommendation: 'Name the provider and one version of the model in spec.model.id.',
    references: [OWASP.supplyChain],
  },
  {
    id: 'SEC-LLM-06',
    pack: 'owasp-llm-top10',
    severity: 'critical',
    tier: 'X',
    passesWhen: 'there is no memory.longTerm, or memory.hygiene.piiScrubFields names fields',
    violatedAt: scrubsLongTerm,
    evidence: PROOF,
    message: 'What users say is kept for long with nothing scrubbed from it.',
    recommendation: 'Name the fields to scrub before anything is stored: spec.memory.hygiene.piiScrubFields.',
    references: [OWASP.disclosure],
  },
  {
    id: 'SEC-LLM-07',
    pack: 'owasp-llm-top10',
    severity: 'medium',
    tier: 'X',
    passesWhen: 'there are no tools, or every tool has annotations',
    violatedAt: (manifest) =>
      firstToolWithout(manifest, (annotations) => Object.keys(annotations).length > 0),
    evidence: PROOF,
    message: 'A tool does not say what it does to the world.',
    recommendation: 'Give every tool annotations, such as readOnlyHint and destructiveHint.',
    references: [OWASP.agency],
  },
  {
    id: 'SEC-LLM-08',
    pack: 'owasp-llm-top10',
    severity: 'high',
    tier: 'X',
    passesWhen: 'there are no tools, or every tool declares destructiveHint',
    violatedAt: (manifest) =>
      firstToolWithout(manifest, ({ destructiveHint }) => destructiveHint !== undefined),
    evidence: PROOF,
    message: 'A tool does not say whether it destroys something.',
    recommendation:
      'Declare annotations.destructiveHint, true or false, for every tool: a destructive one needs confirmation.',
    references: [OWASP.agency],
  },
  {
    id: 'SEC-LLM-09',
    pack: 'owasp-llm-top10',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'evaluation.framework is set and evaluation.ciGate is true',
    violatedAt: ({ spec }) => {
      if (!spec.evaluation?.framework?.trim()) return 'spec.evaluation.framework';
      return spec.evaluation.ciGate === true ? null : 'spec.evaluation.ciGate';
    },
    evidence: EVALUATION,
    message: 'No evaluation keeps a version that answers wrongly from being released.',
    recommendation: 'Name spec.evaluation.framework and set spec.evaluation.ciGate to true.',
    references: [OWASP.misinformation],
  },
  {
    id: 'SEC-LLM-10',
    pack: 'owasp-llm-top10',
    severity: 'high',
    tier: 'P',
    passesWhen: 'model.apiKey is a $secret: reference',
    violatedAt: ({ spec }) =>
      referenceOf(spec.model.apiKey)?.kind === 'secret' ? null : 'spec.model.apiKey',
    evidence: KEY_SECRET,
    message: "The model's key does not come from a secret store.",
    recommendation: 'Keep the key in a secret store and name it: spec.model.apiKey: $secret:model-key',
    references: [OWASP.disclosure, OWASP.supplyChain],
  },
];
