import type { AuditHead } from '../../core/shapes/audit-log.ts';
import type { AgentKey } from './store.ts';

/** An audit event: its line, and the values by which it is found. */
export interface AuditRow {
  /** The agent that the event is about. */
  key: AgentKey;
  /** Unique among the events of the agent. */
  uid: string;
  at: Date;
  kind: string;
  outcome: string | null;
  /** The id of the person; null: not known. */
  user: string | null;
  tools: readonly string[];
  /** The event as JSON, without a line break. */
  line: string;
}

export interface AuditEventQuery {
  agent?: string;
  user?: string;
  tool?: string;
  outcome?: string;
  kind?: string;
  /** Inclusive. */
  since?: Date;
  /** Exclusive. */
  until?: Date;
  /** Only events in these namespaces; null: in every namespace. */
  namespaces: readonly string[] | null;
  limit: number;
  /** Resume after this event; null: from the newest. */
  after: AuditPosition | null;
}

/** The place of an event in the order of a list. Events of the same time are ordered by `id`. */
export interface AuditPosition {
  /** Milliseconds. */
  at: number;
  id: number;
}

/** The newest first. `next`: the last event of this page; null: there is no next page. */
export interface AuditEventPage {
  lines: string[];
  next: AuditPosition | null;
}

/** The part of a store that keeps audit events. Only the SQL stores have it. Events outlive their agents. */
export interface AuditEventStore {
  /** Adds all events or none. An event with a known `uid` of the same agent changes nothing. Returns how many were new. */
  add(rows: readonly AuditRow[]): Promise<number>;
  find(query: AuditEventQuery): Promise<AuditEventPage>;
  /** The last head of each chain of the agent in each hour, the newest first; at most `limit`. */
  heads(key: AgentKey, limit: number): Promise<AuditHead[]>;
}
