import type { ProofRecord } from '../shapes/proof.ts';

/** Body of a 200 response to a heartbeat. Absent members are left out on the wire. A 204 response is the empty reply. */
export interface HeartbeatReply {
  proof?: ProofRecord[];
  proofRevision?: number;
  othersToday?: { tokens: number; costUsd: number };
  intervalSeconds?: number;
}
