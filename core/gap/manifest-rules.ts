import { isValid } from '../evidence/proof-expiry.ts';
import { gapRules } from './finding.ts';

/** The only gap property that a proof of the agent removes, and the rule of that proof. */
export const EVALUATED = 'evaluated';
export const EVALUATED_PROOF = 'EVAL-01';

/** Rows about the manifest itself. */
export const MANIFEST_RULES = gapRules({
  'manifest.invalid': {
    title: 'The manifest file is invalid',
    recommendation: 'Fix the manifest. `platform validate` lists every problem with its line.',
    when: { high: 'the changed manifest file is not valid; the previous valid version stays in effect' },
    find: ({ facts }) =>
      facts.manifestInvalid === null
        ? null
        : {
            severity: 'high',
            description: `The manifest file is not valid, so the previous valid version stays in effect: ${facts.manifestInvalid}`,
            field: '',
            declared: 'a valid manifest',
            observed: facts.manifestInvalid,
            evidenceLevel: 'declared',
          },
  },
  auditable: {
    title: 'No guardrails declared',
    recommendation:
      'Declare the guardrails of the agent in spec.guardrails.input and spec.guardrails.output.',
    when: { medium: 'no guardrail is declared' },
    find: ({ manifest }) => {
      const { input = [], output = [] } = manifest.spec.guardrails ?? {};
      if (input.length + output.length > 0) return null;
      return {
        severity: 'medium',
        description: 'The manifest declares no guardrails, so the use of guardrails cannot be audited.',
        field: 'spec.guardrails',
        declared: 'none',
        evidenceLevel: 'declared',
      };
    },
  },
  [EVALUATED]: {
    title: 'Evaluation not proved',
    recommendation:
      'Run a dataset against the agent and submit the result as a proof of EVAL-01 (POST /proof/rule/EVAL-01).',
    when: { low: 'evaluation datasets are declared, and no unexpired proof of EVAL-01 exists' },
    find: ({ manifest, facts }) => {
      const datasets = manifest.spec.evaluation?.datasets ?? [];
      const proved = facts.proofs.some(
        (proof) => proof.ruleId === EVALUATED_PROOF && isValid(proof, facts.at),
      );
      if (datasets.length === 0 || proved) return null;
      return {
        severity: 'low',
        description:
          'Evaluation datasets are declared, but there is no valid proof that they were run (EVAL-01).',
        field: 'spec.evaluation.datasets',
        declared: datasets.map((dataset) => dataset.name).join(', '),
        evidenceLevel: 'declared',
      };
    },
  },
  'agent.name-mismatch': {
    title: 'Agent name differs from the manifest',
    recommendation: 'Set metadata.name and the annotation platform.io/agent-name to the same value.',
    when: { low: 'the agent name of the pod differs from `metadata.name`' },
    find: ({ manifest, facts }) => {
      const { podAgentName } = facts;
      const { name } = manifest.metadata;
      if (podAgentName === null || podAgentName === name) return null;
      return {
        severity: 'low',
        description: `The pod runs as agent ${podAgentName}, but its manifest belongs to agent ${name}.`,
        field: 'metadata.name',
        declared: name,
        observed: podAgentName,
      };
    },
  },
});
