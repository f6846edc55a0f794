import { isPinned } from './declarations.ts';
import { MODEL, PROOF } from './evidence-kinds.ts';
import { OWASP } from './references.ts';
import type { RulesOfPack } from './rule.ts';

/** Rules about the model: fallback, pinned version, cost limit and retries. */
export const MODEL_RULES: RulesOfPack = {
  'MODEL-01': {
    severity: 'high',
    tier: 'X',
    passesWhen: 'model.fallback is declared',
    violatedAt: ({ spec }) => (spec.model.fallback === undefined ? 'spec.model.fallback' : null),
    evidence: PROOF,
    message: 'No fallback model is declared.',
    recommendation:
      'Declare spec.model.fallback with maxRetries, and submit a proof that the fallback model activates.',
    references: [OWASP.supplyChain],
  },
  'MODEL-02': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'model.id is neither latest nor *:latest',
    violatedAt: ({ spec }) => (isPinned(spec.model.id) ? null : 'spec.model.id'),
    evidence: MODEL,
    message: 'The model id refers to the latest version, which can change at any time.',
    recommendation: 'Pin one version of the model in spec.model.id.',
    references: [OWASP.supplyChain],
  },
  'MODEL-03': {
    severity: 'medium',
    tier: 'X',
    passesWhen: 'model.costControls.maxMonthlyUSD is set',
    violatedAt: ({ spec }) =>
      spec.model.costControls?.maxMonthlyUSD === undefined ? 'spec.model.costControls.maxMonthlyUSD' : null,
    evidence: PROOF,
    message: 'No monthly cost limit is declared.',
    recommendation:
      'Set spec.model.costControls.maxMonthlyUSD and usdPerMillionTokens. The policy rules then limit the cost per day to 1/30 of maxMonthlyUSD.',
    references: [OWASP.consumption],
  },
  'MODEL-04': {
    severity: 'low',
    tier: 'X',
    passesWhen: 'there is no model.fallback, or its maxRetries is set',
    violatedAt: ({ spec: { model } }) =>
      model.fallback !== undefined && model.fallback.maxRetries === undefined
        ? 'spec.model.fallback.maxRetries'
        : null,
    evidence: PROOF,
    message: 'The number of fallback retries is not limited.',
    recommendation: 'Set spec.model.fallback.maxRetries.',
    references: [OWASP.consumption],
  },
};
