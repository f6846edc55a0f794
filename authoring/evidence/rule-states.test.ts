import { expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import type { Evidence } from '../../core/audit/earned.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import { ruleStates } from './rule-states.ts';

const AT = new Date('2026-03-01T12:00:00.000Z');
const PROOF: ProofRecord = {
  ruleId: 'SEC-LLM-04',
  verifiedBy: 'k6',
  method: '429 after 100 requests',
  verifiedAt: '2026-02-01T00:00:00.000Z',
  origin: 'control-plane',
};
const EVIDENCE: Evidence = {
  checks: [],
  guardrailsObserved: new Set(['prompt-injection']),
  proofs: [PROOF],
  trust: { writes: 'control-plane' },
};

const MANIFEST = aManifest({
  model: { provider: 'openai', id: 'gpt-4o', apiKey: 'a literal', parameters: { temperature: 1.9 } },
  api: { rateLimit: { requestsPerMinute: 100 } },
  guardrails: { input: [{ type: 'prompt-injection' }] },
  prompts: { system: '$file:prompt.md' },
  compliance: { suppressions: [{ rule: 'META-01', reason: 'has no purpose yet' }] },
});

test('a rule is shown, declared, not declared, contradicted or suppressed', () => {
  const states = ruleStates({ manifest: MANIFEST, evidence: EVIDENCE, reported: null, at: AT });
  const stateOf = (rule: string) => states.get(rule);
  expect(stateOf('SEC-LLM-01')).toEqual({ state: 'shown', detail: 'requests show it' });
  expect(stateOf('SEC-LLM-04')).toEqual({ state: 'shown', detail: 'an unexpired proof was submitted' });
  expect(stateOf('SEC-LLM-03')).toEqual({ state: 'declared', detail: 'the manifest declares it' });
  expect(stateOf('MODEL-01')).toMatchObject({ state: 'not declared' });
  expect(stateOf('SEC-LLM-10')).toMatchObject({
    state: 'contradicted',
    detail: expect.stringMatching(/\(spec\.model\.apiKey\)$/),
  });
  expect(stateOf('META-01')).toEqual({ state: 'suppressed', detail: 'has no purpose yet' });
  expect(JSON.stringify([...states])).not.toContain('a literal');
});

test('without a manifest a rule is known only if a report has it or a proof shows it', () => {
  const reported = { declared: 50, proved: 0, failed: ['MODEL-01'], suppressions: [] };
  const of = (inputs: object) =>
    ruleStates({ manifest: null, evidence: EVIDENCE, reported: null, at: AT, ...inputs });
  expect([...of({ reported })].map(([rule, { state }]) => `${rule} ${state}`)).toEqual([
    'SEC-LLM-04 shown',
    'MODEL-01 not declared',
  ]);
  expect(of({})).toEqual(new Map());
});
