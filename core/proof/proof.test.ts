import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/properties.ts';
import { PACKS } from '../audit/packs.ts';
import { RULE_IDS, RULES } from '../audit/rules.ts';
import { withExpiry } from './expiry.ts';
import { parseProofSubmission, proofRecordOf } from './parse-proof-submission.ts';
import type { ProofRecord } from './proof.ts';
import { mergeSentProofs, NO_PROOFS, putProof, removeProof, type ProofSet } from './proof-set.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const at = (minute: number): Date => new Date(NOW.getTime() + minute * 60_000);
const recordOf = (ruleId: string, minute: number, method = 'tested'): ProofRecord => ({
  ruleId,
  verifiedBy: 'security',
  method,
  verifiedAt: at(minute).toISOString(),
});

describe('the compliance rules', () => {
  test('are 27, each id once, in six packs', () => {
    expect(new Set(RULE_IDS).size).toBe(27);
    expect([...new Set(RULES.map((rule) => rule.pack))]).toEqual([...PACKS]);
  });

  test('have the known external ones', () => {
    const external = RULES.filter((rule) => rule.tier === 'X').map((rule) => rule.id);
    expect(external).toEqual([
      'SEC-LLM-04',
      'SEC-LLM-06',
      'SEC-LLM-07',
      'SEC-LLM-08',
      'MODEL-01',
      'MODEL-03',
      'MODEL-04',
      'MEM-01',
      'OBS-03',
    ]);
  });
});

describe('a proof submission', () => {
  const valid = { verifiedBy: 'k6', method: '429 after 60 requests' };
  test.each<[string, unknown, unknown]>([
    ['is read', valid, { ok: true, submission: valid }],
    [
      'has a time zone in its end',
      { ...valid, expiresAt: '2026-03-01T14:00:01+02:00', extra: 1 },
      { ok: true, submission: { ...valid, expiresAt: '2026-03-01T12:00:01.000Z' } },
    ],
    [
      'may have 2048 characters',
      { ...valid, method: 'x'.repeat(2048) },
      { ok: true, submission: { ...valid, method: 'x'.repeat(2048) } },
    ],
    [
      'is refused with everything that is wrong',
      { verifiedBy: '', method: 'x'.repeat(2049), expiresAt: 'tomorrow' },
      {
        ok: false,
        errors: [
          { path: 'verifiedBy', message: 'must not be empty' },
          { path: 'method', message: 'must have at most 2048 characters' },
          { path: 'expiresAt', message: 'must be an ISO 8601 time with a time zone' },
        ],
      },
    ],
    [
      'is refused when it has expired',
      { ...valid, expiresAt: NOW.toISOString() },
      { ok: false, errors: [{ path: 'expiresAt', message: 'must not be in the past' }] },
    ],
    [
      'is refused when it is nothing',
      null,
      { ok: false, errors: [{ path: '', message: 'must be an object' }] },
    ],
  ])('%s', (_name, value, expected) => {
    expect(parseProofSubmission(value, NOW)).toEqual(expected);
  });

  test('never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.record({ verifiedBy: fc.anything(), method: fc.string(), expiresAt: fc.string() }),
        ),
        (value) => {
          expect(typeof parseProofSubmission(value, NOW).ok).toBe('boolean');
        },
      ),
    );
  });

  test('becomes a record', () => {
    expect(proofRecordOf('EVAL-01', valid, NOW)).toEqual({
      ruleId: 'EVAL-01',
      ...valid,
      verifiedAt: NOW.toISOString(),
    });
  });
});

test('an elapsed proof stays listed and says so, a renewed one does not', () => {
  const old = { ...recordOf('A', 0), expiresAt: at(1).toISOString() };
  const open = { ...recordOf('B', 0), expired: true as const };
  expect(withExpiry([old, open], at(0))).toEqual([old, recordOf('B', 0)]);
  expect(withExpiry([old, open], at(1))).toEqual([{ ...old, expired: true }, recordOf('B', 0)]);
});

