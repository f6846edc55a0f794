import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { PACKS, type ProofOrigin } from '../shapes/values.ts';
import { RULE_IDS, RULES } from '../audit/rules.ts';
import { withExpiry } from './proof-expiry.ts';
import { parseProofSubmission, proofRecordOf } from './parse-proof.ts';
import type { ProofWrites } from './proof.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import { countedProofs } from './counted-proofs.ts';
import { isInSync, mergeSentProofs, NO_PROOFS, putProof, removeProof, type ProofSet } from './proof-set.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const at = (minute: number): Date => new Date(NOW.getTime() + minute * 60_000);
const recordOf = (ruleId: string, minute: number, method = 'tested'): ProofRecord => ({
  ruleId,
  origin: 'local',
  verifiedBy: 'security',
  method,
  verifiedAt: at(minute).toISOString(),
});

describe('compliance rules', () => {
  test('are 27 rules with unique ids in six packs', () => {
    expect(new Set(RULE_IDS).size).toBe(27);
    expect([...new Set(RULES.map((rule) => rule.pack))]).toEqual([...PACKS]);
  });

  test('include the external rules of the contract', () => {
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

describe('proof submission', () => {
  const valid = { verifiedBy: 'k6', method: '429 after 60 requests' };
  test.each<[string, unknown, unknown]>([
    ['is accepted', valid, { ok: true, submission: valid }],
    [
      'may have a time zone in expiresAt',
      { ...valid, expiresAt: '2026-03-01T14:00:01+02:00', extra: 1 },
      { ok: true, submission: { ...valid, expiresAt: '2026-03-01T12:00:01.000Z' } },
    ],
    [
      'may have 2048 characters',
      { ...valid, method: 'x'.repeat(2048) },
      { ok: true, submission: { ...valid, method: 'x'.repeat(2048) } },
    ],
    [
      'is rejected with all errors',
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
      'is rejected when it has expired',
      { ...valid, expiresAt: NOW.toISOString() },
      { ok: false, errors: [{ path: 'expiresAt', message: 'must not be in the past' }] },
    ],
    [
      'is rejected when it is null',
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

  test('is converted to a record', () => {
    expect(proofRecordOf('EVAL-01', valid, { origin: 'control-plane', at: NOW })).toEqual({
      ruleId: 'EVAL-01',
      origin: 'control-plane',
      ...valid,
      verifiedAt: NOW.toISOString(),
    });
  });
});

test('withExpiry marks an expired proof, and removes the mark of an unexpired proof', () => {
  const old = { ...recordOf('A', 0), expiresAt: at(1).toISOString() };
  const open = { ...recordOf('B', 0), expired: true as const };
  expect(withExpiry([old, open], at(0))).toEqual([old, recordOf('B', 0)]);
  expect(withExpiry([old, open], at(1))).toEqual([{ ...old, expired: true }, recordOf('B', 0)]);
});

describe('proof set', () => {
  test('has one record per rule, sorted by rule id, and a tombstone per removed record', () => {
    const two = putProof(putProof(NO_PROOFS, recordOf('B', 1)), recordOf('A', 2));
    expect(two).toEqual({ revision: 2, proofs: [recordOf('A', 2), recordOf('B', 1)], tombstones: [] });
    const replaced = putProof(two, { ...recordOf('A', 3, 'again'), expired: true });
    expect(replaced.proofs).toEqual([recordOf('A', 3, 'again'), recordOf('B', 1)]);
    const removed = removeProof(replaced, 'A', { origin: 'local', at: at(4) });
    expect(removed).toEqual({
      revision: 4,
      proofs: [recordOf('B', 1)],
      tombstones: [{ ruleId: 'A', origin: 'local', at: at(4).toISOString() }],
    });
    expect(removeProof(removed, 'A', { origin: 'control-plane', at: at(5) })).toBe(removed);
    expect(putProof(removed, recordOf('A', 6)).tombstones).toEqual([]);
  });
});

describe('proofs in a heartbeat', () => {
  const stored: ProofSet = removeProof(
    putProof(putProof(NO_PROOFS, recordOf('A', 1)), recordOf('B', 1)),
    'B',
    { origin: 'local', at: at(2) },
  );
  const merged = (revision: number, ...proofs: ProofRecord[]): ProofSet =>
    mergeSentProofs(stored, { revision, proofs }, at(10));
  const kept = (set: ProofSet): string[] => set.proofs.map((proof) => `${proof.ruleId} ${proof.method}`);

  test.each<[string, number, ProofRecord[], string[]]>([
    ['the same record changes nothing', 3, [recordOf('A', 1)], ['A tested']],
    ['an older record does not replace a newer one', 0, [recordOf('A', 0, 'older')], ['A tested']],
    ['a newer record replaces an older one', 0, [recordOf('A', 3, 'newer')], ['A newer']],
    ['a record from before its removal stays removed', 2, [recordOf('A', 1), recordOf('B', 1)], ['A tested']],
    [
      'a record from after the removal is restored',
      2,
      [recordOf('A', 1), recordOf('B', 3, 'again')],
      ['A tested', 'B again'],
    ],
    ['a missing record is removed when the sender has the current revision', 3, [], []],
    ['a missing record stays when the sender has an older revision', 2, [], ['A tested']],
    ['a record of a new rule is added', 3, [recordOf('A', 1), recordOf('C', 4)], ['A tested', 'C tested']],
  ])('%s', (_name, revision, proofs, expected) => {
    expect(kept(merged(revision, ...proofs))).toEqual(expected);
  });

  test('the revision becomes higher than both revisions only when something changes', () => {
    expect(merged(3, recordOf('A', 1))).toBe(stored);
    expect(merged(9, recordOf('A', 3, 'newer')).revision).toBe(10);
    expect(merged(0, recordOf('C', 3)).revision).toBe(4);
  });

  test('a record from the future gets the current time, and is merged only once', () => {
    const once = merged(0, recordOf('A', 1_000, 'future'));
    expect(once.proofs).toEqual([recordOf('A', 10, 'future')]);
    expect(mergeSentProofs(once, { revision: 0, proofs: [recordOf('A', 1_000, 'future')] }, at(11))).toBe(
      once,
    );
  });

  test('merging is idempotent', () => {
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

describe('record of the control plane', () => {
  const by = (origin: ProofOrigin | undefined, minute: number, method = 'tested'): ProofRecord => {
    const { origin: _, ...record } = recordOf('A', minute, method);
    return origin === undefined ? record : { ...record, origin };
  };
  const adminSet = putProof(NO_PROOFS, by('control-plane', 1));
  const deleted = removeProof(adminSet, 'A', { origin: 'control-plane', at: at(2) });
  const deletedLocal = removeProof(putProof(NO_PROOFS, by('local', 1)), 'A', {
    origin: 'control-plane',
    at: at(2),
  });
  const older: ProofSet = { revision: 1, proofs: [by(undefined, 1)], tombstones: [] };
  const olderDeleted: ProofSet = {
    revision: 2,
    proofs: [],
    tombstones: [{ ruleId: 'A', at: at(2).toISOString() }],
  };

  test.each<[string, ProofSet, number, ProofRecord[]]>([
    ['is not changed by a newer local record', adminSet, 1, [by('local', 5, 'forged')]],
    ['is not changed by a record that claims its origin', adminSet, 1, [by('control-plane', 5, 'forged')]],
    ['is not changed by a record without origin', adminSet, 1, [by(undefined, 5, 'forged')]],
    ['is not changed by a record from the future', adminSet, 1, [by('local', 1_000, 'forged')]],
    ['is not removed by an empty list', adminSet, 1, []],
    ['is not removed by an empty list with another revision', adminSet, 7, []],
    ['is not restored after an admin removed it', deleted, 2, [by('local', 5)]],
    ['is not restored by a record that claims its origin', deleted, 2, [by('control-plane', 5)]],
    ['is not created', NO_PROOFS, 0, [by('control-plane', 5)]],
    ['is not restored after an admin removed it, even if it was local', deletedLocal, 2, [by('local', 5)]],
    ['without origin is not changed', older, 1, [by('local', 5, 'forged')]],
    ['without origin is not removed', older, 1, []],
    ['is not restored after a removal without origin', olderDeleted, 2, [by('local', 5)]],
  ])('%s', (_name, set, revision, proofs) => {
    expect(mergeSentProofs(set, { revision, proofs }, at(10))).toBe(set);
  });

  test('replaces a local record, and can be written again by an admin after removal', () => {
    const local = mergeSentProofs(NO_PROOFS, { revision: 0, proofs: [by(undefined, 1)] }, at(10));
    expect(local.proofs).toEqual([by('local', 1)]);
    expect(putProof(local, by('control-plane', 3)).proofs).toEqual([by('control-plane', 3)]);
    expect(putProof(deleted, by('control-plane', 3))).toMatchObject({
      proofs: [by('control-plane', 3)],
      tombstones: [],
    });
  });

  test('is not changed by any sequence of heartbeats', () => {
    const sent = fc.record({
      revision: fc.nat(9),
      proofs: fc.array(
        fc
          .tuple(fc.constantFrom('A', 'B'), fc.constantFrom('control-plane', 'local', undefined), fc.nat(30))
          .map(([ruleId, origin, minute]) => ({ ...by(origin, minute, 'forged'), ruleId })),
      ),
    });
    fc.assert(
      fc.property(fc.array(sent), fc.boolean(), (heartbeats, isDeleted) => {
        const start = isDeleted ? deleted : adminSet;
        const end = heartbeats.reduce((set, each) => mergeSentProofs(set, each, at(30)), start);
        expect(end.proofs.filter(({ ruleId }) => ruleId === 'A')).toEqual(start.proofs);
        expect(end.proofs.every(({ ruleId, origin }) => ruleId === 'A' || origin === 'local')).toBe(true);
        expect(end.tombstones.filter(({ ruleId }) => ruleId === 'A')).toEqual(start.tombstones);
      }),
    );
  });

  test.each<[string, number, ProofRecord[], boolean]>([
    ['the same record', 1, [by('control-plane', 1)], true],
    ['the same record without origin', 1, [by(undefined, 1)], true],
    ['a different revision', 0, [by('control-plane', 1)], false],
    ['no records', 1, [], false],
    ['an additional record', 1, [by('control-plane', 1), recordOf('B', 1)], false],
    ['a different text', 1, [by('control-plane', 1, 'forged')], false],
    ['a different time', 1, [by('control-plane', 2)], false],
    ['a different origin', 1, [by('local', 1)], false],
  ])('isInSync for a sender with %s', (_name, revision, proofs, expected) => {
    expect(isInSync(adminSet, { revision, proofs })).toBe(expected);
  });

  test.each<[ProofOrigin | undefined, ProofWrites, boolean, boolean]>([
    ['control-plane', 'control-plane', false, true],
    ['control-plane', 'local', false, true],
    ['local', 'local', false, true],
    ['local', 'control-plane', false, false],
    ['local', 'control-plane', true, true],
    [undefined, 'control-plane', false, true],
    [undefined, 'local', false, true],
  ])('origin %s, PROOF_WRITES=%s, acceptLocal %s: counts %s', (origin, writes, acceptLocal, counts) => {
    expect(countedProofs([by(origin, 1)], { writes, acceptLocal }, NOW)).toHaveLength(counts ? 1 : 0);
  });

  test('is listed before a local record, and never after it has expired', () => {
    const expired = { ...by('control-plane', 1), expiresAt: NOW.toISOString() };
    const counted = countedProofs(
      [by('local', 1), by(undefined, 1), by('control-plane', 2), expired],
      { writes: 'local' },
      NOW,
    );
    expect(counted.map(({ origin }) => origin)).toEqual(['control-plane', undefined, 'local']);
  });
});
