import type { ProofRecord } from '../../core/proof/proof.ts';
import { readProofFile, writeProofFile, type KeptProofs } from './proof-file.ts';

/** What became of a local change. `not-local`: the rule has a record of the control plane, which is kept. */
export type LocalWrite = 'stored' | 'not-local';
export type LocalRemoval = 'removed' | 'no-proof' | 'not-local';

/** What a heartbeat told, and which local changes were in it. */
export interface ToldProofs extends KeptProofs {
  changesUpTo: number;
}

interface LocalChange {
  number: number;
  /** When the record was removed; null: it was put. */
  removedAt: Date | null;
}

/**
 * The agent's proofs as this sidecar knows them. Where there is a control plane it is the authority: what it answers
 * replaces what is here, except for what was changed here since the heartbeat that it answers.
 */
export class ProofStore {
  readonly #path: string | null;
  readonly #listeners: (() => void)[] = [];
  #kept: KeptProofs;
  #changes = 0;
  /** The last local change of a rule that the authority may not have taken over. */
  readonly #changed = new Map<string, LocalChange>();
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(path: string | null, kept: KeptProofs) {
    this.#path = path;
    this.#kept = kept;
  }

  /** `path`: the file that keeps them over a restart; null: memory alone. */
  static async open(path: string | null): Promise<ProofStore> {
    return new ProofStore(path, path === null ? { revision: 0, proofs: [] } : await readProofFile(path));
  }

  list(): readonly ProofRecord[] {
    return this.#kept.proofs;
  }

  find(ruleId: string): ProofRecord | undefined {
    return findIn(this.#kept, ruleId);
  }

  /** Called after each local change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Stores the record in the place of the rule's last local one. Rejects, and changes nothing, when it cannot be kept. */
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

  tell(): ToldProofs {
    return { ...this.#kept, changesUpTo: this.#changes };
  }

  /** The authority has heard what `told` said; `answer` is what it holds, where that is something else. */
  async settle(told: ToldProofs, answer: KeptProofs | null): Promise<void> {
    for (const [ruleId, change] of this.#changed)
      if (change.number <= told.changesUpTo && !isOverlooked(change, findIn(answer, ruleId)))
        this.#changed.delete(ruleId);
    if (answer === null) return;
    await this.#replace((kept) => {
      let proofs = answer.proofs;
      for (const ruleId of [...this.#changed.keys()])
        if (isOfControlPlane(findIn(answer, ruleId))) this.#changed.delete(ruleId);
        else proofs = withRecord(proofs, ruleId, findIn(kept, ruleId));
      return { revision: answer.revision, proofs };
    });
  }

  #noteChange(ruleId: string, removedAt: Date | null): void {
    this.#changes += 1;
    this.#changed.set(ruleId, { number: this.#changes, removedAt });
    for (const listener of this.#listeners) listener();
  }

  /** One change after the other, each kept before it counts. `next` returns null: nothing changes. */
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
 * The authority takes a missing record for removed only from who knows its newest revision. One that changed meanwhile
 * answers with the record as it was; the removal then goes with the next heartbeat.
 */
function isOverlooked({ removedAt }: LocalChange, answered: ProofRecord | undefined): boolean {
  return (
    removedAt !== null &&
    answered !== undefined &&
    !isOfControlPlane(answered) &&
    Date.parse(answered.verifiedAt) <= removedAt.getTime()
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
  return record === undefined
    ? others
    : [...others, record].sort((a, b) => (a.ruleId < b.ruleId ? -1 : a.ruleId > b.ruleId ? 1 : 0));
}
