import type { AuditEntry } from '../../core/behavior/audit-entry.ts';

/** What is known of a request at its arrival. */
type NewEntry = Pick<AuditEntry, 'requestId' | 'timestamp' | 'method' | 'path' | 'bytesIn' | 'bytesOut'>;

/** The newest proxied requests, in memory. Insertion and lookup cost the same however full it is. */
export class AuditRing {
  readonly #slots: (AuditEntry | undefined)[];
  /** By slot, which of all completions was the entry's; not in the entry, because nobody is shown it. */
  readonly #completions: Float64Array;
  readonly #newestById = new Map<string, AuditEntry>();
  /** seqs that were overwritten before their completion. */
  readonly #overwrittenInFlight = new Set<number>();
  #nextSeq = 1;

  constructor(capacity: number) {
    this.#slots = new Array<AuditEntry | undefined>(capacity);
    this.#completions = new Float64Array(capacity);
  }

  /** Takes the entry in, under the next seq; the oldest one goes when there is no room. */
  insert({ requestId, timestamp, method, path, bytesIn, bytesOut }: NewEntry): AuditEntry {
    const seq = this.#nextSeq;
    const numbered: AuditEntry = { seq, requestId, timestamp, method, path, bytesIn, bytesOut };
    const slot = this.#slotOf(seq);
    const overwritten = this.#slots[slot];
    if (overwritten !== undefined) this.#forget(overwritten);
    this.#slots[slot] = numbered;
    this.#newestById.set(numbered.requestId, numbered);
    this.#nextSeq += 1;
    return numbered;
  }

  /** The entry is complete, as the `completions`-th of all. */
  complete(entry: AuditEntry, completions: number): void {
    if (entry.seq >= this.first) this.#completions[this.#slotOf(entry.seq)] = completions;
    else {
      this.#overwrittenInFlight.delete(entry.seq);
      this.#unname(entry);
    }
  }

  /** The entry with this seq; undefined when it is overwritten, or has not come. */
  at(seq: number): AuditEntry | undefined {
    return seq < this.first || seq > this.last ? undefined : this.#slots[this.#slotOf(seq)];
  }

  /** Those of the entries that are complete, as seqs in the order in which they completed. */
  inOrderOfCompletion(entries: readonly AuditEntry[]): number[] {
    const placeOf = (seq: number): number => this.#completions[this.#slotOf(seq)] ?? 0;
    return entries
      .filter(({ outcome }) => outcome !== undefined)
      .map(({ seq }) => seq)
      .sort((a, b) => placeOf(a) - placeOf(b));
  }

  /** How many entries after `seq` were complete and are overwritten. */
  lostAfter(seq: number): number {
    const overwritten = Math.max(0, this.first - 1 - seq);
    if (overwritten === 0) return 0;
    return overwritten - [...this.#overwrittenInFlight].filter((each) => each > seq).length;
  }

  /** The newest entry with this request id; one in flight is found although it is overwritten. */
  find(requestId: string): AuditEntry | undefined {
    return this.#newestById.get(requestId);
  }

  /** seq of the oldest entry; one past the newest when the ring is empty. */
  get first(): number {
    return this.dropped + 1;
  }

  /** seq of the newest entry; 0 before the first. */
  get last(): number {
    return this.#nextSeq - 1;
  }

  /** How many entries were overwritten. */
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

  #forget(entry: AuditEntry): void {
    // What is reported of a request in flight is not late: its tokens would count without the request, and with its answer.
    if (entry.outcome === undefined) this.#overwrittenInFlight.add(entry.seq);
    else this.#unname(entry);
  }

  #unname(entry: AuditEntry): void {
    if (this.#newestById.get(entry.requestId) === entry) this.#newestById.delete(entry.requestId);
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
