import type { BehaviorFacts } from '../facts/facts.ts';
import type { AuditEntry } from './audit-entry.ts';
import { hasBehavior } from './parse-behavior-headers.ts';

const SAMPLE = 100;

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
