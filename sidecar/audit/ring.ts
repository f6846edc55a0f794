import type { AuditEntry } from '../../core/behavior/audit-entry.ts';

/** The newest proxied requests, in memory. Insertion and lookup cost the same however full it is. */
export class AuditRing {
  readonly #slots: (AuditEntry | undefined)[];
  readonly #newestById = new Map<string, AuditEntry>();
  #nextSeq = 1;

  constructor(capacity: number) {
    this.#slots = new Array<AuditEntry | undefined>(capacity);
  }

  /** Takes the entry in, under the next seq; the oldest one goes when there is no room. */
  insert(entry: Omit<AuditEntry, 'seq'>): AuditEntry {
    const numbered: AuditEntry = { seq: this.#nextSeq, ...entry };
    const slot = this.#slotOf(this.#nextSeq);
    const overwritten = this.#slots[slot];
    if (overwritten !== undefined && this.#newestById.get(overwritten.requestId) === overwritten)
      this.#newestById.delete(overwritten.requestId);
    this.#slots[slot] = numbered;
    this.#newestById.set(numbered.requestId, numbered);
    this.#nextSeq += 1;
    return numbered;
  }

  /** The newest entry with this request id. */
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
