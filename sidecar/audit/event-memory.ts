import type { AuditEntry, BehavioralEvent } from '../../core/behavior/audit-entry.ts';
import { detailBytes, eventBytes, hasDetails, withoutDetails } from '../../core/behavior/event-bytes.ts';

/** Bytes that the details of one entry may take before more events are refused: several batches of full size. */
export const MAX_ENTRY_BYTES = 512 * 1024;

/** Bounds the memory that events, names and lists of model calls take: for each entry, and for all of them. */
export class EventMemory {
  /** Events that were refused because their entry had no room. */
  refused = 0;
  /** Events that were removed from older entries. */
  removed = 0;
  readonly #maxBytes: number;
  /** Bytes by entry, in the order in which they were counted first. */
  readonly #entries = new Map<AuditEntry, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether these events fit into their entry. */
  hasRoom(entry: AuditEntry, events: readonly BehavioralEvent[]): boolean {
    const known = this.#entries.get(entry) ?? 0;
    if (known + eventBytes(events) <= MAX_ENTRY_BYTES) return true;
    this.refused += events.length;
    return false;
  }

  /** Events, names or model calls came to this entry. Beyond the bound, the oldest entries lose theirs. */
  count(entry: AuditEntry): void {
    // It could lose nothing. To hold it here would keep what the ring has overwritten.
    if (!this.#entries.has(entry) && !hasDetails(entry)) return;
    const bytes = detailBytes(entry);
    this.#bytes += bytes - (this.#entries.get(entry) ?? 0);
    this.#entries.set(entry, bytes);
    for (const [oldest, held] of this.#entries) {
      if (this.#bytes <= this.#maxBytes || oldest === entry) return;
      this.#entries.delete(oldest);
      this.#bytes -= held;
      this.removed += oldest.events?.length ?? 0;
      withoutDetails(oldest);
    }
  }
}
