import type { AuditEntry } from '../../core/behavior/audit-entry.ts';

/** One thing that happened to an entry. */
export interface JournalRecord {
  /** `entry`: it is complete. `update`: something came to a complete one. */
  kind: 'entry' | 'update';
  /** As it is now, not as it was then. */
  entry: AuditEntry;
  /** Entries that had completed by then, this one included. */
  completions: number;
}

/** Where to read on. */
export interface JournalPlace {
  /** Of the next record. */
  position: number;
  /** Entries that had completed before it. */
  completions: number;
}

/**
 * What happened to entries, in the order in which it happened: the newest records, in memory that is shared by all who
 * read them, however slow they are. It holds entries that the ring has overwritten while they were in flight.
 */
export class Journal {
  readonly #records: (JournalRecord | undefined)[];
  readonly #readers = new Set<() => void>();
  #next = 0;
  #completions = 0;

  constructor(capacity: number) {
    this.#records = new Array<JournalRecord | undefined>(capacity);
  }

  /** Entries that have completed since the start of the process. */
  get completions(): number {
    return this.#completions;
  }

  /** After everything that has happened. */
  get end(): JournalPlace {
    return { position: this.#next, completions: this.#completions };
  }

  /** Before the oldest record that is still here. */
  get oldest(): JournalPlace {
    const position = Math.max(0, this.#next - this.#records.length);
    const record = this.at(position);
    if (record === undefined) return this.end;
    return { position, completions: record.completions - (record.kind === 'entry' ? 1 : 0) };
  }

  completed(entry: AuditEntry): void {
    this.#completions += 1;
    this.#add('entry', entry);
  }

  updated(entry: AuditEntry): void {
    this.#add('update', entry);
  }

  /** undefined: not yet, or no more. */
  at(position: number): JournalRecord | undefined {
    if (position >= this.#next || position < this.#next - this.#records.length) return undefined;
    return this.#records[position % this.#records.length];
  }

  /** Right after the completion of the entry with this seq; null when it is not here. */
  after(seq: number): JournalPlace | null {
    const { position: oldest } = this.oldest;
    for (let position = this.#next - 1; position >= oldest; position--) {
      const record = this.at(position);
      if (record?.kind === 'entry' && record.entry.seq === seq)
        return { position: position + 1, completions: record.completions };
    }
    return null;
  }

  /** Calls `wake` after each record, until the function that it gives is called. */
  subscribe(wake: () => void): () => void {
    this.#readers.add(wake);
    return () => void this.#readers.delete(wake);
  }

  #add(kind: JournalRecord['kind'], entry: AuditEntry): void {
    this.#records[this.#next % this.#records.length] = { kind, entry, completions: this.#completions };
    this.#next += 1;
    for (const wake of this.#readers) wake();
  }
}
