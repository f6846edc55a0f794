import { describe, expect, test } from '@jest/globals';
import { aManifest, NOON } from '../../testing/fleet/facts.ts';
import { audit } from '../audit/audit.ts';
import type { BoundTo, ProofRecord } from '../shapes/proof.ts';
import { countedProofs } from './counted-proofs.ts';
import { changedSince, judgedProof, literalModel, type InForce } from './stale-proofs.ts';

const hash = (letter: string): string => letter.repeat(64);
const BOUND: Required<BoundTo> = {
  manifest: hash('a'),
  model: 'gpt-4o',
  promptFile: hash('b'),
  lock: hash('c'),
};
const record = (boundTo?: BoundTo): ProofRecord => ({
  ...{ ruleId: 'EVAL-01', verifiedBy: 'ci', method: 'tested', verifiedAt: '2026-01-01T00:00:00.000Z' },
  origin: 'control-plane',
  ...(boundTo && { boundTo }),
});
const counts = (proof: ProofRecord): boolean =>
  countedProofs([proof], { writes: 'control-plane' }, NOON).length === 1;

describe('a proof that is bound to all values', () => {
  test('counts while they are in force', () => {
    expect(counts(judgedProof(record(BOUND), BOUND))).toBe(true);
  });

  test.each(Object.keys(BOUND) as (keyof BoundTo)[])('is stale as soon as %s alone differs', (member) => {
    for (const changed of ['other', null]) {
      const inForce: InForce = { ...BOUND, [member]: changed };
      expect(changedSince(BOUND, inForce)).toEqual([member]);
      const stale = judgedProof(record(BOUND), inForce);
      expect(stale).toEqual({ ...record(BOUND), state: 'stale' });
      expect(counts(stale)).toBe(false);
      // The old value returns.
      expect(judgedProof(stale, BOUND)).toEqual(record(BOUND));
    }
  });

  test.each(Object.keys(BOUND) as (keyof BoundTo)[])(
    'is compared with %s only if that is known',
    (member) => {
      expect(changedSince(BOUND, { ...BOUND, [member]: undefined })).toEqual([]);
      expect(changedSince({ [member]: BOUND[member] }, BOUND)).toEqual([]);
    },
  );
});

test('a proof that is bound to nothing is never stale', () => {
  const inForce = { manifest: null, model: null, promptFile: null, lock: null };
  expect(judgedProof(record(), inForce)).toEqual(record());
});

test('a stale proof does not count in the audit, which lists it', () => {
  const tested = (proof: ProofRecord) =>
    audit(aManifest({ evaluation: { datasets: [{ name: 'smoke', path: 'smoke.jsonl' }] } }), {
      evidence: {
        ...{ checks: [], guardrailsObserved: new Set<string>(), proofs: [proof] },
        trust: { writes: 'control-plane' },
      },
      at: NOON,
    });
  const stale = judgedProof(record(BOUND), { ...BOUND, model: 'gpt-5' });
  expect([tested(record(BOUND)).staleProofs, tested(stale).staleProofs]).toEqual([[], ['EVAL-01']]);
  expect(tested(stale).proved?.score).toBeLessThan(tested(record(BOUND)).proved?.score ?? 0);
  expect(tested({ ...stale, expiresAt: '2026-01-02T00:00:00.000Z' }).staleProofs).toEqual([]);
});

test('a reference to a model is not the id of a model', () => {
  expect([literalModel('gpt-4o'), literalModel('$env:MODEL'), literalModel(undefined)]).toEqual([
    'gpt-4o',
    undefined,
    undefined,
  ]);
});
