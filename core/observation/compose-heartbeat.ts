import type { Manifest } from '../manifest/manifest.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';

/** The members that a sender may not have. */
const NOT_REPORTED = {
  manifestHash: null,
  organisationRevision: null,
  stop: null,
  scoreWithoutLocalProofs: null,
  evidence: null,
  audit: null,
  egress: null,
  /** Last proof revision applied from the control plane; 0 before the first one, and for a sender without proofs. */
  proofRevision: 0,
  usage: null,
  totals: null,
  outcomes: null,
  denials: null,
  policyMode: null,
  policyState: null,
  sidecarVersion: null,
} satisfies Partial<Heartbeat>;

type Required = 'instance' | 'intervalSeconds' | 'health' | 'gap';
/** Members that are computed here from the other input. */
type Composed = 'version' | 'seq' | 'sentAt' | 'source' | 'proof' | 'model' | 'startedAt';

/** Input of one heartbeat. A sender leaves out the members that it does not have. */
export interface HeartbeatInput
  extends Pick<Heartbeat, Required>, Partial<Omit<Heartbeat, Required | Composed>> {
  seq: number;
  at: Date;
  startedAt: Date;
  manifest: Manifest;
  proofs?: readonly ProofRecord[];
}

/** Composes a HeartbeatV1 from reports of the same time. `expired` is left out, because the receiver computes it. */
export function composeHeartbeat(input: HeartbeatInput): Heartbeat {
  const { at, startedAt, manifest, proofs = [], ...reported } = input;
  const { provider, id } = manifest.spec.model;
  return {
    version: 1,
    ...NOT_REPORTED,
    ...reported,
    sentAt: at.toISOString(),
    source: input.gap.source,
    proof: proofs.map(({ expired: _, ...record }) => record),
    model: { provider, id },
    startedAt: startedAt.toISOString(),
  };
}
