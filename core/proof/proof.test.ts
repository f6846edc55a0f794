import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/properties.ts';
import { PACKS } from '../audit/packs.ts';
import { RULE_IDS, RULES } from '../audit/rules.ts';
import { withExpiry } from './expiry.ts';
import { parseProofSubmission, proofRecordOf } from './parse-proof-submission.ts';
import type { ProofOrigin, ProofRecord, ProofWrites } from './proof.ts';
import { countedProofs } from './counted.ts';
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
    expect(proofRecordOf('EVAL-01', valid, { origin: 'control-plane', at: NOW })).toEqual({
      ruleId: 'EVAL-01',
      origin: 'control-plane',
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

describe('what a heartbeat says of proofs', () => {
  const stored: ProofSet = removeProof(
    putProof(putProof(NO_PROOFS, recordOf('A', 1)), recordOf('B', 1)),
    'B',
    { origin: 'local', at: at(2) },
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

describe('a record of the control plane', () => {
  const by = (origin: ProofOrigin | undefined, minute: number, method = 'tested'): ProofRecord => {
    const { origin: _, ...record } = recordOf('A', minute, method);
    return origin === undefined ? record : { ...record, origin };
  };
  const admins = putProof(NO_PROOFS, by('control-plane', 1));
  const deleted = removeProof(admins, 'A', { origin: 'control-plane', at: at(2) });
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
    ['is not changed by a newer local record', admins, 1, [by('local', 5, 'forged')]],
    ['is not changed by a record that claims its origin', admins, 1, [by('control-plane', 5, 'forged')]],
    ['is not changed by a record without origin', admins, 1, [by(undefined, 5, 'forged')]],
    ['is not changed by a record from the future', admins, 1, [by('local', 1_000, 'forged')]],
    ['is not removed by an empty list', admins, 1, []],
    ['is not removed by an empty list with another revision', admins, 7, []],
    ['is not restored once an admin removed it', deleted, 2, [by('local', 5)]],
    ['is not restored by a record that claims its origin', deleted, 2, [by('control-plane', 5)]],
    ['is not created', NO_PROOFS, 0, [by('control-plane', 5)]],
    ['that an admin removed stays removed, though it was local', deletedLocal, 2, [by('local', 5)]],
    ['of a version without origins is not changed', older, 1, [by('local', 5, 'forged')]],
    ['of a version without origins is not removed', older, 1, []],
    ['that a version without origins removed is not restored', olderDeleted, 2, [by('local', 5)]],
  ])('%s', (_name, set, revision, proofs) => {
    expect(mergeSentProofs(set, { revision, proofs }, at(10))).toBe(set);
  });

  test('takes the place of a local one, and exists again when an admin writes it again', () => {
    const local = mergeSentProofs(NO_PROOFS, { revision: 0, proofs: [by(undefined, 1)] }, at(10));
    expect(local.proofs).toEqual([by('local', 1)]);
    expect(putProof(local, by('control-plane', 3)).proofs).toEqual([by('control-plane', 3)]);
    expect(putProof(deleted, by('control-plane', 3))).toMatchObject({
      proofs: [by('control-plane', 3)],
      tombstones: [],
    });
  });

  test('keeps what any heartbeat sends apart: no sequence of heartbeats changes it', () => {
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
        const start = isDeleted ? deleted : admins;
        const end = heartbeats.reduce((set, each) => mergeSentProofs(set, each, at(30)), start);
        expect(end.proofs.filter(({ ruleId }) => ruleId === 'A')).toEqual(start.proofs);
        expect(end.proofs.every(({ ruleId, origin }) => ruleId === 'A' || origin === 'local')).toBe(true);
        expect(end.tombstones.filter(({ ruleId }) => ruleId === 'A')).toEqual(start.tombstones);
      }),
    );
  });

  test.each<[string, number, ProofRecord[], boolean]>([
    ['the same', 1, [by('control-plane', 1)], true],
    ['the same, without origin', 1, [by(undefined, 1)], true],
    ['another revision', 0, [by('control-plane', 1)], false],
    ['none', 1, [], false],
    ['one more', 1, [by('control-plane', 1), recordOf('B', 1)], false],
    ['another text', 1, [by('control-plane', 1, 'forged')], false],
    ['another time', 1, [by('control-plane', 2)], false],
    ['another origin', 1, [by('local', 1)], false],
  ])('a sender that has %s is in sync or not', (_name, revision, proofs, expected) => {
    expect(isInSync(admins, { revision, proofs })).toBe(expected);
  });

  test.each<[ProofOrigin | undefined, ProofWrites, boolean, boolean]>([
    ['control-plane', 'control-plane', false, true],
    ['control-plane', 'local', false, true],
    ['local', 'local', false, true],
    ['local', 'control-plane', false, false],
    ['local', 'control-plane', true, true],
    [undefined, 'control-plane', false, true],
    [undefined, 'local', false, true],
  ])('of origin %s, with PROOF_WRITES=%s, accepted %s: counts %s', (origin, writes, acceptLocal, counts) => {
    expect(countedProofs([by(origin, 1)], { writes, acceptLocal }, NOW)).toHaveLength(counts ? 1 : 0);
  });

  test('counts before a local one, and never once it has expired', () => {
    const ended = { ...by('control-plane', 1), expiresAt: NOW.toISOString() };
    const counted = countedProofs(
      [by('local', 1), by(undefined, 1), by('control-plane', 2), ended],
      { writes: 'local' },
      NOW,
    );
    expect(counted.map(({ origin }) => origin)).toEqual(['control-plane', undefined, 'local']);
  });
});
