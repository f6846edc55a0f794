import { isPinned } from './declarations.ts';
import { MODEL, PROOF } from './evidence-kinds.ts';
import { OWASP } from './references.ts';
import type { Rule } from './rule.ts';

/** What keeps an agent answering, at a known price, when its model does not. */
export const MODEL_RULES: readonly Rule[] = [
  {
    id: 'MODEL-01',
    pack: 'model-resilience',
    severity: 'high',
    tier: 'X',
    passesWhen: 'model.fallback is declared',
    violatedAt: ({ spec }) => (spec.model.fallback === undefined ? 'spec.model.fallback' : null),
    evidence: PROOF,
    message: 'When the model is down, so is the agent.',
    recommendation: 'Declare spec.model.fallback, and show that it takes over.',
    references: [OWASP.supplyChain],
  },
  {
    id: 'MODEL-02',
    pack: 'model-resilience',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'model.id is neither latest nor *:latest',
    violatedAt: ({ spec }) => (isPinned(spec.model.id) ? null : 'spec.model.id'),
    evidence: MODEL,
    message: 'The model can change under the agent from one day to the next.',
    recommendation: 'Pin one version of the model in spec.model.id.',
    references: [OWASP.supplyChain],
  },
  {
    id: 'MODEL-03',
    pack: 'model-resilience',
    severity: 'medium',
    tier: 'X',
    passesWhen: 'model.costControls.maxMonthlyUSD is set',
    violatedAt: ({ spec }) =>
      spec.model.costControls?.maxMonthlyUSD === undefined ? 'spec.model.costControls.maxMonthlyUSD' : null,
    evidence: PROOF,
    message: 'The model may cost any amount.',
    recommendation:
      'Set spec.model.costControls.maxMonthlyUSD; the policy rules then hold a daily share of it.',
    references: [OWASP.consumption],
  },
  {
    id: 'MODEL-04',
    pack: 'model-resilience',
    severity: 'low',
    tier: 'X',
    passesWhen: 'there is no model.fallback, or its maxRetries is set',
    violatedAt: ({ spec: { model } }) =>
      model.fallback !== undefined && model.fallback.maxRetries === undefined
        ? 'spec.model.fallback.maxRetries'
        : null,
    evidence: PROOF,
    message: 'The fallback may be tried without end.',
    recommendation: 'Set spec.model.fallback.maxRetries.',
    references: [OWASP.consumption],
  },
];
