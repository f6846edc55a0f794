import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { BehavioralEvent } from '../../core/shapes/events.ts';
import {
  detailBytes,
  estimatedEventBytes,
  hasDetails,
  withoutDetails,
} from '../../core/behavior/event-bytes.ts';

/** Maximum bytes for the details of one entry, enough for several full batches; further events are rejected. */
export const MAX_ENTRY_BYTES = 512 * 1024;

/** Limits the memory for events, names and lists of model calls, per entry and in total. */
export class EventMemory {
  /** Events that were rejected because their entry was full. */
  refused = 0;
  /** Events that were removed from older entries. */
  removed = 0;
  /** The memory of all entries' details, in bytes. */
  bytes = 0;
  readonly #maxBytes: number;
  /** Bytes by entry, in the order in which the entries were first counted. */
  readonly #entries = new Map<AuditEntry, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether these events fit into their entry. */
  hasRoom(entry: AuditEntry, events: readonly BehavioralEvent[]): boolean {
    const known = this.#entries.get(entry) ?? 0;
    if (known + estimatedEventBytes(events) <= MAX_ENTRY_BYTES) return true;
    this.refused += events.length;
    return false;
  }

  /** Counts the details of a changed entry. Above the total limit, the oldest entries lose their details. */
  count(entry: AuditEntry): void {
    // Not tracked: the entry has no details, and a reference would keep an overwritten entry in memory.
    if (!this.#entries.has(entry) && !hasDetails(entry)) return;
    const bytes = detailBytes(entry);
    this.bytes += bytes - (this.#entries.get(entry) ?? 0);
    this.#entries.set(entry, bytes);
    for (const [oldest, held] of this.#entries) {
      if (this.bytes <= this.#maxBytes || oldest === entry) return;
      this.#entries.delete(oldest);
      this.bytes -= held;
      this.removed += oldest.events?.length ?? 0;
      withoutDetails(oldest);
    }
  }
}
