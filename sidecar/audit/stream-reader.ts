import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import type { AuditLog } from './audit-log.ts';
import type { JournalPlace } from './journal.ts';

/** What a reader of the stream is told. */
export type StreamMessage =
  /** It is complete. */
  | { kind: 'entry'; entry: AuditEntry }
  /** Something came to a complete entry: it replaces the one that was told. */
  | { kind: 'update'; entry: AuditEntry }
  /** So many completed entries are not told; null: it is not known how many. */
  | { kind: 'gap'; lost: number | null };

/** Where a reader begins. */
export type StreamStart =
  /** After the last entry that it was told on an earlier connection, by its seq. */
  | { lastEventId: number }
  /** With what `GET /audit` shows. `since`: a seq, or `unknown` where an id was given that nobody knows. */
  | { since: number | 'unknown' | null; limit: number | undefined };

const BEGINNING: JournalPlace = { position: 0, completions: 0 };

/**
 * One reader's place in the stream: the completed entries of the ring, then whatever completes. Both come in the order
 * of completion, so that the seq of the last one that was told says on its own what was told before it. It keeps
 * places, not entries: one that is too slow for ring and journal is told how many it has lost.
 */
export class StreamReader {
  readonly #audit: AuditLog;
  /** seqs, in order of completion. */
  #replay: readonly number[] = [];
  #nextReplay = 0;
  #place: JournalPlace;
  /** Not told yet; null: not known. */
  #lost: number | null = 0;
  /** Left out between replay and journal. */
  #skipped = 0;

  constructor(audit: AuditLog, start: StreamStart) {
    this.#audit = audit;
    this.#place = audit.journal.end;
    if ('lastEventId' in start) this.#resume(start.lastEventId);
    else this.#begin(start);
  }

  /** The next message; null when there is none for now. */
  next(): StreamMessage | null {
    this.#passOverLost();
    if (this.#lost !== 0) {
      const gap: StreamMessage = { kind: 'gap', lost: this.#lost };
      this.#lost = 0;
      return gap;
    }
    return this.#fromReplay() ?? this.#fromJournal();
  }

  #resume(seq: number): void {
    const { journal } = this.#audit;
    const after = seq === 0 ? BEGINNING : journal.after(seq);
    if (after === null) this.#lost = null;
    this.#place = after ?? journal.oldest;
  }

  #begin({ since, limit }: { since: number | 'unknown' | null; limit: number | undefined }): void {
    const { ring } = this.#audit;
    if (since === null) {
      this.#replay = ring.inOrderOfCompletion(ring.newest(limit));
      return;
    }
    const after = since === 'unknown' ? 0 : since;
    this.#replay = ring.inOrderOfCompletion(ring.after(after, limit));
    this.#skipped = ring.inOrderOfCompletion(ring.after(after)).length - this.#replay.length;
    const lost = ring.lostAfter(after);
    this.#lost = since === 'unknown' && lost > 0 ? null : lost;
  }

  /** Goes on to what is still there, and counts what was overwritten meanwhile. */
  #passOverLost(): void {
    const { ring, journal } = this.#audit;
    for (; this.#nextReplay < this.#replay.length; this.#nextReplay++) {
      if (ring.at(this.#replay[this.#nextReplay] ?? 0) !== undefined) return;
      this.#lose(1);
    }
    this.#lose(this.#skipped);
    this.#skipped = 0;
    const { oldest } = journal;
    if (this.#place.position >= oldest.position) return;
    this.#lose(oldest.completions - this.#place.completions);
    this.#place = oldest;
  }

  #fromReplay(): StreamMessage | null {
    const entry = this.#audit.ring.at(this.#replay[this.#nextReplay] ?? 0);
    if (entry === undefined) return null;
    this.#nextReplay += 1;
    return { kind: 'entry', entry };
  }

  #fromJournal(): StreamMessage | null {
    const record = this.#audit.journal.at(this.#place.position);
    if (record === undefined) return null;
    const { kind, entry, completions } = record;
    this.#place = { position: this.#place.position + 1, completions };
    return { kind, entry };
  }

  #lose(count: number): void {
    if (this.#lost !== null) this.#lost += count;
  }
}