describe('a proof set', () => {
  test('has one record a rule, by rule id, and a tombstone for what was removed', () => {
    const two = putProof(putProof(NO_PROOFS, recordOf('B', 1)), recordOf('A', 2));
    expect(two).toEqual({ revision: 2, proofs: [recordOf('A', 2), recordOf('B', 1)], tombstones: [] });
    const replaced = putProof(two, { ...recordOf('A', 3, 'again'), expired: true });
    expect(replaced.proofs).toEqual([recordOf('A', 3, 'again'), recordOf('B', 1)]);
    const removed = removeProof(replaced, 'A', at(4));
    expect(removed).toEqual({
      revision: 4,
      proofs: [recordOf('B', 1)],
      tombstones: [{ ruleId: 'A', at: at(4).toISOString() }],
    });
    expect(removeProof(removed, 'A', at(5))).toBe(removed);
    expect(putProof(removed, recordOf('A', 6)).tombstones).toEqual([]);
  });
});

describe('what a heartbeat says of proofs', () => {
  const stored: ProofSet = removeProof(
    putProof(putProof(NO_PROOFS, recordOf('A', 1)), recordOf('B', 1)),
    'B',
    at(2),
  );
  const merged = (revision: number, ...proofs: ProofRecord[]): ProofSet =>
    mergeSentProofs(stored, { revision, proofs }, at(10));
  const kept = (set: ProofSet): string[] => set.proofs.map((proof) => `${proof.ruleId} ${proof.method}`);

  test.each<[string, number, ProofRecord[], string[]]>([
    ['the same changes nothing', 3, [recordOf('A', 1)], ['A tested']],
    ['an older record does not replace a newer one', 0, [recordOf('A', 0, 'older')], ['A tested']],
    ['a newer record does', 0, [recordOf('A', 3, 'newer')], ['A newer']],
    ['a record from before the removal stays removed', 2, [recordOf('A', 1), recordOf('B', 1)], ['A tested']],
    [
      'a record from after it comes back',
      2,
      [recordOf('A', 1), recordOf('B', 3, 'again')],
      ['A tested', 'B again'],
    ],
    ['a rule that is missing was removed by who knew it', 3, [], []],
    ['and is merely unknown to who is behind', 2, [], ['A tested']],
    ['a new rule is added', 3, [recordOf('A', 1), recordOf('C', 4)], ['A tested', 'C tested']],
  ])('%s', (_name, revision, proofs, expected) => {
    expect(kept(merged(revision, ...proofs))).toEqual(expected);
  });

  test('the revision moves past both sides when something changes, and not otherwise', () => {
    expect(merged(3, recordOf('A', 1))).toBe(stored);
    expect(merged(9, recordOf('A', 3, 'newer')).revision).toBe(10);
    expect(merged(0, recordOf('C', 3)).revision).toBe(4);
  });

  test('a record from the future counts as written now, and only once', () => {
    const once = merged(0, recordOf('A', 1_000, 'future'));
    expect(once.proofs).toEqual([recordOf('A', 10, 'future')]);
    expect(mergeSentProofs(once, { revision: 0, proofs: [recordOf('A', 1_000, 'future')] }, at(11))).toBe(
      once,
    );
  });

  test('merging twice is merging once', () => {
    const records = fc.uniqueArray(
      fc.record({
        ruleId: fc.constantFrom('A', 'B', 'C'),
        minute: fc.integer({ min: 0, max: 20 }),
        method: fc.constantFrom('x', 'y'),
      }),
      { selector: (record) => record.ruleId },
    );
    fc.assert(
      fc.property(records, fc.nat(5), (some, revision) => {
        const sent = {
          revision,
          proofs: some.map(({ ruleId, minute, method }) => recordOf(ruleId, minute, method)),
        };
        const once = mergeSentProofs(stored, sent, at(10));
        expect(mergeSentProofs(once, sent, at(10))).toBe(once);
      }),
    );
  });
});
