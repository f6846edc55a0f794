import type { AuditEntry, BehavioralEvent } from '../behavior/audit-entry.ts';
import type { ModelCall } from './usage.ts';

/** The model calls of one entry: what the wire said, else its `model` events, never both. */
export function callsOf(entry: AuditEntry): ModelCall[] {
  return entry.usage !== undefined && !('unavailable' in entry.usage)
    ? [entry.usage]
    : callsIn(entry.events ?? []);
}

/**
 * The calls that events add to the totals when they arrive. None while the request is in flight (its completion counts
 * the entry whole) and none when the wire has spoken.
 */
export function lateCallsOf(entry: AuditEntry, events: readonly BehavioralEvent[]): ModelCall[] {
  const inFlight = entry.outcome === undefined;
  const fromWire = entry.usage !== undefined && !('unavailable' in entry.usage);
  return inFlight || fromWire ? [] : callsIn(events);
}

function callsIn(events: readonly BehavioralEvent[]): ModelCall[] {
  return events
    .filter((event) => event.type === 'model')
    .map(({ modelId, promptTokens, completionTokens }) => ({
      modelId,
      promptTokens,
      completionTokens,
      totalTokens: promptTokens + completionTokens,
    }));
}
