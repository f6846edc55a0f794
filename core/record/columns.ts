import { auditEvent, type AuditEvent, type EventKind } from '../shapes/audit-event.ts';
import { parseWith } from '../shapes/field.ts';
import type { Outcome } from '../shapes/values.ts';
import { jsonOf } from '../untrusted/fields.ts';

/** What an audit event is searched by. null: the event does not have it. */
export interface EventColumns {
  /** Unique among all events. */
  uid: string;
  /** In epoch milliseconds. */
  at: number;
  namespace: string;
  agent: string;
  kind: EventKind;
  outcome: Outcome | null;
  user: string | null;
  session: string | null;
  /** The tools of a call, each once. */
  tools: readonly string[];
}

/** A line as an event; `error`: why the line is none. */
export type ParsedLine = { ok: true; event: AuditEvent } | { ok: false; error: string };

/** Parses a line of an audit log, from any writer. */
export function parseLine(line: string): ParsedLine {
  const value = jsonOf(line);
  return value === undefined ? { ok: false, error: 'not valid JSON' } : parseEvent(value);
}

/** Parses the JSON value of a line. */
export function parseEvent(value: unknown): ParsedLine {
  const parsed = parseWith(auditEvent, value);
  if (!parsed.ok) {
    const [first] = parsed.errors;
    return { ok: false, error: `not an audit event: ${first?.path} ${first?.message}` };
  }
  if (!parsed.value.actor.app_uid.includes('/'))
    return { ok: false, error: 'not an audit event: actor.app_uid must be NAMESPACE/AGENT' };
  return { ok: true, event: parsed.value };
}

/** The columns of an event. */
export function columnsOf(event: AuditEvent): EventColumns {
  const { actor, metadata, resources = [], time, unmapped } = event;
  const slash = actor.app_uid.indexOf('/');
  return {
    uid: metadata.uid,
    at: time,
    namespace: actor.app_uid.slice(0, slash),
    agent: actor.app_uid.slice(slash + 1),
    kind: unmapped.platform.kind,
    outcome: unmapped.platform.outcome ?? null,
    user: actor.user?.uid ?? null,
    session: actor.session?.uid ?? null,
    tools: [...new Set(resources.map(({ name }) => name))],
  };
}
