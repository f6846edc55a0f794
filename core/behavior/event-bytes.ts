import type { AuditEntry, BehavioralEvent } from './audit-entry.ts';

/** Bytes of an object with its members, without its texts. */
const OBJECT_BYTES = 120;
/** Bytes of a text besides its characters. */
const TEXT_BYTES = 24;
/** Characters of names that stay when the details of an entry are removed. */
const MAX_KEPT = 1024;

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
  let bytes = OBJECT_BYTES;
  for (const name of [...guardrailsInvoked, ...toolsCalled]) bytes += textBytes(name);
  return bytes;
}

/** Removes the events of an entry, and its names beyond a few. */
export function withoutDetails(entry: AuditEntry): void {
  delete entry.events;
  if (entry.guardrailsInvoked) entry.guardrailsInvoked = firstOf(entry.guardrailsInvoked);
  if (entry.toolsCalled) entry.toolsCalled = firstOf(entry.toolsCalled);
}

const textBytes = (text: string): number => TEXT_BYTES + 2 * text.length;

function firstOf(names: readonly string[]): string[] {
  let length = 0;
  return names.filter((name) => (length += name.length) <= MAX_KEPT);
}
