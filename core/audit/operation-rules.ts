import type { Manifest } from '../manifest/manifest.ts';
import { EVALUATION, NONE, PROOF, TRACING } from './evidence-kinds.ts';
import { OWASP } from './references.ts';
import type { RulesOfPack } from './rule.ts';

const HALLUCINATION = 'hallucination';
/** Above this temperature, responses vary strongly between calls. */
const HIGHEST_TEMPERATURE = 1.5;

function missingHallucinationPath({ spec: { evaluation } }: Manifest): string | null {
  const metrics = [
    ...(evaluation?.metrics ?? []),
    ...(evaluation?.datasets ?? []).flatMap((dataset) => dataset.metrics ?? []),
  ];
  if (!metrics.includes(HALLUCINATION)) return 'spec.evaluation.metrics';
  return evaluation?.thresholds !== undefined && Object.hasOwn(evaluation.thresholds, HALLUCINATION)
    ? null
    : `spec.evaluation.thresholds.${HALLUCINATION}`;
}

/** Rules about the evaluation of the agent. */
export const EVALUATION_RULES: RulesOfPack = {
  'EVAL-01': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'evaluation.datasets has at least one dataset',
    violatedAt: ({ spec }) => (spec.evaluation?.datasets?.length ? null : 'spec.evaluation.datasets'),
    evidence: EVALUATION,
    message: 'No evaluation dataset is declared.',
    recommendation: 'Declare a dataset in spec.evaluation.datasets.',
    references: [OWASP.misinformation],
  },
  'EVAL-02': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'evaluation.ciGate is true',
    violatedAt: ({ spec }) => (spec.evaluation?.ciGate === true ? null : 'spec.evaluation.ciGate'),
    evidence: EVALUATION,
    message: 'A failed evaluation does not block a release.',
    recommendation: 'Set spec.evaluation.ciGate to true.',
    references: [OWASP.misinformation],
  },
  'EVAL-03': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'evaluation.metrics and evaluation.thresholds contain hallucination',
    violatedAt: missingHallucinationPath,
    evidence: EVALUATION,
    message: 'No hallucination metric with a threshold is declared.',
    recommendation: `Add ${HALLUCINATION} to spec.evaluation.metrics and to spec.evaluation.thresholds.`,
    references: [OWASP.misinformation],
  },
};

/** Rules about tracing and logging. */
export const OBSERVABILITY_RULES: RulesOfPack = {
  'OBS-01': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'observability.tracing.backend is set',
    violatedAt: ({ spec }) =>
      spec.observability?.tracing?.backend.trim() ? null : 'spec.observability.tracing.backend',
    evidence: TRACING,
    message: 'No tracing backend is declared.',
    recommendation: 'Declare spec.observability.tracing with its backend and endpoint.',
    references: [],
  },
  'OBS-02': {
    severity: 'low',
    tier: 'B',
    passesWhen: 'observability.logging.structured is not false',
    violatedAt: ({ spec }) =>
      spec.observability?.logging?.structured === false ? 'spec.observability.logging.structured' : null,
    // The sidecar cannot observe the agent's logs.
    evidence: PROOF,
    message: 'Logs are not structured, so they cannot be searched by field.',
    recommendation: 'Log in a structured form and set spec.observability.logging.structured to true.',
    references: [],
  },
  'OBS-03': {
    severity: 'medium',
    tier: 'X',
    passesWhen: 'observability.logging.redactFields is not empty',
    violatedAt: ({ spec }) =>
      spec.observability?.logging?.redactFields?.length ? null : 'spec.observability.logging.redactFields',
    evidence: PROOF,
    message: 'Logs may contain personal data and keys, because no fields are redacted.',
    recommendation: 'List the fields to redact in spec.observability.logging.redactFields.',
    references: [OWASP.disclosure],
  },
};

/** Rules about metadata and model parameters. */
export const METADATA_RULES: RulesOfPack = {
  'META-01': {
    severity: 'low',
    tier: 'D',
    passesWhen: 'metadata.description is not blank',
    violatedAt: ({ metadata }) => (metadata.description.trim() === '' ? 'metadata.description' : null),
    evidence: NONE,
    message: 'The manifest does not describe what the agent does.',
    recommendation: 'Describe in metadata.description what the agent does.',
    references: [],
  },
  'META-02': {
    severity: 'medium',
    tier: 'D',
    passesWhen: `model.parameters.temperature is not set, or at most ${HIGHEST_TEMPERATURE}`,
    violatedAt: ({ spec }) =>
      (spec.model.parameters?.temperature ?? 0) > HIGHEST_TEMPERATURE
        ? 'spec.model.parameters.temperature'
        : null,
    evidence: NONE,
    message: `The temperature is above ${HIGHEST_TEMPERATURE}.`,
    recommendation: `Set spec.model.parameters.temperature to at most ${HIGHEST_TEMPERATURE}.`,
    references: [OWASP.misinformation],
  },
};
