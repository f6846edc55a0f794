import type { AdminAction } from '../shapes/admin-action.ts';
import type { AuditEntry } from '../shapes/audit-entry.ts';
import type { EgressCall } from '../shapes/egress-call.ts';
import type { Issue } from '../shapes/gap.ts';

/** What `lifecycle` events report about the process of the sidecar. */
export const LIFECYCLE = ['started', 'stopped', 'manifest-changed', 'resumed'] as const;
export type Lifecycle = (typeof LIFECYCLE)[number];

/** One event before it is a line. Times are epoch milliseconds. */
export type RecordEvent =
  /** A completed request to the agent. */
  | { kind: 'request'; entry: AuditEntry }
  /** A call of the agent through a lane, or a tunnel. `request`: the request that it belongs to; null: not known. */
  | { kind: 'call'; call: Omit<EgressCall, 'at'>; at: number; request: Pick<AuditEntry, 'identity'> | null }
  | { kind: 'finding'; issue: Issue; state: 'opened' | 'closed'; at: number }
  /** `comment`: why. `query`: what was searched. */
  | {
      kind: 'admin';
      action: Omit<AdminAction, 'id' | 'at'>;
      comment?: string;
      query?: Readonly<Record<string, string>>;
      at: number;
    }
  /** `by`: who stopped or resumed the agent; null: not known. */
  | { kind: 'stop'; state: 'suspended' | 'resumed'; reason: string; by: string | null; at: number }
  | { kind: 'lifecycle'; state: Lifecycle; at: number }
  /** Events were lost before this line. */
  | { kind: 'gap'; lost: number; reason: string; at: number };

/** What all events of one process have in common. */
export interface RecordSource {
  namespace: string;
  agent: string;
  /** The pod, or another name that is unique among the writers of the agent. */
  instance: string;
  /** Start of the process in epoch milliseconds. */
  startedAt: number;
  /** Version of the product. */
  version: string;
}

/** The position of a line. */
export interface Place {
  sequence: number;
  /** SHA-256 of the previous line, in hex. */
  prev: string;
  /** `sha256:` and the digest of the manifest in force; absent: there is none. */
  manifestDigest?: string;
  /** The provider that the manifest declares; absent: unknown. */
  provider?: string;
}

/** `metadata.log_name` of every line. */
export const LOG_NAME = 'agent-audit';

/** `prev` of the first line of a chain. */
export const NO_LINE = '0'.repeat(64);

/** The chain of a process: the part of `metadata.uid` before the colon. */
export const chainOf = ({ instance, startedAt }: RecordSource): string =>
  `${instance}/${startedAt.toString(36)}`;

/** The chain of an event. */
export const chainOfUid = (uid: string): string => uid.slice(0, Math.max(0, uid.lastIndexOf(':')));
