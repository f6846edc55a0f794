import type { ProofRecord } from '../../core/shapes/proof.ts';
import { judgedProof, type InForce } from '../../core/evidence/stale-proofs.ts';
import { sortByRule } from '../../core/evidence/proof-set.ts';
import { readProofFile, writeProofFile, type KeptProofs } from './proof-file.ts';

/** The outcome of a local change. `not-local`: the rule has a record of the control plane, which is kept. */
export type LocalWrite = 'stored' | 'not-local';
export type LocalRemoval = 'removed' | 'no-proof' | 'not-local';

/** The proofs of a heartbeat, and the last local change that they include. */
export interface SentProofs extends KeptProofs {
  changesUpTo: number;
}

interface LocalChange {
  number: number;
  /** When the record was removed; null: the record was stored. */
  removedAt: Date | null;
}

/**
 * The agent's proofs in this sidecar. The control plane, if configured, owns the list: its reply replaces the local list,
 * except for local changes since the heartbeat that it replies to.
 */
export class ProofStore {
  readonly #path: string | null;
  readonly #listeners: (() => void)[] = [];
  #kept: KeptProofs;
  #inForce: InForce = {};
  #changes = 0;
  /** The last local change of each rule that the control plane may not have received. */
  readonly #changed = new Map<string, LocalChange>();
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(path: string | null, kept: KeptProofs) {
    this.#path = path;
    this.#kept = kept;
  }

  /** `path`: the file that stores the proofs across restarts; null: memory only. */
  static async open(path: string | null): Promise<ProofStore> {
    return new ProofStore(path, path === null ? { revision: 0, proofs: [] } : await readProofFile(path));
  }

  /** The records; those whose tested values differ from the values in force are stale. */
  list(): readonly ProofRecord[] {
    return this.#kept.proofs.map((record) => judgedProof(record, this.#inForce));
  }

  find(ruleId: string): ProofRecord | undefined {
    return this.list().find((proof) => proof.ruleId === ruleId);
  }

  /** Whether a record is bound to tested values. */
  get hasBound(): boolean {
    return this.#kept.proofs.some(({ boundTo }) => boundTo !== undefined);
  }

  /** Sets the values with which the records are compared from now on. */
  compareWith(inForce: InForce): void {
    this.#inForce = inForce;
  }

  /** Called after each local change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Stores the record and replaces an earlier local record of its rule. Rejects without a change when the write fails. */
  async put(record: ProofRecord): Promise<LocalWrite> {
    let outcome: LocalWrite = 'stored';
    await this.#replace((kept) => {
      outcome = isOfControlPlane(findIn(kept, record.ruleId)) ? 'not-local' : 'stored';
      return outcome === 'stored'
        ? { ...kept, proofs: withRecord(kept.proofs, record.ruleId, record) }
        : null;
    });
    if (outcome === 'stored') this.#noteChange(record.ruleId, null);
    return outcome;
  }

  async remove(ruleId: string, at: Date): Promise<LocalRemoval> {
    let outcome: LocalRemoval = 'removed';
    await this.#replace((kept) => {
      outcome = removalOf(findIn(kept, ruleId));
      return outcome === 'removed' ? { ...kept, proofs: withRecord(kept.proofs, ruleId, undefined) } : null;
    });
    if (outcome === 'removed') this.#noteChange(ruleId, at);
    return outcome;
  }

  /** The proofs to send in a heartbeat. */
  toSend(): SentProofs {
    return { ...this.#kept, proofs: this.list(), changesUpTo: this.#changes };
  }

  /** The control plane has received `sent`. `reply`: the control plane's list, if it is different; else null. */
  async settle(sent: SentProofs, reply: KeptProofs | null): Promise<void> {
    for (const [ruleId, change] of this.#changed)
      if (change.number <= sent.changesUpTo && !isOverlooked(change, findIn(reply, ruleId)))
        this.#changed.delete(ruleId);
    if (reply === null) return;
    await this.#replace((kept) => {
      let proofs = reply.proofs;
      for (const ruleId of [...this.#changed.keys()])
        if (isOfControlPlane(findIn(reply, ruleId))) this.#changed.delete(ruleId);
        else proofs = withRecord(proofs, ruleId, findIn(kept, ruleId));
      return { revision: reply.revision, proofs };
    });
  }

  #noteChange(ruleId: string, removedAt: Date | null): void {
    this.#changes += 1;
    this.#changed.set(ruleId, { number: this.#changes, removedAt });
    for (const listener of this.#listeners) listener();
  }

  /** Applies changes one at a time; each is stored before it takes effect. `next` returns null for no change. */
  #replace(next: (kept: KeptProofs) => KeptProofs | null): Promise<void> {
    const done = this.#writing.then(async () => {
      const kept = next(this.#kept);
      if (kept === null) return;
      if (this.#path !== null) await writeProofFile(this.#path, kept);
      this.#kept = kept;
    });
    this.#writing = done.catch(() => undefined);
    return done;
  }
}

/**
 * The control plane treats a missing record as removed only if the sender knows its newest revision. Otherwise it replies with
 * the old record, and the next heartbeat repeats the removal.
 */
function isOverlooked({ removedAt }: LocalChange, replied: ProofRecord | undefined): boolean {
  return (
    removedAt !== null &&
    replied !== undefined &&
    !isOfControlPlane(replied) &&
    Date.parse(replied.verifiedAt) <= removedAt.getTime()
  );
}

function isOfControlPlane(record: ProofRecord | undefined): boolean {
  return record?.origin === 'control-plane';
}

function removalOf(record: ProofRecord | undefined): LocalRemoval {
  if (record === undefined) return 'no-proof';
  return isOfControlPlane(record) ? 'not-local' : 'removed';
}

function findIn(kept: KeptProofs | null, ruleId: string): ProofRecord | undefined {
  return kept?.proofs.find((proof) => proof.ruleId === ruleId);
}

function withRecord(
  proofs: readonly ProofRecord[],
  ruleId: string,
  record: ProofRecord | undefined,
): ProofRecord[] {
  const others = proofs.filter((proof) => proof.ruleId !== ruleId);
  return record === undefined ? others : sortByRule([...others, record]);
}
