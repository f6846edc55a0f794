import type { Manifest } from '../manifest/manifest.ts';
import { EVALUATION, NONE, PROOF, TRACING } from './evidence-kinds.ts';
import { OWASP } from './references.ts';
import type { Rule } from './rule.ts';

const HALLUCINATION = 'hallucination';
/** Over this, answers are hardly the same twice. */
const HIGHEST_TEMPERATURE = 1.5;

function hallucinationGap({ spec: { evaluation } }: Manifest): string | null {
  const metrics = [
    ...(evaluation?.metrics ?? []),
    ...(evaluation?.datasets ?? []).flatMap((dataset) => dataset.metrics ?? []),
  ];
  if (!metrics.includes(HALLUCINATION)) return 'spec.evaluation.metrics';
  return evaluation?.thresholds !== undefined && Object.hasOwn(evaluation.thresholds, HALLUCINATION)
    ? null
    : `spec.evaluation.thresholds.${HALLUCINATION}`;
}

/** How an agent is evaluated. */
export const EVALUATION_RULES: readonly Rule[] = [
  {
    id: 'EVAL-01',
    pack: 'evaluation-coverage',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'evaluation.datasets has at least one dataset',
    violatedAt: ({ spec }) => (spec.evaluation?.datasets?.length ? null : 'spec.evaluation.datasets'),
    evidence: EVALUATION,
    message: 'There is nothing to evaluate the agent with.',
    recommendation: 'Declare a dataset in spec.evaluation.datasets.',
    references: [OWASP.misinformation],
  },
  {
    id: 'EVAL-02',
    pack: 'evaluation-coverage',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'evaluation.ciGate is true',
    violatedAt: ({ spec }) => (spec.evaluation?.ciGate === true ? null : 'spec.evaluation.ciGate'),
    evidence: EVALUATION,
    message: 'An evaluation that fails stops nothing.',
    recommendation: 'Set spec.evaluation.ciGate to true.',
    references: [OWASP.misinformation],
  },
  {
    id: 'EVAL-03',
    pack: 'evaluation-coverage',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'evaluation.metrics has hallucination, and evaluation.thresholds a value for it',
    violatedAt: hallucinationGap,
    evidence: EVALUATION,
    message: 'Nobody measures how often the agent makes things up, against a limit.',
    recommendation: `Add ${HALLUCINATION} to spec.evaluation.metrics and to spec.evaluation.thresholds.`,
    references: [OWASP.misinformation],
  },
];

/** How an agent can be watched. */
export const OBSERVABILITY_RULES: readonly Rule[] = [
  {
    id: 'OBS-01',
    pack: 'observability',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'observability.tracing.backend is set',
    violatedAt: ({ spec }) =>
      spec.observability?.tracing?.backend.trim() ? null : 'spec.observability.tracing.backend',
    evidence: TRACING,
    message: 'What the agent did cannot be traced.',
    recommendation: 'Declare spec.observability.tracing with its backend and endpoint.',
    references: [],
  },
  {
    id: 'OBS-02',
    pack: 'observability',
    severity: 'low',
    tier: 'B',
    passesWhen: 'observability.logging.structured is not false',
    violatedAt: ({ spec }) =>
      spec.observability?.logging?.structured === false ? 'spec.observability.logging.structured' : null,
    // Nothing of it can be observed from outside.
    evidence: PROOF,
    message: 'Logs are text that no machine can search by field.',
    recommendation: 'Log in a structured form and set spec.observability.logging.structured to true.',
    references: [],
  },
  {
    id: 'OBS-03',
    pack: 'observability',
    severity: 'medium',
    tier: 'X',
    passesWhen: 'observability.logging.redactFields names fields',
    violatedAt: ({ spec }) =>
      spec.observability?.logging?.redactFields?.length ? null : 'spec.observability.logging.redactFields',
    evidence: PROOF,
    message: 'Personal data and keys may reach the logs.',
    recommendation: 'Name the fields that never reach a log: spec.observability.logging.redactFields.',
    references: [OWASP.disclosure],
  },
];

/** What the manifest says of itself. */
export const METADATA_RULES: readonly Rule[] = [
  {
    id: 'META-01',
    pack: 'metadata-quality',
    severity: 'low',
    tier: 'D',
    passesWhen: 'metadata.description is not blank',
    violatedAt: ({ metadata }) => (metadata.description.trim() === '' ? 'metadata.description' : null),
    evidence: NONE,
    message: 'Nobody can tell from the manifest what the agent is for.',
    recommendation: 'Say in metadata.description what the agent does.',
    references: [],
  },
  {
    id: 'META-02',
    pack: 'metadata-quality',
    severity: 'medium',
    tier: 'D',
    passesWhen: `model.parameters.temperature is not set, or at most ${HIGHEST_TEMPERATURE}`,
    violatedAt: ({ spec }) =>
      (spec.model.parameters?.temperature ?? 0) > HIGHEST_TEMPERATURE
        ? 'spec.model.parameters.temperature'
        : null,
    evidence: NONE,
    message: 'The temperature makes answers a matter of chance.',
    recommendation: `Set spec.model.parameters.temperature to at most ${HIGHEST_TEMPERATURE}.`,
    references: [OWASP.misinformation],
  },
];
