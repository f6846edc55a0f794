import { REQUESTED_MODEL } from '../shapes/hidden-members.ts';
import type { Check } from '../shapes/health.ts';
import type { AuditEntry, Behavior } from '../shapes/audit-entry.ts';
import { reportedName } from '../untrusted/reported-name.ts';
import type { Facts } from './facts.ts';

/**
 * The source of a sighting. `probe`: a probe from the sidecar. `wire`: the responses of the agent. `requested`: a response with the
 * model that its request named, which an agent may repeat without using it. `lane`: the calls of the agent on an egress lane.
 * `check`: a passing check reported by the agent. `report`: a behavioral header or event.
 */
export type SightingSource = 'probe' | 'wire' | 'requested' | 'lane' | 'check' | 'report';

/** How long a sighting counts, in milliseconds. */
export const EVIDENCE_MS = 24 * 60 * 60 * 1000;

/** Whether a time in epoch milliseconds is within the 24 hours before `at`. */
export function isRecent(ms: number | undefined, at: Date): ms is number {
  return ms !== undefined && at.getTime() - ms < EVIDENCE_MS;
}

/** The key under which the time of a sighting is stored. Names that are equal in reports have the same key. */
export function sightingKey(source: SightingSource, subject: string): string {
  return `${source} ${reportedName(subject)}`;
}

/** Subject for the tokens of a call of any model. */
export const TOKENS = 'tokens';

/** Placeholders that do not name one model. */
const NO_MODEL: ReadonlySet<string> = new Set(['unknown', '(several)', '(other)']);
const DATE = /-(\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{8}|\d{6}|\d{3,4}|latest)$/;

/** A model id without the path prefix that gateways add. */
function plainModel(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1).toLowerCase();
}

/** The name under which a declared model id is looked up. A dated id matches only the same date. */
export function declaredModelName(declared: string): string {
  return plainModel(declared).replace(/-latest$/, '');
}

/** The subject under which a declared model id is looked up. */
export function modelSubject(declared: string): string {
  return `model:${declaredModelName(declared)}`;
}

/** The names of a model, and the sighting keys of its calls in the traffic. */
interface KnownModel {
  id: string;
  names: readonly string[];
  wireKeys: readonly string[];
  /** If the request named the model. */
  requestedKeys: readonly string[];
}

/** Remembered because the names are needed several times per call, almost always of the same model. */
let lastModel: KnownModel | null = null;

function knownModel(id: string): KnownModel {
  if (lastModel === null || id !== lastModel.id) {
    const names = namesOf(id);
    const keysOf = (source: SightingSource): string[] =>
      names.map((name) => sightingKey(source, `model:${name}`));
    lastModel = { id, names, wireKeys: keysOf('wire'), requestedKeys: keysOf('requested') };
  }
  return lastModel;
}

/** The names of a model id in the traffic or in an event: the id itself, and the id without its date. */
export function modelNamesOf(id: string): readonly string[] {
  return knownModel(id).names;
}

function namesOf(id: string): string[] {
  if (NO_MODEL.has(id)) return [];
  const plain = plainModel(id);
  return [...new Set([plain, plain.replace(DATE, '')])];
}

const modelSubjectsOf = (id: string): string[] => modelNamesOf(id).map((name) => `model:${name}`);

