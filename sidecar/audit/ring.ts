import type { AuditEntry } from '../../core/shapes/audit-entry.ts';

/** The fields of an entry that are known when the request arrives. */
type NewEntry = Pick<AuditEntry, 'requestId' | 'timestamp' | 'method' | 'path' | 'bytesIn' | 'bytesOut'>;

/** The newest proxied requests, in memory. Insertion and, on average, lookup take constant time. */
export class AuditRing {
  readonly #slots: (AuditEntry | undefined)[];
  /** By slot, the completion number of the entry. Not stored in the entry, because it is not part of the API. */
  readonly #completions: Float64Array;
  /**
   * seq of the newest entry by request id, of the entries up to `#indexed`. `find` adds the newer ones: most requests are never
   * looked up, and would pay for an index that no one reads. Overwritten entries are removed later, all at once.
   */
  readonly #seqById = new Map<string, number>();
  #indexed = 0;
  /** seqs of entries that were overwritten before their completion. */
  readonly #overwrittenInFlight = new Set<number>();
  /** The newest of these entries by request id. */
  readonly #overwrittenById = new Map<string, AuditEntry>();
  #nextSeq = 1;

  constructor(capacity: number) {
    this.#slots = new Array<AuditEntry | undefined>(capacity);
    this.#completions = new Float64Array(capacity);
  }

  /** Inserts an entry with the next seq; overwrites the oldest entry if the ring is full. */
  insert({ requestId, timestamp, method, path, bytesIn, bytesOut }: NewEntry): AuditEntry {
    const seq = this.#nextSeq;
    const numbered: AuditEntry = { seq, requestId, timestamp, method, path, bytesIn, bytesOut };
    const slot = this.#slotOf(seq);
    const overwritten = this.#slots[slot];
    if (overwritten !== undefined && overwritten.outcome === undefined) this.#keepInFlight(overwritten);
    this.#slots[slot] = numbered;
    this.#nextSeq += 1;
    return numbered;
  }

  /** Marks the entry as complete; `completions`: its completion number. */
  complete(entry: AuditEntry, completions: number): void {
    if (entry.seq >= this.first) this.#completions[this.#slotOf(entry.seq)] = completions;
    else {
      this.#overwrittenInFlight.delete(entry.seq);
      if (this.#overwrittenById.get(entry.requestId) === entry) this.#overwrittenById.delete(entry.requestId);
    }
  }

  /** The entry with this seq; undefined when it was overwritten or does not exist yet. */
  at(seq: number): AuditEntry | undefined {
    return seq < this.first || seq > this.last ? undefined : this.#slots[this.#slotOf(seq)];
  }

  /** The seqs of the complete entries, in order of completion. */
  inOrderOfCompletion(entries: readonly AuditEntry[]): number[] {
    const orderOf = (seq: number): number => this.#completions[this.#slotOf(seq)] ?? 0;
    return entries
      .filter(({ outcome }) => outcome !== undefined)
      .map(({ seq }) => seq)
      .sort((a, b) => orderOf(a) - orderOf(b));
  }

  /** The number of complete entries after `seq` that were overwritten. */
  lostAfter(seq: number): number {
    const overwritten = Math.max(0, this.first - 1 - seq);
    if (overwritten === 0) return 0;
    return overwritten - [...this.#overwrittenInFlight].filter((each) => each > seq).length;
  }

  /** The newest entry with this request id; also finds an overwritten entry that is still in flight. */
  find(requestId: string): AuditEntry | undefined {
    this.#indexNew();
    const seq = this.#seqById.get(requestId);
    return (seq === undefined ? undefined : this.at(seq)) ?? this.#overwrittenById.get(requestId);
  }

  /** seq of the oldest entry; 1 when the ring is empty. */
  get first(): number {
    return this.dropped + 1;
  }

  /** seq of the newest entry; 0 when the ring is empty. */
  get last(): number {
    return this.#nextSeq - 1;
  }

  /** The number of overwritten entries. */
  get dropped(): number {
    return Math.max(0, this.last - this.#slots.length);
  }

  /** The newest entries, at most `limit`, oldest first. */
  newest(limit = Infinity): AuditEntry[] {
    return this.#range(Math.max(this.first, this.last - limit + 1), this.last);
  }

  /** The first `limit` entries after `seq`, oldest first. */
  after(seq: number, limit = Infinity): AuditEntry[] {
    const from = Math.max(this.first, seq + 1);
    return this.#range(from, Math.min(this.last, from + limit - 1));
  }

  /**
   * Events of a request in flight must still find its entry. Otherwise its tokens would be counted twice: without the request,
   * and with its response.
   */
  #keepInFlight(overwritten: AuditEntry): void {
    this.#overwrittenInFlight.add(overwritten.seq);
    this.#overwrittenById.set(overwritten.requestId, overwritten);
  }

  #indexNew(): void {
    const { first, last } = this;
    // Half of the ids or more are those of overwritten entries.
    if (this.#seqById.size + last - Math.max(first - 1, this.#indexed) > 2 * this.#slots.length) {
      this.#seqById.clear();
      this.#indexed = 0;
    }
    for (const { seq, requestId } of this.after(this.#indexed)) this.#seqById.set(requestId, seq);
    this.#indexed = last;
  }

  #range(from: number, to: number): AuditEntry[] {
    const entries: AuditEntry[] = [];
    for (let seq = from; seq <= to; seq++) {
      const entry = this.#slots[this.#slotOf(seq)];
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  }

  #slotOf(seq: number): number {
    return (seq - 1) % this.#slots.length;
  }
}
