import { describe, expect, test } from '@jest/globals';
import type { HeartbeatReply } from '../core/shapes/heartbeat-reply.ts';
import type { ProofOrigin } from '../core/shapes/values.ts';
import type { ProofRecord } from '../core/shapes/proof.ts';
import { ReceivedProofs } from './received-proofs.ts';

const proof = (ruleId: string, origin?: ProofOrigin): ProofRecord => ({
  ...{ ruleId, verifiedBy: 'ci', method: 'automated', verifiedAt: '2026-03-01T10:00:00.000Z' },
  ...(origin && { origin }),
});

describe('the proofs in a reply of the control plane', () => {
  test.each<[string, HeartbeatReply, boolean, number]>([
    ['revision 3 instead of 2', { proof: [proof('EVAL-01')], proofRevision: 3 }, true, 3],
    // The control plane has lost its state.
    ['revision 0 instead of 2', { proof: [], proofRevision: 0 }, true, 0],
    ['the same revision', { proof: [proof('EVAL-01')], proofRevision: 2 }, false, 2],
    ['no list', {}, false, 2],
    ['no list, but another member', { intervalSeconds: 60 }, false, 2],
  ])('with %s', (_what, reply, isChanged, revision) => {
    const proofs = new ReceivedProofs('gpt-4o');
    expect(proofs.note({ proof: [proof('MEM-01')], proofRevision: 2 })).toBe(true);
    expect(proofs.note(reply)).toBe(isChanged);
    expect(proofs.received).toEqual({ revision, proofs: reply.proof ?? [proof('MEM-01')] });
  });

  test('count if they are not local, and are all sent back', () => {
    const proofs = new ReceivedProofs('gpt-4o');
    expect([proofs.received.revision, proofs.received.proofs, proofs.counted]).toEqual([0, [], []]);
    const all = [proof('EVAL-01', 'local'), proof('MEM-01', 'control-plane'), proof('OBS-03')];
    proofs.note({ proof: all, proofRevision: 1 });
    expect(proofs.counted.map(({ ruleId }) => ruleId)).toEqual(['MEM-01', 'OBS-03']);
    expect(proofs.received).toEqual({ revision: 1, proofs: all });
  });
});