/** The sighting keys of one entry of the audit ring, from its response and from the agent's report about it. */
export function sightingsIn(
  entry: Pick<AuditEntry, keyof Behavior | 'usage' | 'events'>,
): ReadonlySet<string> {
  const { usage, guardrailsInvoked, toolsCalled, events } = entry;
  if (usage === undefined && guardrailsInvoked === undefined && toolsCalled === undefined && !events)
    return NO_KEYS;
  const keys = new Set<string>();
  const add = (source: SightingSource, subject: string): unknown => keys.add(sightingKey(source, subject));
  if (usage !== undefined && !('unavailable' in usage))
    for (const { modelId, totalTokens, [REQUESTED_MODEL]: isRequested } of usage.calls ?? [usage]) {
      const { wireKeys, requestedKeys } = knownModel(modelId);
      for (const key of isRequested ? requestedKeys : wireKeys) keys.add(key);
      if (totalTokens > 0) keys.add(WIRE_TOKENS);
    }
  for (const key of guardrailsInvoked ? keysOfGuardrails(guardrailsInvoked) : []) keys.add(key);
  for (const key of toolsCalled ? keysOfTools(toolsCalled) : []) keys.add(key);
  for (const event of events ?? []) {
    if (event.type === 'memory' && event.backend !== undefined) add('report', `backend:${event.backend}`);
    if (event.type !== 'model') continue;
    const { modelId, promptTokens, completionTokens } = event;
    for (const key of reportedModelCall(modelId, promptTokens + completionTokens)) keys.add(key);
  }
  return keys;
}

const NO_KEYS: ReadonlySet<string> = new Set();
const WIRE_TOKENS = sightingKey('wire', TOKENS);

const keysOfGuardrails = rememberKeys('guardrail');
const keysOfTools = rememberKeys('tool');

/**
 * Returns a function for the keys of reported names. It remembers them by list: requests that report the same names share one
 * list, and the same strings as keys are found without hashing them each time.
 */
function rememberKeys(kind: 'guardrail' | 'tool'): (names: readonly string[]) => readonly string[] {
  const known = new WeakMap<readonly string[], readonly string[]>();
  return (names) => {
    let keys = known.get(names);
    if (keys === undefined) {
      keys = names.map((name) => sightingKey('report', `${kind}:${name}`));
      known.set(names, keys);
    }
    return keys;
  };
}

/** What one call on an egress lane shows. */
export interface LaneCall {
  /** The requested id and the id of the response. */
  models: readonly string[];
  /** Tools that the model called or whose results the request contains, and called tools of MCP servers. */
  tools: readonly string[];
  /** The MCP server that responded. */
  mcpServers: readonly string[];
  totalTokens: number;
}

/** The sighting keys of a finished call on an egress lane. */
export function sightingsOfLaneCall({ models, tools, mcpServers, totalTokens }: LaneCall): string[] {
  const subjects = [
    ...models.flatMap(modelSubjectsOf),
    ...tools.map((name) => `tool:${name}`),
    ...mcpServers.map((name) => `mcp:${name}`),
    ...(totalTokens > 0 ? [TOKENS] : []),
  ];
  return [...new Set(subjects.map((subject) => sightingKey('lane', subject)))];
}

/** The sighting keys of a model call that the agent reports. */
export function reportedModelCall(modelId: string, totalTokens: number): string[] {
  const subjects = [...modelSubjectsOf(modelId), ...(totalTokens > 0 ? [TOKENS] : [])];
  return subjects.map((subject) => sightingKey('report', subject));
}

/** The sighting keys of the passing checks in an agent's own report. */
export function sightingsInChecks(checks: readonly Check[]): string[] {
  return checks.filter(({ status }) => status === 'pass').map(({ id }) => sightingKey('check', id));
}

/** The types of guardrails that were reported as invoked within the 24 hours before `at`. */
export function guardrailsSeen(seen: ReadonlyMap<string, number>, at: Date): Set<string> {
  const prefix = sightingKey('report', 'guardrail:');
  const keys = [...seen.keys()].filter((key) => key.startsWith(prefix) && isRecent(seen.get(key), at));
  return new Set(keys.map((key) => key.slice(prefix.length)));
}

/** The sighting keys of one probe run of the sidecar: reached targets, and passing checks that the agent reports. */
export function sightingsInFacts({ reach, agentReport }: Pick<Facts, 'reach' | 'agentReport'>): string[] {
  const reached = [...reach].flatMap(([id, { state }]) =>
    state === 'reachable' ? [sightingKey('probe', id)] : [],
  );
  return [...reached, ...sightingsInChecks(agentReport?.checks ?? [])];
}
