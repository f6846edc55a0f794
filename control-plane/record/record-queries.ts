import type { Request, Response } from 'express';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { sourceOf } from '../auth/once-per-source.ts';
import { actorOf } from '../auth/principal.ts';
import type { ControlPlaneContext } from '../context.ts';

/** A page that refreshes itself, and the pages of one result, are one query. In milliseconds. */
const REPEAT_MS = 600_000;
/** Remembered queries. A forgotten query is recorded again. */
const MAX_QUERIES = 1_000;

type Filters = Readonly<Record<string, string | Date>>;

/**
 * Records that a caller reads audit events, once in ten minutes for the same filters. Rejects if it cannot be recorded: then the
 * caller must not get the events.
 */
export function queryRecorder({ clock, ownEvents }: ControlPlaneContext) {
  // When each query was recorded, monotonic.
  const recorded = new Map<string, number>();
  return async (request: Request, response: Response, filters: Filters): Promise<void> => {
    const actor = actorOf(response);
    const entries = Object.entries(filters).map(
      ([name, value]) => [name, value instanceof Date ? value.toISOString() : value] as const,
    );
    const query = Object.fromEntries(entries);
    const address = sourceOf(request);
    const key = JSON.stringify([actor, address, entries]);
    const nowMs = clock.monotonicMs();
    if (nowMs - (recorded.get(key) ?? -Infinity) < REPEAT_MS) return;
    const agentName = query['agent'] ?? null;
    const namespace = query['namespace'] ?? null;
    const action = { action: 'listAuditEvents', address, actor, agentName, namespace };
    await ownEvents?.add(
      { ...(namespace !== null && { namespace }), ...(agentName !== null && { name: agentName }) },
      {
        ...{ kind: 'admin', action: { ...action, ruleId: null, status: 200 }, query },
        at: clock.now().getTime(),
      },
    );
    setNewest(recorded, [key, nowMs], MAX_QUERIES);
  };
}
