import type { AuditEntry } from '../../core/behavior/audit-entry.ts';

/** One change of an entry. */
export interface JournalRecord {
  /** `entry`: the entry was completed. `update`: a complete entry was changed. */
  kind: 'entry' | 'update';
  /** The entry in its current state, not in its state at the time of the change. */
  entry: AuditEntry;
  /** Number of entries completed up to this record, including this record. */
  completions: number;
}

/** A position in the journal. */
export interface JournalPlace {
  /** Position of the next record. */
  position: number;
  /** Number of entries completed before that record. */
  completions: number;
}

/**
 * The newest changes of entries, in order. All readers share the journal's memory, so slow readers cost nothing. The journal
 * also contains entries that the ring has overwritten while they were in flight.
 */
export class Journal {
  /** Number of entries completed since the start of the process. */
  completions = 0;
  readonly #records: (JournalRecord | undefined)[];
  readonly #readers = new Set<() => void>();
  #next = 0;

  constructor(capacity: number) {
    this.#records = new Array<JournalRecord | undefined>(capacity);
  }

  /** The position after the newest record. */
  get end(): JournalPlace {
    return { position: this.#next, completions: this.completions };
  }

  /** The position of the oldest available record. */
  get oldest(): JournalPlace {
    const position = Math.max(0, this.#next - this.#records.length);
    const record = this.at(position);
    if (record === undefined) return this.end;
    return { position, completions: record.completions - (record.kind === 'entry' ? 1 : 0) };
  }

  completed(entry: AuditEntry): void {
    this.completions += 1;
    this.#add('entry', entry);
  }

  updated(entry: AuditEntry): void {
    this.#add('update', entry);
  }

  /** undefined: not written yet, or overwritten. */
  at(position: number): JournalRecord | undefined {
    if (position >= this.#next || position < this.#next - this.#records.length) return undefined;
    return this.#records[position % this.#records.length];
  }

  /** The position after the completion of the entry with this seq; null when that record is not available. */
  after(seq: number): JournalPlace | null {
    const { position: oldest } = this.oldest;
    for (let position = this.#next - 1; position >= oldest; position--) {
      const record = this.at(position);
      if (record?.kind === 'entry' && record.entry.seq === seq)
        return { position: position + 1, completions: record.completions };
    }
    return null;
  }

  /** Calls `onRecord` after each record. Returns a function that ends the subscription. */
  subscribe(onRecord: () => void): () => void {
    this.#readers.add(onRecord);
    return () => void this.#readers.delete(onRecord);
  }

  #add(kind: JournalRecord['kind'], entry: AuditEntry): void {
    this.#records[this.#next % this.#records.length] = { kind, entry, completions: this.completions };
    this.#next += 1;
    for (const onRecord of this.#readers) onRecord();
  }
}
