import type { HeartbeatReply } from '../core/shapes/heartbeat-reply.ts';
import { judgedProof, literalModel } from '../core/evidence/stale-proofs.ts';
import { isTrusted } from '../core/evidence/counted-proofs.ts';
import { NO_PROOFS, type SentProofs } from '../core/evidence/proof-set.ts';
import type { ProofRecord } from '../core/shapes/proof.ts';

/** The agent's proofs in the control plane, from its replies to heartbeats. */
export class ReceivedProofs {
  readonly #model: string;
  #received: SentProofs = NO_PROOFS;

  /** @param model id of the model in the manifest; a reporter does not know the other values to which a proof is bound */
  constructor(model: string) {
    this.#model = model;
  }

  /** The last received list. A heartbeat repeats it, and the control plane replies with a list only if its own differs. */
  get received(): SentProofs {
    return this.#received;
  }

  /** The proofs that count. Without a sidecar, only the control plane writes proofs, so local records do not count. */
  get counted(): ProofRecord[] {
    return this.#received.proofs.filter(
      (proof) => isTrusted(proof, { writes: 'control-plane' }) && proof.state !== 'stale',
    );
  }

  /** Replaces the list if the reply has one. Returns whether the revision has changed. */
  note({ proof, proofRevision }: HeartbeatReply): boolean {
    if (proof === undefined || proofRevision === undefined) return false;
    const isChanged = proofRevision !== this.#received.revision;
    const proofs = proof.map((record) => judgedProof(record, { model: literalModel(this.#model) }));
    this.#received = { revision: proofRevision, proofs };
    return isChanged;
  }
}
