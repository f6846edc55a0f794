import { LANE_USAGE } from '../shapes/hidden-members.ts';
import type { AuditEntry } from '../shapes/audit-entry.ts';
import type { BehavioralEvent } from '../shapes/events.ts';
import { totalOf } from '../usage/response-usage.ts';
import type { CallSum, RingUsageReport } from '../shapes/sidecar-reports.ts';
import type { ModelCall } from '../shapes/request-usage.ts';
import type { ModelUsage } from '../shapes/usage.ts';
import { addCalls, emptyWindow } from '../usage/usage-window.ts';

/** Where the calls of an entry come from: its response, the agent's `model` events, OpenTelemetry spans, or egress lanes. */
type Origin = 'wire' | 'events' | 'spans' | 'lanes';

/**
 * Calls of an entry: read from its response, reported by its `model` events, reported by spans, or seen on egress lanes, whichever
 * total is the largest; never a sum of them.
 */
export const callsOf = (entry: AuditEntry): readonly ModelCall[] => sourceOf(entry).calls;

/** Number of calls of an entry whose usage is unknown. */
export function callsWithoutUsageOf(entry: AuditEntry): number {
  const { usage } = entry;
  const ofLanes = entry[LANE_USAGE]?.withoutUsage ?? 0;
  if (usage === undefined && ofLanes === 0) return 0;
  const { calls, origin } = sourceOf(entry);
  if (calls.length === 0) return usage === undefined ? ofLanes : Math.max(1, ofLanes);
  if (origin === 'lanes') return ofLanes;
  // If the agent reports more than the response, its report also covers the calls without usage.
  return origin === 'wire' && usage !== undefined && 'callsWithoutUsage' in usage
    ? (usage.callsWithoutUsage ?? 0)
    : 0;
}

/** Those calls without usage that the completion of an entry adds. Those of lanes were counted when they ended. */
export function callsWithoutUsageAtCompletion(entry: AuditEntry): number {
  return Math.max(0, callsWithoutUsageOf(entry) - (entry[LANE_USAGE]?.withoutUsage ?? 0));
}

/** The calls that the agent reported for an entry: in its response, events or spans. */
export function reportedCallsOf(entry: AuditEntry): readonly ModelCall[] {
  return largestOf(reportsOf(entry)).calls;
}

/** Calls that the completion of an entry adds to the totals. Its lane calls were counted when they ended. */
export function callsAtCompletion(entry: AuditEntry): readonly ModelCall[] {
  // Most requests have no calls.
  if (entry.usage === undefined && entry.events === undefined) return [];
  const { calls, origin } = sourceOf(entry);
  if (origin === 'lanes') return [];
  const lanes = laneCallsOf(entry);
  return lanes.length === 0 ? calls : callsBeyond(calls, lanes);
}

/** Calls that a lane call adds to the totals. `before`: the entry without the call. */
export function callsOfLane(before: AuditEntry, after: AuditEntry, call: ModelCall): readonly ModelCall[] {
  if (before.outcome === undefined) return [call];
  return callsBeyond(sourceOf(after).calls, sourceOf(before).calls);
}

/** What `calls` have in addition to `known`, as a call of the last model; empty: nothing. */
export function callsBeyond(calls: readonly ModelCall[], known: readonly ModelCall[]): readonly ModelCall[] {
  const [counted, now] = [totalOf(known), totalOf(calls)];
  const totalTokens = now.totalTokens - counted.totalTokens;
  if (totalTokens <= 0) return [];
  const promptTokens = Math.min(totalTokens, Math.max(0, now.promptTokens - counted.promptTokens));
  const { modelId } = calls.at(-1) ?? now;
  return [{ modelId, promptTokens, completionTokens: totalTokens - promptTokens, totalTokens }];
}

/**
 * Calls that late events add to the totals. Nothing is added while the request is in flight, because its completion counts
 * the whole entry. If the events report more than what was counted from another origin, the difference counts for the model of
 * the last event.
 */
export function lateCallsOf(before: AuditEntry, after: AuditEntry): readonly ModelCall[] {
  if (before.outcome === undefined) return [];
  const [counted, now] = [sourceOf(before), sourceOf(after)];
  if (now.origin === 'wire') return [];
  if (counted.origin === now.origin || counted.calls.length === 0)
    return now.calls.slice(counted.calls.length);
  return callsBeyond(now.calls, counted.calls);
}

interface Source {
  calls: readonly ModelCall[];
  origin: Origin;
}

function sourceOf(entry: AuditEntry): Source {
  // Most entries have no other source than the response.
  if (entry.events === undefined && entry[LANE_USAGE] === undefined)
    return { origin: 'wire', calls: callsRead(entry) };
  return largestOf([...reportsOf(entry), { origin: 'lanes', calls: laneCallsOf(entry) }]);
}

function reportsOf(entry: AuditEntry): Source[] {
  const { events = [] } = entry;
  return [
    { origin: 'wire', calls: callsRead(entry) },
    { origin: 'events', calls: callsIn(events.filter(({ source }) => source === undefined)) },
    // A span without token counts is evidence of its model, but no call with usage.
    { origin: 'spans', calls: callsIn(events.filter(({ source }) => source === 'span')).filter(hasTokens) },
  ];
}

/** The first one with the most tokens. */
function largestOf(sources: readonly Source[]): Source {
  return sources.reduce((largest, each) =>
    totalOf(each.calls).totalTokens > totalOf(largest.calls).totalTokens ? each : largest,
  );
}

const laneCallsOf = (entry: AuditEntry): readonly ModelCall[] => entry[LANE_USAGE]?.calls ?? [];

const hasTokens = ({ totalTokens }: ModelCall): boolean => totalTokens > 0;

function callsRead({ usage }: AuditEntry): readonly ModelCall[] {
  if (usage === undefined || 'unavailable' in usage) return [];
  return usage.calls ?? [usage];
}

/** The calls that `model` events report. */
export function callsIn(events: readonly BehavioralEvent[]): ModelCall[] {
  return events
    .filter((event) => event.type === 'model')
    .map(({ modelId, promptTokens, completionTokens }) => ({
      modelId,
      promptTokens,
      completionTokens,
      totalTokens: promptTokens + completionTokens,
    }));
}

export interface RingUsageOptions {
  /** Calls without an entry. */
  withoutRequest: CallSum;
  /** Calls of lanes without usage and without an entry. */
  unknownWithoutRequest: number;
  /** The cost of calls in US dollars; null: not known. */
  costOf: (models: readonly ModelUsage[]) => number | null;
}

/** `GET /usage` from the audit ring. A response with unknown usage is counted separately, never as 0 tokens. */
export function ringUsageReport(
  entries: readonly AuditEntry[],
  { withoutRequest, unknownWithoutRequest, costOf }: RingUsageOptions,
): RingUsageReport {
  const calls = entries.map(callsOf);
  const { models, totalTokens, totalCalls } = addCalls(emptyWindow(''), calls.flat());
  return {
    source: 'audit-ring',
    models: models.map((each) => ({
      modelId: each.modelId,
      totalTokens: each.totalTokens,
      callCount: each.callCount,
    })),
    totalTokens,
    totalCalls,
    costUsd: costOf(models),
    sampleSize: calls.filter((ofEntry) => ofEntry.length > 0).length,
    callsWithoutUsage: entries.reduce(
      (sum, entry) => sum + callsWithoutUsageOf(entry),
      unknownWithoutRequest,
    ),
    ...(withoutRequest.totalCalls > 0 && { withoutRequest }),
  };
}
