import type { AuditLog } from './audit-log.ts';
import type { JournalPlace, JournalRecord } from './journal.ts';

/** A message of the audit stream. */
export type StreamMessage =
  /** An `update` replaces the entry that was sent before. */
  | Pick<JournalRecord, 'kind' | 'entry'>
  /** The number of skipped completed entries; null: unknown. */
  | { kind: 'gap'; lost: number | null };

/** Where a reader starts. */
export type StreamStart =
  /** After the last entry that the reader received on an earlier connection, by its seq. */
  | { lastEventId: number }
  /** With the entries that `GET /audit` returns. `since`: a seq, or `unknown` for an unknown id. */
  | { since: number | 'unknown' | null; limit: number | undefined };

const START: JournalPlace = { position: 0, completions: 0 };

/**
 * One reader of the stream: first the completed entries of the ring, then each entry as it completes. Both parts are in order
 * of completion, so the seq of the last received entry is enough to resume. The reader stores positions, not entries. If the
 * ring or the journal overwrites entries before they are read, the reader receives the number of skipped entries.
 */
export class StreamReader {
  readonly #audit: AuditLog;
  /** seqs, in order of completion. */
  #replay: readonly number[] = [];
  #nextReplay = 0;
  #place: JournalPlace;
  /** Number of skipped entries that was not sent yet; null: unknown. */
  #lost: number | null = 0;
  /** Entries between replay and journal that `limit` excludes. */
  #skipped = 0;

  constructor(audit: AuditLog, start: StreamStart) {
    this.#audit = audit;
    this.#place = audit.journal.end;
    if ('lastEventId' in start) this.#resume(start.lastEventId);
    else this.#begin(start);
  }

  /** The next message; null when none is available. */
  next(): StreamMessage | null {
    this.#skipOverwritten();
    if (this.#lost !== 0) {
      const gap: StreamMessage = { kind: 'gap', lost: this.#lost };
      this.#lost = 0;
      return gap;
    }
    return this.#fromReplay() ?? this.#fromJournal();
  }

  #resume(seq: number): void {
    const { journal } = this.#audit;
    const after = seq === 0 ? START : journal.after(seq);
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

  /** Moves to the oldest available entry and counts the overwritten entries. */
  #skipOverwritten(): void {
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
