import type { AuditEntry } from './audit-entry.ts';
import { hasBehavior } from './parse-behavior-headers.ts';

const SAMPLE = 100;

/** Guardrail invocations in the newest ring entries with behavioral data (at most 100). */
export interface BehaviorFacts {
  /** Number of entries with behavioral data; 0: nothing is known. */
  sampled: number;
  /** Guardrail type -> number of sampled entries in which it was invoked. */
  guardrailsInvoked: ReadonlyMap<string, number>;
  /** Number of newest consecutive requests that could have behavioral data but had none; absent: not counted. */
  requestsWithout?: number;
}

/**
 * Counts guardrail invocations in the newest entries with behavioral data (at most 100).
 * @param entries oldest first, as in the ring
 */
export function summarizeBehavior(entries: readonly AuditEntry[]): BehaviorFacts {
  const invoked = new Map<string, number>();
  let sampled = 0;
  for (let index = entries.length - 1; index >= 0 && sampled < SAMPLE; index--) {
    const entry = entries[index];
    if (entry === undefined || !hasBehavior(entry)) continue;
    sampled++;
    for (const type of new Set(entry.guardrailsInvoked)) invoked.set(type, (invoked.get(type) ?? 0) + 1);
  }
  return { sampled, guardrailsInvoked: invoked };
}
