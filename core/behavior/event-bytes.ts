import type { AuditEntry, BehavioralEvent } from './audit-entry.ts';

/** Bytes of an object with its members, without its texts. */
const OBJECT_BYTES = 120;
/** Bytes of a text besides its characters. */
const TEXT_BYTES = 24;
/** Bytes of each list of names that stay when the details of an entry are removed. */
const MAX_KEPT_BYTES = 2048;

/** Bytes of memory that events take, estimated from above: a character takes one byte or two. */
export function eventBytes(events: readonly BehavioralEvent[]): number {
  let bytes = 0;
  for (const event of events) {
    bytes += OBJECT_BYTES;
    for (const value of Object.values(event)) if (typeof value === 'string') bytes += textBytes(value);
  }
  return bytes;
}

/** Bytes of memory that the names of an entry take. */
export function namesBytes({ guardrailsInvoked = [], toolsCalled = [] }: AuditEntry): number {
  return OBJECT_BYTES + listBytes(guardrailsInvoked) + listBytes(toolsCalled);
}

/** Whether there is something in the entry that `withoutDetails` removes. */
export function hasDetails({ events, guardrailsInvoked = [], toolsCalled = [] }: AuditEntry): boolean {
  return (
    events !== undefined ||
    [guardrailsInvoked, toolsCalled].some((names) => listBytes(names) > MAX_KEPT_BYTES)
  );
}

/** Removes the events of an entry, and its names beyond a few. */
export function withoutDetails(entry: AuditEntry): void {
  delete entry.events;
  if (entry.guardrailsInvoked) entry.guardrailsInvoked = firstOf(entry.guardrailsInvoked);
  if (entry.toolsCalled) entry.toolsCalled = firstOf(entry.toolsCalled);
}

function listBytes(names: readonly string[]): number {
  let bytes = 0;
  for (const name of names) bytes += textBytes(name);
  return bytes;
}

const textBytes = (text: string): number => TEXT_BYTES + 2 * text.length;

function firstOf(names: readonly string[]): string[] {
  let bytes = 0;
  return names.filter((name) => (bytes += textBytes(name)) <= MAX_KEPT_BYTES);
}
