import type { AuditEntry } from '../shapes/audit-entry.ts';
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
  /** The newest responses of the agent (at most 20) and those of them with a 5xx status; absent: too few. */
  serving?: Serving;
}

export interface Serving {
  responses: number;
  failed: number;
}

const NEWEST_RESPONSES = 20;
/** Fewer responses, such as those during a start, are no evidence. */
const LEAST_RESPONSES = 4;
/** Probes of an orchestrator and scrapes, which would hide that the requests of clients fail. */
const PROBE = /^\/(health|healthz|livez|readyz|live|ready|metrics)(\/|\?|$)/;

/**
 * Counts the newest responses of the agent. Responses of the sidecar itself, such as a 502 or a denial, do not count.
 * @param entries oldest first, as in the ring
 * @param healthPath the declared health endpoint, whose requests do not count
 */
export function servingOf(entries: readonly AuditEntry[], healthPath?: string): { serving?: Serving } {
  const serving = { responses: 0, failed: 0 };
  for (let index = entries.length - 1; index >= 0 && serving.responses < NEWEST_RESPONSES; index--) {
    const entry = entries[index];
    if (entry?.upstreamStatusCode === undefined || isProbe(entry, healthPath)) continue;
    serving.responses++;
    if (entry.upstreamStatusCode >= 500) serving.failed++;
  }
  return serving.responses < LEAST_RESPONSES ? {} : { serving };
}

function isProbe({ method, path }: AuditEntry, healthPath: string | undefined): boolean {
  return (method === 'GET' || method === 'HEAD') && (PROBE.test(path) || path === healthPath);
}

/** Whether at least half of the responses have a 5xx status. */
export function isFailing(serving: Serving | undefined): serving is Serving {
  return serving !== undefined && 2 * serving.failed >= serving.responses;
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
