import type { AuditEntry } from '../../core/shapes/audit-entry.ts';

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
  /** By place: the entry of a record, its completions, and whether it is an update. An object for each record would be garbage. */
  readonly #entries: (AuditEntry | undefined)[];
  readonly #completionsAt: Float64Array;
  readonly #isUpdate: Uint8Array;
  readonly #readers = new Set<() => void>();
  #next = 0;

  constructor(capacity: number) {
    this.#entries = new Array<AuditEntry | undefined>(capacity);
    this.#completionsAt = new Float64Array(capacity);
    this.#isUpdate = new Uint8Array(capacity);
  }

  /** The position after the newest record. */
  get end(): JournalPlace {
    return { position: this.#next, completions: this.completions };
  }

  /** The position of the oldest available record. */
  get oldest(): JournalPlace {
    const position = Math.max(0, this.#next - this.#entries.length);
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
    const { length } = this.#entries;
    if (position >= this.#next || position < this.#next - length) return undefined;
    const place = position % length;
    const entry = this.#entries[place];
    if (entry === undefined) return undefined;
    const kind = this.#isUpdate[place] === 1 ? 'update' : 'entry';
    return { kind, entry, completions: this.#completionsAt[place] ?? 0 };
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
    const place = this.#next % this.#entries.length;
    this.#entries[place] = entry;
    this.#completionsAt[place] = this.completions;
    this.#isUpdate[place] = kind === 'update' ? 1 : 0;
    this.#next += 1;
    for (const onRecord of this.#readers) onRecord();
  }
}
