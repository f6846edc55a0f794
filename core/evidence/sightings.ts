import type { AuditEntry, Behavior } from '../behavior/audit-entry.ts';
import { reportedName } from '../behavior/reported-name.ts';
import type { Facts } from '../facts/facts.ts';
import type { Check } from '../health/health.ts';

/**
 * Where something was seen. `probe`: a probe of the sidecar. `wire`: the traffic. `check`: a check of the agent that passes.
 * `report`: a behavioral header or event.
 */
export type SightingSource = 'probe' | 'wire' | 'check' | 'report';

/** How long a sighting counts, in milliseconds. */
export const EVIDENCE_MS = 24 * 60 * 60 * 1000;

/** Whether a time in milliseconds of the epoch is within the 24 hours before `at`. */
export function isRecent(ms: number | undefined, at: Date): ms is number {
  return ms !== undefined && at.getTime() - ms < EVIDENCE_MS;
}

/** The key under which the time of a sighting is kept. Two names that are equal in what reports carry have one key. */
export function sightingKey(source: SightingSource, subject: string): string {
  return `${source} ${reportedName(subject)}`;
}

/** Tokens of a call, whatever its model. */
export const TOKENS = 'tokens';

/** Model ids that stand for none, or for several. */
const NO_MODEL: ReadonlySet<string> = new Set(['unknown', '(several)', '(other)']);
const DATE = /-(\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{8}|\d{6}|\d{3,4}|latest)$/;

/** A model id without the path that gateways put in front of it. */
function plainModel(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1).toLowerCase();
}

/** The subject under which a declared model id is looked up. A dated id is shown by the same date alone. */
export function modelSubject(declared: string): string {
  return `model:${plainModel(declared).replace(/-latest$/, '')}`;
}

/** The subjects that a model id in the traffic or in an event shows: itself, and the id without its date. */
function seenModelSubjects(id: string): string[] {
  if (NO_MODEL.has(id)) return [];
  const plain = plainModel(id);
  return [...new Set([`model:${plain}`, `model:${plain.replace(DATE, '')}`])];
}

/** What one entry of the audit ring shows, in its response and in what the agent reported about it. */
export function sightingsIn(entry: Pick<AuditEntry, keyof Behavior | 'usage' | 'events'>): Set<string> {
  const { usage, guardrailsInvoked, toolsCalled, events } = entry;
  const keys = new Set<string>();
  const add = (source: SightingSource, subject: string): unknown => keys.add(sightingKey(source, subject));
  if (usage !== undefined && !('unavailable' in usage))
    for (const { modelId, totalTokens } of usage.calls ?? [usage]) {
      for (const subject of seenModelSubjects(modelId)) add('wire', subject);
      if (totalTokens > 0) add('wire', TOKENS);
    }
  for (const type of guardrailsInvoked ?? []) add('report', `guardrail:${type}`);
  for (const name of toolsCalled ?? []) add('report', `tool:${name}`);
  for (const event of events ?? []) {
    if (event.type === 'memory' && event.backend !== undefined) add('report', `backend:${event.backend}`);
    if (event.type !== 'model') continue;
    const { modelId, promptTokens, completionTokens } = event;
    for (const key of reportedModelCall(modelId, promptTokens + completionTokens)) keys.add(key);
  }
  return keys;
}

/** What a call of a model shows that the agent reports. */
export function reportedModelCall(modelId: string, totalTokens: number): string[] {
  const subjects = [...seenModelSubjects(modelId), ...(totalTokens > 0 ? [TOKENS] : [])];
  return subjects.map((subject) => sightingKey('report', subject));
}

/** What the checks of an agent's own report show: those that pass. */
export function sightingsInChecks(checks: readonly Check[]): string[] {
  return checks.filter(({ status }) => status === 'pass').map(({ id }) => sightingKey('check', id));
}

/** The types of the guardrails that were reported as invoked within the 24 hours before `at`. */
export function guardrailsSeen(seen: ReadonlyMap<string, number>, at: Date): Set<string> {
  const prefix = sightingKey('report', 'guardrail:');
  const keys = [...seen.keys()].filter((key) => key.startsWith(prefix) && isRecent(seen.get(key), at));
  return new Set(keys.map((key) => key.slice(prefix.length)));
}

/** What one probe run of the sidecar shows: the targets that it reached, and the checks that the agent reports. */
export function sightingsInFacts({ reach, agentReport }: Pick<Facts, 'reach' | 'agentReport'>): string[] {
  const reached = [...reach].flatMap(([id, { state }]) =>
    state === 'reachable' ? [sightingKey('probe', id)] : [],
  );
  return [...reached, ...sightingsInChecks(agentReport?.checks ?? [])];
}
