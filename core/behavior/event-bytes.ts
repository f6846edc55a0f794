import type { ModelCall } from '../shapes/request-usage.ts';
import type { AuditEntry } from '../shapes/audit-entry.ts';
import type { BehavioralEvent } from '../shapes/events.ts';

/** Bytes of an object with its members, without its strings. */
const OBJECT_BYTES = 120;
/** Bytes of a string in addition to its characters. */
const TEXT_BYTES = 24;
/** Maximum bytes of each list of names after the details of an entry are removed. */
const MAX_KEPT_BYTES = 2048;

/** Estimated memory of an entry's events, names and list of model calls in bytes. */
export function detailBytes(entry: AuditEntry): number {
  const { events = [], guardrailsInvoked = [], toolsCalled = [] } = entry;
  const names = OBJECT_BYTES + listBytes(guardrailsInvoked) + listBytes(toolsCalled);
  return names + estimatedEventBytes(events) + estimatedEventBytes(listedCalls(entry) ?? []);
}

/** Whether `withoutDetails` would remove anything from the entry. */
export function hasDetails(entry: AuditEntry): boolean {
  const { events, guardrailsInvoked, toolsCalled } = entry;
  return (
    events !== undefined ||
    listedCalls(entry) !== undefined ||
    isLong(guardrailsInvoked) ||
    isLong(toolsCalled)
  );
}

/** Removes the events of an entry, the list of its model calls (not their sum), and its names beyond `MAX_KEPT_BYTES`. */
export function withoutDetails(entry: AuditEntry): void {
  delete entry.events;
  if (entry.usage !== undefined && 'calls' in entry.usage) {
    const { calls: _, ...sum } = entry.usage;
    entry.usage = sum;
  }
  if (entry.guardrailsInvoked) entry.guardrailsInvoked = firstOf(entry.guardrailsInvoked);
  if (entry.toolsCalled) entry.toolsCalled = firstOf(entry.toolsCalled);
}

function listedCalls({ usage }: AuditEntry): readonly ModelCall[] | undefined {
  return usage === undefined || 'unavailable' in usage ? undefined : usage.calls;
}

/** Upper estimate of the memory of events or model calls in bytes. A character uses one or two bytes. */
export function estimatedEventBytes(records: readonly (BehavioralEvent | ModelCall)[]): number {
  let bytes = 0;
  for (const record of records) {
    bytes += OBJECT_BYTES;
    for (const value of Object.values(record)) if (typeof value === 'string') bytes += textBytes(value);
  }
  return bytes;
}

function listBytes(names: readonly string[]): number {
  let bytes = 0;
  for (const name of names) bytes += textBytes(name);
  return bytes;
}

function isLong(names: readonly string[] | undefined): boolean {
  return names !== undefined && listBytes(names) > MAX_KEPT_BYTES;
}

/** Upper estimate of the memory of a text in bytes. */
export const textBytes = (text: string): number => TEXT_BYTES + 2 * text.length;

function firstOf(names: readonly string[]): string[] {
  let bytes = 0;
  return names.filter((name) => (bytes += textBytes(name)) <= MAX_KEPT_BYTES);
}
