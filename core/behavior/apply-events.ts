import type { AuditEntry } from '../shapes/audit-entry.ts';
import type { BehavioralEvent } from '../shapes/events.ts';
import { hasBehavior } from './parse-behavior-headers.ts';

/** Maximum events and names per entry, so that one request cannot exhaust the sidecar's memory. Later events still add names. */
const MAX_EVENTS = 500;
const MAX_NAMES = 1000;

/**
 * Returns the entry with the events and their facts added to the facts from the headers. A guardrail event with
 * `invoked: false` sets the list but adds no name. A tool counts as called even if the call failed. If spans report only
 * tools, the entry is marked: instrumentation that has no spans for guardrails must not count as an agent without guardrails.
 */
export function applyEvents(entry: AuditEntry, events: readonly BehavioralEvent[]): AuditEntry {
  if (events.length === 0) return entry;
  const guardrails = events.filter((event) => event.type === 'guardrail');
  const tools = events.filter((event) => event.type === 'tool');
  const next: AuditEntry = { ...entry, events: [...(entry.events ?? []), ...events].slice(0, MAX_EVENTS) };
  if (guardrails.length > 0) {
    const invoked = guardrails.filter((event) => event.invoked).map((event) => event.guardrailType);
    next.guardrailsInvoked = union(entry.guardrailsInvoked, invoked).slice(0, MAX_NAMES);
  }
  if (tools.length > 0) {
    const called = tools.map((event) => event.name);
    next.toolsCalled = union(entry.toolsCalled, called).slice(0, MAX_NAMES);
  }
  if (guardrails.length === 0 && tools.length > 0 && tools.every(isFromSpan) && !hasBehavior(entry))
    next.behaviorFrom = 'spans';
  else if (guardrails.length + tools.length > 0) delete next.behaviorFrom;
  return next;
}

const isFromSpan = ({ source }: BehavioralEvent): boolean => source === 'span';

/** Merges lists of names. Events may arrive before the head, and trailers arrive after it. */
export function union(known: readonly string[] | undefined, added: readonly string[]): string[] {
  return [...new Set(known === undefined ? added : [...known, ...added])];
}
