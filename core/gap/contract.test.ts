import { describe, expect, test } from '@jest/globals';
import type { CheckStatus } from '../facts/check.ts';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import fc from '../../testing/random/properties.ts';
import type { Facts, HttpResult } from '../facts/facts.ts';
import { assess } from './assess.ts';

/** The contract's statements about the score. Test names quote the contract. */

const PII = { guardrails: { input: [{ type: 'pii-detector' as const }] } };
const MODEL = 'model:openai/gpt-4o';
const NO_RESPONSE: HttpResult = { answered: false, reason: 'connection refused' };

const verdict = (spec: object, facts: Partial<Facts>): [number, string, string[]] => {
  const { score, grade, issues } = assess(aManifest(spec), someFacts(facts));
  return [score, grade, issues.map(({ severity, property }) => `${severity} ${property}`)];
};

describe('Scoring (manifest-static)', () => {
  test.each<[string, Partial<Facts>, number, string, string[]]>([
    ['the score starts at 100', {}, 100, 'A', []],
    [
      '20 points are deducted for healthcheckable: GET /health gets no response',
      { health: NO_RESPONSE },
      80,
      'B',
      ['high healthcheckable'],
    ],
    [
      '10 for discoverable: GET /capabilities gets no response',
      { capabilities: NO_RESPONSE },
      90,
      'A',
      ['medium discoverable'],
    ],
    [
      'Maximum score without those endpoints is 70 (grade C)',
      { health: NO_RESPONSE, capabilities: NO_RESPONSE },
      70,
      'C',
      ['high healthcheckable', 'medium discoverable'],
    ],
  ])('%s', (_statement, facts, ...expected) => {
    expect(verdict(PII, facts)).toEqual(expected);
  });

  const someResult = fc.option(
    fc.oneof(
      fc.constant(NO_RESPONSE),
      fc
        .integer({ min: 100, max: 599 })
        .map((status): HttpResult => ({ answered: true, status, latencyMs: 1 })),
    ),
  );
  const someSpec = fc.record(
    {
      guardrails: fc.constant(PII.guardrails),
      evaluation: fc.constant({ datasets: [{ name: 'golden', path: 'golden.jsonl' }] }),
      tools: fc.uniqueArray(
        fc.integer({ min: 1, max: 30 }).map((index) => ({ name: `t${index}` })),
        { selector: ({ name }) => name },
      ),
      requires: fc.constant({ envVars: ['DB'], services: [{ name: 'db', address: 'db:1' }] }),
    },
    { requiredKeys: [] },
  );

  test('Grade F is reachable only in agent-sdk mode', () => {
    fc.assert(
      fc.property(someSpec, someResult, someResult, fc.boolean(), (spec, health, capabilities, isInvalid) => {
        const invalidReport = isInvalid ? { field: 'status', reason: 'must be a string' } : null;
        const listed = capabilities === null ? null : { ...capabilities, tools: [] };
        const [score, grade] = verdict(spec, { health, capabilities: listed, invalidReport });
        expect([score >= 45, grade === 'F']).toEqual([true, false]);
      }),
    );
    const checks = [
      { id: MODEL, status: 'fail', category: 'model', severity: 'error' } as const,
      { id: 'env:DB', status: 'fail', category: 'env', severity: 'error' } as const,
      { id: 'service:db', status: 'fail', category: 'service', severity: 'warning' } as const,
    ];
    expect(verdict({}, { agentReport: { checks } }).slice(0, 2)).toEqual([20, 'F']);
  });

  test('Manifest-static score ceiling: 70 for any manifest, without those endpoints', () => {
    fc.assert(
      fc.property(someSpec, (spec) => {
        expect(verdict(spec, { health: NO_RESPONSE, capabilities: NO_RESPONSE })[0]).toBeLessThanOrEqual(70);
      }),
    );
  });
});

describe('Model check to issue mapping (agent-sdk mode)', () => {
  test.each<[CheckStatus, string, string[]]>([
    ['fail', 'severity critical (key set, endpoint unreachable)', ['critical model.apiKey']],
    ['skip', 'high (key variable unset)', ['high model.apiKey']],
    ['pass', 'no issue', []],
  ])('%s gives %s', (status, _statement, issues) => {
    const checks = [{ id: MODEL, status, category: 'model', severity: 'error' } as const];
    expect(verdict(PII, { agentReport: { checks } })[2]).toEqual(issues);
  });
});

test('Agents graded D or F have a non-empty issues array; every issue has property, severity and a description', () => {
  const { grade, issues } = assess(
    aManifest({ evaluation: { datasets: [{ name: 'golden', path: 'golden.jsonl' }] } }),
    someFacts({ health: NO_RESPONSE, capabilities: NO_RESPONSE }),
  );
  expect([grade, issues.length]).toEqual(['D', 4]);
  for (const issue of issues)
    expect(issue).toEqual({
      property: expect.stringMatching(/./),
      severity: expect.stringMatching(/^(critical|high|medium|low)$/),
      description: expect.stringMatching(/./),
      recommendation: expect.stringMatching(/./),
    });
});
