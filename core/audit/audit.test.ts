import { describe, expect, test } from '@jest/globals';
import type { CheckStatus } from '../facts/check.ts';
import type { Check } from '../shapes/health.ts';
import { aManifest } from '../../testing/fleet/facts.ts';
import { FULL_MANIFEST } from '../../testing/manifests/manifest-text.ts';
import fc from '../../testing/random/properties.ts';
import { parseManifest } from '../manifest/parse-manifest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import { audit, type AuditResult } from './audit.ts';
import type { Evidence } from './earned.ts';
import { fixesOf } from './fixes.ts';
import { PACKS, type Pack } from '../shapes/values.ts';
import { RULE_IDS, RULES } from './rules.ts';

const AT = new Date('2026-03-01T12:00:00.000Z');
const NO_EVIDENCE: Evidence = {
  checks: [],
  guardrailsObserved: new Set(),
  proofs: [],
  trust: { writes: 'local' },
};
const manifestOf = (spec: object): Manifest => aManifest(spec);
const MODEL = { provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY' };
const MINIMAL = manifestOf({ model: MODEL, prompts: { system: '$file:prompt.md' } });

function full(): Manifest {
  const parsed = parseManifest(FULL_MANIFEST);
  if (!parsed.ok) throw new Error('the full manifest is not valid');
  return parsed.manifest;
}

const checkOf = (id: string, status: CheckStatus = 'pass'): Check => ({
  id,
  category: id.slice(0, id.indexOf(':')) as Check['category'],
  status,
  severity: 'warning',
});
const proofOf = (ruleId: string, expiresAt?: string): ProofRecord => ({
  ruleId,
  verifiedBy: 'security',
  method: 'tested',
  verifiedAt: '2026-02-01T00:00:00.000Z',
  ...(expiresAt === undefined ? {} : { expiresAt }),
});
const audited = (manifest: Manifest, evidence: Partial<Evidence> = {}, packs?: Pack[]): AuditResult =>
  audit(manifest, { evidence: { ...NO_EVIDENCE, ...evidence }, at: AT, ...(packs && { packs }) });
const earnedOf = (result: AuditResult, id: string): unknown => {
  const verdict = result.results.find(({ rule }) => rule.id === id);
  return verdict?.passed === true ? verdict.earned : 'violated';
};

describe('declared score', () => {
  test('is 58 D for a minimal manifest, with 11 of 27 rules violated', () => {
    const { declared, proved, results, pendingProofs } = audit(MINIMAL, { evidence: null, at: AT });
    expect({ declared, proved }).toEqual({ declared: { score: 58, grade: 'D' }, proved: null });
    expect(results).toHaveLength(27);
    expect(results.flatMap((each) => (each.passed ? [] : [each.rule.id]))).toEqual([
      'SEC-LLM-01',
      'SEC-LLM-02',
      'SEC-LLM-04',
      'SEC-LLM-09',
      'MODEL-01',
      'MODEL-03',
      'EVAL-01',
      'EVAL-02',
      'EVAL-03',
      'OBS-01',
      'OBS-03',
    ]);
    expect(pendingProofs).toEqual(['SEC-LLM-06', 'SEC-LLM-07', 'SEC-LLM-08', 'MODEL-04', 'MEM-01']);
  });

  test.each<[Pack[], number]>([
    [['metadata-quality'], 100],
    [['observability'], 20],
    [['evaluation-coverage'], 0],
    [['model-resilience', 'memory-hygiene'], 75],
  ])('counts only the rules of %j: %d', (packs, score) => {
    const result = audited(MINIMAL, {}, packs);
    expect(result.declared.score).toBe(score);
    expect(result.packs).toEqual(packs);
    expect(result.results.every(({ rule }) => packs.includes(rule.pack))).toBe(true);
  });

  test('uses the packs of the manifest when the options name none, and all packs when the manifest names none', () => {
    expect(audited(full()).packs).toEqual(['owasp-llm-top10', 'model-resilience']);
    expect(audited(full(), {}, ['observability']).packs).toEqual(['observability']);
    expect(audited(manifestOf({ compliance: { packs: [] } })).packs).toEqual([...PACKS]);
    expect(audited(MINIMAL, {}, ['observability', 'owasp-llm-top10', 'observability']).packs).toEqual([
      'owasp-llm-top10',
      'observability',
    ]);
  });
});

describe('suppression', () => {
  const suppressed = (suppression: object, packs?: Pack[]): AuditResult =>
    audited(
      manifestOf({ compliance: { suppressions: [{ rule: 'OBS-03', reason: 'no logs', ...suppression }] } }),
      {},
      packs,
    );

  test.each<[string, object, string, number]>([
    ['without expires removes the rule from the denominator', {}, 'active', 26],
    ['is active until the end of its day', { expires: '2026-03-01' }, 'active', 26],
    ['with the date of yesterday has expired', { expires: '2026-02-28' }, 'expired', 27],
    ['is active until its time', { expires: '2026-03-01T13:00:00+00:30' }, 'active', 26],
    ['has expired at exactly its time', { expires: '2026-03-01T12:00:00Z' }, 'expired', 27],
    ['with an unreadable expires has no effect', { expires: '$env:END' }, 'unreadable', 27],
    ['of a rule that the manifest satisfies is unused', { rule: 'OBS-02' }, 'unused', 26],
    ['of an unknown rule has no effect', { rule: 'OBS-99' }, 'unknown', 27],
  ])('%s', (_name, suppression, state, counted) => {
    const { suppressions, results } = suppressed(suppression);
    expect(suppressions).toEqual([{ rule: 'OBS-03', reason: 'no logs', ...suppression, state }]);
    expect(results).toHaveLength(counted);
  });

  test('has state outside when the pack of its rule is not audited', () => {
    expect(suppressed({}, ['metadata-quality']).suppressions).toMatchObject([{ state: 'outside' }]);
  });

  test('raises the score when the rule is violated, and lowers it when the rule passes', () => {
    // 1 of 5 points passes; without the violated OBS-03 1 of 3; without the passing OBS-02 0 of 4.
    const score = (rule: string): number => suppressed({ rule }, ['observability']).declared.score;
    expect([score('none'), score('OBS-03'), score('OBS-02')]).toEqual([20, 33, 0]);
  });

  test('of every rule leaves declared score 100 and proved score 0', () => {
    const suppressions = RULE_IDS.map((rule) => ({ rule, reason: 'all' }));
    const { declared, proved } = audited(manifestOf({ compliance: { suppressions } }));
    expect([declared, proved]).toEqual([
      { score: 100, grade: 'A' },
      { score: 0, grade: 'F' },
    ]);
  });
});

describe('earned tier', () => {
  const agent = manifestOf({
    model: { ...MODEL, apiKey: '$secret:key' },
    prompts: { system: '$file:prompt.md' },
    guardrails: {
      input: [{ type: 'topic-filter' }, { type: 'pii-detector' }],
      output: [{ type: 'toxicity-filter' }],
    },
    memory: {
      backend: 'redis',
      shortTerm: { ttlSeconds: 60, maxTokens: 100 },
      vector: { backend: 'pgvector', namespace: 'shop' },
    },
    evaluation: { framework: 'deepeval', ciGate: true, datasets: [{ name: 'a', path: 'a.jsonl' }] },
    observability: { tracing: { backend: 'otel', endpoint: 'http://traces:4318' } },
  });
  const memory = ['memory:backend', 'memory:shortTerm', 'memory:vector'];
  const checks = (...ids: string[]): Partial<Evidence> => ({ checks: ids.map((id) => checkOf(id)) });
  const seen = (...types: string[]): Partial<Evidence> => ({ guardrailsObserved: new Set(types) });
  const proved = (...ids: string[]): Partial<Evidence> => ({ proofs: ids.map((id) => proofOf(id)) });

  test.each<[string, string, Partial<Evidence>, string]>([
    ['SEC-LLM-01', 'the guardrail was observed', seen('topic-filter'), 'B'],
    ['SEC-LLM-01', 'only other guardrails were observed', seen('pii-detector', 'prompt-injection'), 'D'],
    ['SEC-LLM-02', 'an output guardrail was observed', seen('toxicity-filter'), 'B'],
    ['SEC-LLM-02', 'only an input guardrail was observed', seen('pii-detector'), 'D'],
    ['SEC-LLM-02', 'there is a proof', proved('SEC-LLM-02'), 'X'],
    ['SEC-LLM-03', 'the file check passes', checks('file:prompt.md'), 'P'],
    ['SEC-LLM-03', 'only the check of another file passes', checks('file:other.md'), 'D'],
    [
      'SEC-LLM-03',
      'the check of another file fails',
      { checks: [checkOf('file:prompt.md'), checkOf('file:b', 'fail')] },
      'D',
    ],
    ['SEC-LLM-03', 'the file check was skipped', { checks: [checkOf('file:prompt.md', 'skip')] }, 'D'],
    ['SEC-LLM-05', 'the model check passes', checks('model:openai/gpt-5'), 'P'],
    ['SEC-LLM-05', 'only the check of another model passes', checks('model:openai/gpt-4'), 'D'],
    [
      'MODEL-02',
      'the check of the fallback fails',
      { checks: [checkOf('model:openai/gpt-5'), checkOf('model:x/y', 'fail')] },
      'D',
    ],
    ['SEC-LLM-10', 'the secret check passes', checks('secret:key'), 'P'],
    ['SEC-LLM-10', 'the secret check fails', { checks: [checkOf('secret:key', 'fail')] }, 'D'],
    [
      'SEC-LLM-10',
      'a check of a variable fails, and the key is a secret',
      { checks: [checkOf('secret:key'), checkOf('env:A', 'fail')] },
      'P',
    ],
    ['MEM-02', 'the checks of all memories pass', checks(...memory), 'P'],
    ['MEM-02', 'some memories have no check', checks('memory:backend'), 'D'],
    [
      'MEM-04',
      'the check of one memory fails',
      { checks: [...memory.map((id) => checkOf(id)), checkOf('memory:vector', 'fail')] },
      'D',
    ],
    ['SEC-LLM-09', 'an evaluation was submitted', proved('EVAL-01'), 'X'],
    ['SEC-LLM-09', 'there is a proof of the rule itself', proved('SEC-LLM-09'), 'X'],
    ['SEC-LLM-09', 'there is only a proof of another rule', proved('EVAL-02'), 'D'],
    ['EVAL-01', 'an evaluation was submitted', proved('EVAL-01'), 'X'],
    ['OBS-01', 'the tracing check passes', checks('tracing:otel'), 'P'],
    ['OBS-02', 'there is a proof, because nothing can be observed', proved('OBS-02'), 'X'],
    ['SEC-LLM-08', 'there is a proof', proved('SEC-LLM-08'), 'X'],
    ['SEC-LLM-08', 'there is only a proof of another rule', proved('SEC-LLM-07'), 'D'],
    ['SEC-LLM-08', 'the proof has expired', { proofs: [proofOf('SEC-LLM-08', AT.toISOString())] }, 'D'],
    ['META-01', 'there is a proof, which does not count for tier D', proved('META-01'), 'D'],
    ['MODEL-01', 'there is a proof but no declaration', proved('MODEL-01'), 'violated'],
  ])('of %s when %s', (id, _when, evidence, expected) => {
    expect(earnedOf(audited(agent, evidence), id)).toBe(expected);
  });

  test('of MEM-02 without a declared memory comes only from a proof', () => {
    expect(earnedOf(audited(MINIMAL, checks('memory:backend')), 'MEM-02')).toBe('D');
    expect(earnedOf(audited(MINIMAL, proved('MEM-02')), 'MEM-02')).toBe('X');
  });

  test('prefers a check to a proof', () => {
    const both = { ...checks('model:openai/gpt-5'), ...proved('MODEL-02') };
    expect(earnedOf(audited(agent, both), 'MODEL-02')).toBe('P');
  });

  test('is D only for the metadata rules when all evidence exists', () => {
    const everything: Evidence = {
      checks: ['model:openai/gpt-5', 'secret:key', 'file:prompt.md', 'tracing:otel', ...memory].map((id) =>
        checkOf(id),
      ),
      guardrailsObserved: new Set(['topic-filter', 'toxicity-filter']),
      proofs: RULE_IDS.map((id) => proofOf(id)),
      trust: { writes: 'local' },
    };
    const result = audited(agent, everything);
    expect(
      result.results.flatMap((each) => (each.passed && each.earned === 'D' ? [each.rule.id] : [])),
    ).toEqual(['META-01', 'META-02']);
    expect(result.pendingProofs).toEqual([]);
  });
});

describe('origin of a proof', () => {
  const agent = manifestOf({ model: MODEL, tools: [] });
  const origin = (value: ProofRecord['origin']): ProofRecord =>
    value === undefined ? proofOf('SEC-LLM-07') : { ...proofOf('SEC-LLM-07'), origin: value };

  test.each<[ProofRecord['origin'], Evidence['trust'], unknown]>([
    ['control-plane', { writes: 'control-plane' }, { earned: 'X', origin: 'control-plane' }],
    ['control-plane', { writes: 'local' }, { earned: 'X', origin: 'control-plane' }],
    ['local', { writes: 'local' }, { earned: 'X', origin: 'local' }],
    ['local', { writes: 'control-plane' }, { earned: 'D' }],
    ['local', { writes: 'control-plane', acceptLocal: true }, { earned: 'X', origin: 'local' }],
    [undefined, { writes: 'control-plane' }, { earned: 'X', origin: null }],
    [undefined, { writes: 'local' }, { earned: 'X', origin: null }],
  ])('%s with trust %j', (value, trust, expected) => {
    const result = audited(agent, { proofs: [origin(value)], trust });
    const verdict = result.results.find(({ rule }) => rule.id === 'SEC-LLM-07');
    expect(verdict).toEqual({ rule: expect.anything(), passed: true, ...(expected as object) });
    expect(result.uncountedProofs).toEqual(
      (expected as { earned: string }).earned === 'D' ? ['SEC-LLM-07'] : [],
    );
  });

  test('27 local proofs leave the score at 0 when the sidecar does not accept local proofs', () => {
    const proofs = RULE_IDS.map((id): ProofRecord => ({ ...proofOf(id), origin: 'local' }));
    const result = audited(MINIMAL, { proofs, trust: { writes: 'control-plane' } });
    expect(result.proved).toEqual({ score: 0, grade: 'F' });
    expect(result.uncountedProofs).toEqual([...RULE_IDS]);
  });
});

describe('fixes', () => {
  const fixesIn = (spec: object, packs: Pack[] = []) => {
    const manifest = manifestOf(spec);
    return fixesOf(manifest, audit(manifest, { evidence: null, at: AT, packs }));
  };

  test('the five that gain most, with the score after each', () => {
    expect(fixesIn({ model: MODEL }).map(({ ruleIds, path, score }) => [score, path, ...ruleIds])).toEqual([
      [62, 'spec.evaluation.framework', 'SEC-LLM-09', 'EVAL-02'],
      [68, 'spec.model.costControls.maxMonthlyUSD', 'SEC-LLM-04', 'MODEL-03'],
      [73, 'spec.guardrails.input', 'SEC-LLM-01'],
      [78, 'spec.guardrails.output', 'SEC-LLM-02'],
      [83, 'spec.model.fallback', 'MODEL-01'],
    ]);
  });

  test('are made in the manifest: one value can be enough for several rules, and every item of a list is changed', () => {
    const tools = [{ name: 'a' }, { name: 'b', annotations: { readOnlyHint: true } }];
    expect(fixesIn({ model: MODEL, tools }, ['owasp-llm-top10'])[0]).toEqual({
      ruleIds: ['SEC-LLM-07', 'SEC-LLM-08'],
      path: 'spec.tools[0].annotations',
      recommendation: 'Add annotations to every tool, such as readOnlyHint and destructiveHint.',
      ...{ score: 54, grade: 'D' },
    });
  });

  test('are none without a violated rule', () => {
    expect(fixesIn({ model: MODEL }, ['metadata-quality'])).toEqual([]);
  });
});

describe('properties', () => {
  const maybe = <T>(value: T): fc.Arbitrary<T | undefined> =>
    fc.option(fc.constant(value), { nil: undefined });
  const manifest = fc
    .record({
      model: fc.constant(MODEL),
      prompts: maybe({ system: '$file:prompt.md' }),
      guardrails: maybe({ input: [{ type: 'prompt-injection' }], output: [{ type: 'custom' }] }),
      tools: fc.array(
        fc.record({
          name: fc.string(),
          annotations: maybe({ destructiveHint: true }),
        }),
        { maxLength: 3 },
      ),
      memory: maybe({ backend: 'redis', shortTerm: { ttlSeconds: 5 }, longTerm: { backend: 'postgres' } }),
      evaluation: maybe({ datasets: [{ name: 'a', path: 'a' }], ciGate: true }),
      observability: maybe({ tracing: { backend: 'otel', endpoint: 'http://a:1' } }),
      compliance: fc.record({
        packs: fc.subarray([...PACKS]),
        suppressions: fc.array(
          fc.record({
            rule: fc.constantFrom(...RULE_IDS, 'other'),
            reason: fc.string(),
            expires: fc.constantFrom('2026-01-01', '2027-01-01'),
          }),
          { maxLength: 30 },
        ),
      }),
    })
    .map((spec) => manifestOf(JSON.parse(JSON.stringify(spec)) as object));
  const CHECK_IDS = [
    'model:openai/gpt-5',
    'file:prompt.md',
    'memory:backend',
    'memory:shortTerm',
    'memory:longTerm',
    'tracing:otel',
  ];
  const evidence: fc.Arbitrary<Evidence> = fc.record({
    checks: fc.array(
      fc
        .tuple(fc.constantFrom(...CHECK_IDS), fc.constantFrom<CheckStatus>('pass', 'pass', 'fail', 'skip'))
        .map(([id, status]) => checkOf(id, status)),
    ),
    guardrailsObserved: fc.subarray(['prompt-injection', 'custom']).map((types) => new Set(types)),
    proofs: fc.array(
      fc
        .tuple(fc.constantFrom(...RULE_IDS), fc.constantFrom('2026-02-28T00:00:00Z', '2026-03-02T00:00:00Z'))
        .map(([id, expiresAt]) => proofOf(id, expiresAt)),
    ),
    trust: fc.constant({ writes: 'local' as const }),
  });

  test('the proved score is never above the declared score, and both are integers 0..100', () => {
    fc.assert(
      fc.property(manifest, evidence, (declared, shown) => {
        const result = audited(declared, shown);
        const scores = [result.proved?.score ?? Number.NaN, result.declared.score];
        expect(scores.every((score) => Number.isInteger(score) && score >= 0 && score <= 100)).toBe(true);
        expect(scores[0]).toBeLessThanOrEqual(scores[1] ?? Number.NaN);
      }),
    );
  });

  test('a proof of a passing rule raises only the proved score; an expired proof changes nothing', () => {
    fc.assert(
      fc.property(manifest, fc.constantFrom(...RULES), (declared, rule) => {
        const before = audited(declared);
        const passes = before.results.some(
          (each) => each.passed && each.rule.id === rule.id && rule.evidence.kind !== 'none',
        );
        const after = audited(declared, { proofs: [proofOf(rule.id, '2026-03-02T00:00:00Z')] });
        const expired = audited(declared, { proofs: [proofOf(rule.id, '2026-02-28T00:00:00Z')] });
        expect(after.declared).toEqual(before.declared);
        // A proof of EVAL-01 also counts for other rules.
        if (passes) expect(after.proved?.score).toBeGreaterThan(before.proved?.score ?? 100);
        else if (rule.id !== 'EVAL-01') expect(after).toEqual(before);
        expect(expired).toEqual(before);
      }),
    );
  });
});
