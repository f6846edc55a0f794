import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { OUTCOMES, type Outcome } from '../../core/shapes/values.ts';
import { comparedTokensIn } from '../../core/behavior/lane-calls.ts';
import type { EgressCall, EgressUsage } from '../../core/shapes/egress-call.ts';
import { BODY_UNREAD, POLICY_UNAVAILABLE } from '../../core/egress/fail-modes.ts';
import type { LaneRoute } from '../../core/egress/lane-routes.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import { sightingsOfLaneCall } from '../../core/facts/sightings.ts';
import type { EgressFacts, McpServerFacts } from '../../core/facts/egress-facts.ts';
import { cut, detached } from '../../core/untrusted/fields.ts';
import type { ModelCall } from '../../core/shapes/request-usage.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { ConnectCall } from './connect-lane.ts';
import { DayCounts } from './day-counts.ts';
import { UNREAD_REASONS, type CallFacts, type UnreadReason } from './lane-call.ts';
import type { McpMemory } from './mcp-memory.ts';
import { SharedLists } from './shared-lists.ts';

export interface EgressLogOptions {
  /** Number of calls that the log keeps. */
  capacity: number;
  /** Bytes of these calls. Above this number, the oldest are dropped. */
  maxBytes: number;
  lanes: readonly Lane[];
  audit: AuditLog;
  memory: Pick<McpMemory, 'everListed' | 'hasListed'>;
  clock: Pick<Clock, 'now'>;
  /** Receives each call that is over, with its request; null: nothing does. The call may change later. */
  onCall: ((call: KeptCall, request: AuditEntry | null) => void) | null;
}

/** A call that is over. */
export interface EndedCall {
  route: LaneRoute;
  method: string;
  /** Status that the agent received; null: none. */
  statusCode: number | null;
  entry: AuditEntry | null;
  facts: CallFacts;
  at: Date;
  durationMs: number;
}

/** Totals of one lane since the start of the process. */
export interface LaneCounts {
  calls: Record<Outcome, number>;
  /** Denied requests, and responses from which a call was removed or that were replaced. */
  blocked: number;
  /** Calls that were denied because the policy engine could not evaluate them, or because they could not be read. */
  failedClosed: number;
  /** Bodies that passed unread. */
  unread: Record<UnreadReason, number>;
  /** Calls that the upstream did not serve completely. */
  failed: number;
  /** Calls whose request is not known. */
  unattributed: number;
  tokens: { prompt: number; completion: number };
  withoutUsage: number;
}

/**
 * The time, in epoch milliseconds, becomes text when the calls are read: that costs more than the rest of the record, and most calls are
 * never read.
 */
export type KeptCall = Omit<EgressCall, 'at'> & { at: number };

/** What a call without tools shows. */
interface Sighting {
  model: string | null;
  server: string | null;
  hasTokens: boolean;
  keys: readonly string[];
}

const REDIRECTS: ReadonlySet<number | null> = new Set([301, 302, 303, 307, 308]);

/** The status of an accepted WebSocket. */
const SWITCHED = 101;

/** Characters of a path that the log keeps. */
const MAX_PATH = 2048;

/** The calls of the agent through the lanes: the newest ones, and totals. */
export class EgressLog {
  readonly counts: ReadonlyMap<string, LaneCounts>;
  readonly #options: EgressLogOptions;
  /** By id, from `#firstId` to `#lastId`. */
  readonly #calls: (KeptCall | undefined)[];
  readonly #costs: Float64Array;
  #bytes = 0;
  #firstId = 1;
  #newest: KeptCall | null = null;
  readonly #lists = new SharedLists();
  readonly #models = new DayCounts();
  readonly #offered = new DayCounts();
  readonly #called = new DayCounts();
  readonly #executed = new DayCounts();
  readonly #hosts = new DayCounts();
  /** Tokens and cost by the members of `EgressFacts.usage`. */
  readonly #usage = new DayCounts();
  readonly #usedLanes = new Set<string>();
  /** Called tools by MCP server. */
  readonly #servers = new Map<string, { calls: DayCounts; tools: DayCounts }>();
  #lastId = 0;
  /** Of the last call: most calls are of one model, without tools. */
  #sighting: Sighting = { model: null, server: null, hasTokens: false, keys: [] };

  constructor(options: EgressLogOptions) {
    const { lanes } = options;
    this.#options = options;
    this.#calls = new Array<KeptCall | undefined>(options.capacity);
    this.#costs = new Float64Array(options.capacity);
    this.counts = new Map(lanes.map(({ id }) => [id, newCounts()]));
    for (const { kind, name } of lanes)
      if (kind === 'mcp' && name !== null)
        this.#servers.set(name, { calls: new DayCounts(), tools: new DayCounts() });
  }

  /** The newest calls, at most `limit`, oldest first. */
  newest(limit = Infinity): readonly EgressCall[] {
    const calls: EgressCall[] = [];
    for (let id = Math.max(this.#firstId, this.#lastId - limit + 1); id <= this.#lastId; id++) {
      const call = this.#calls[this.#slotOf(id)];
      if (call !== undefined) calls.push({ ...call, at: new Date(call.at).toISOString() });
    }
    return calls;
  }

  /** A body passed unread. */
  unread(lane: string, reason: UnreadReason): void {
    const counts = this.counts.get(lane);
    if (counts !== undefined) counts.unread[reason] += 1;
  }

  /** The upstream did not serve a call completely. */
  failed(lane: string): void {
    const counts = this.counts.get(lane);
    if (counts !== undefined) counts.failed += 1;
  }

  add(call: EndedCall): void {
    const { route, facts, entry } = call;
    const kept: KeptCall = {
      id: this.#nextId(),
      at: call.at.getTime(),
      lane: route.lane.id,
      method: call.method,
      path: pathOf(route.upstreamPath),
      model: facts.model,
      ...(facts.otherModels.length > 0 && { otherModels: this.#lists.shared(facts.otherModels) }),
      stream: facts.isStream,
      toolsOffered: this.#lists.shared(facts.toolsOffered),
      toolsCalled: this.#lists.shared(facts.toolsCalled),
      toolsExecuted: this.#lists.shared(facts.toolsExecuted),
      usage: facts.usage,
      statusCode: call.statusCode,
      durationMs: Math.round(call.durationMs * 10) / 10,
      violations: this.#lists.shared(facts.violations),
      blocked: facts.isBlocked,
      outcome: facts.outcome,
      requestId: entry?.requestId ?? null,
      ...(entry?.identity !== undefined && { identity: entry.identity }),
    };
    this.#keep(kept);
    this.#options.onCall?.(kept, entry);
    this.#options.audit.denied(facts.violations);
    if (route.wire === 'mcp')
      facts.onLate = () => {
        kept.toolsExecuted = this.#lists.shared(facts.toolsExecuted);
      };
    this.#count(call);
    // A check of the key requests the list of models, also through a lane that the agent's model calls do not use.
    if (route.wire !== null || call.method !== 'GET' || call.statusCode === SWITCHED)
      this.#usedLanes.add(route.lane.id);
    // The client sends a redirected call again.
    if (REDIRECTS.has(call.statusCode)) return;
    this.#observe(call, this.#options.clock.now());
    // A call that passes unread, such as a list of models, does not call a model or a tool.
    if (route.wire === null) return;
    this.#options.audit.recordLaneCall(entry, {
      model: facts.model,
      tools: facts.toolsCalled,
      usage: modelCallOf(facts),
      isUsageUnknown: facts.isUsageUnknown,
    });
  }

  /** A tunnel of the CONNECT lane. */
  addConnect(call: ConnectCall): void {
    const outcome = call.violations.length > 0 ? 'deny' : 'allow';
    const kept: KeptCall = { id: this.#nextId(), ...call, at: call.at.getTime(), outcome, requestId: null };
    this.#keep(kept);
    this.#options.onCall?.(kept, null);
    this.#options.audit.denied(call.violations);
    this.#hosts.add(call.path.replace(/:\d+$/, ''), this.#options.clock.now());
  }

  /** What the lanes observed in the last 24 hours. */
  facts(): Omit<EgressFacts, 'census'> {
    const { lanes, audit, memory, clock } = this.#options;
    const now = clock.now();
    const servers = [...this.#servers].filter(([, { calls }]) => calls.totals(now).size > 0);
    const usage = this.#usage.totals(now);
    const failedOpen = [...this.counts.values()].reduce((sum, { calls }) => sum + calls.failOpen, 0);
    return {
      lanes: lanes.map(({ id }) => id),
      usedLanes: new Set(this.#usedLanes),
      models: this.#models.totals(now),
      toolsOffered: this.#offered.totals(now),
      toolsCalled: this.#called.totals(now),
      toolsExecuted: this.#executed.totals(now),
      mcpServers: new Map(
        servers.map(([name, { tools }]): [string, McpServerFacts] => [
          name,
          {
            ...{ toolsListed: memory.everListed(name), hasListed: memory.hasListed(name) },
            toolsCalled: tools.totals(now),
          },
        ]),
      ),
      ...comparedTokensIn(audit.ring.newest()),
      hosts: this.#hosts.totals(now),
      ...(usage.size > 0 && {
        usage: {
          ...{ prompt: usage.get('prompt') ?? 0, completion: usage.get('completion') ?? 0 },
          costUsd: usage.get('costUsd') ?? null,
        },
      }),
      ...(failedOpen > 0 && { failedOpen }),
    };
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #keep(kept: KeptCall): void {
    const { capacity, maxBytes } = this.#options;
    const cost = costOf(kept, this.#newest);
    while (this.#firstId < kept.id && (kept.id - this.#firstId >= capacity || this.#bytes + cost > maxBytes))
      this.#dropOldest();
    this.#newest = kept;
    this.#calls[this.#slotOf(kept.id)] = kept;
    this.#costs[this.#slotOf(kept.id)] = cost;
    this.#bytes += cost;
  }

  #dropOldest(): void {
    const slot = this.#slotOf(this.#firstId);
    this.#bytes -= this.#costs[slot] ?? 0;
    this.#calls[slot] = undefined;
    this.#firstId += 1;
  }

  #slotOf(id: number): number {
    return (id - 1) % this.#options.capacity;
  }

  #count({ route, facts, entry }: EndedCall): void {
    const counts = this.counts.get(route.lane.id);
    if (counts === undefined) return;
    counts.calls[facts.outcome] += 1;
    if (facts.isBlocked) counts.blocked += 1;
    if ([POLICY_UNAVAILABLE, BODY_UNREAD].some((each) => facts.violations.includes(each)))
      counts.failedClosed += 1;
    if (entry === null) counts.unattributed += 1;
    if (facts.isUsageUnknown) counts.withoutUsage += 1;
    counts.tokens.prompt += facts.usage?.promptTokens ?? 0;
    counts.tokens.completion += facts.usage?.completionTokens ?? 0;
  }

  #observe({ route: { lane }, facts, statusCode }: EndedCall, now: Date): void {
    const server = lane.kind === 'mcp' ? lane.name : null;
    // A denied call of an MCP server gets the status 200, without the server.
    const isServed = statusCode !== null && statusCode < 400 && (server === null || !facts.isBlocked);
    if (isServed) this.#hosts.add(lane.upstream.hostname, now);
    if (server !== null) {
      if (isServed) this.#servers.get(server)?.calls.add(server, now);
      this.#servers.get(server)?.tools.addAll(facts.toolsCalled, now);
    } else {
      if (facts.model !== null) this.#models.add(facts.model, now);
      this.#offered.addAll(facts.toolsOffered, now);
      this.#called.addAll(facts.toolsCalled, now);
      this.#executed.addAll(facts.toolsExecuted, now);
    }
    if (facts.usage !== null) this.#addUsage(facts.usage, now);
    if (isServed) this.#options.audit.seen.note(this.#sightingsOf(facts, server), now);
  }

  #addUsage({ promptTokens, completionTokens, costUsd }: EgressUsage, now: Date): void {
    this.#usage.add('prompt', now, promptTokens);
    this.#usage.add('completion', now, completionTokens);
    if (costUsd !== undefined) this.#usage.add('costUsd', now, costUsd);
  }

  #sightingsOf(facts: CallFacts, server: string | null): readonly string[] {
    const { model, usage, toolsCalled, toolsExecuted } = facts;
    const totalTokens = (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0);
    const hasTools = toolsCalled.length + toolsExecuted.length > 0;
    const hasTokens = totalTokens > 0;
    const known = this.#sighting;
    if (!hasTools && model === known.model && server === known.server && hasTokens === known.hasTokens)
      return known.keys;
    const keys = sightingsOfLaneCall({
      models: model === null ? [] : [model],
      tools: [...toolsCalled, ...toolsExecuted],
      mcpServers: server === null ? [] : [server],
      totalTokens,
    });
    if (!hasTools) this.#sighting = { model, server, hasTokens, keys };
    return keys;
  }
}

function newCounts(): LaneCounts {
  return {
    calls: zeros(OUTCOMES),
    unread: zeros(UNREAD_REASONS),
    tokens: { prompt: 0, completion: 0 },
    ...{ blocked: 0, failedClosed: 0, failed: 0, unattributed: 0, withoutUsage: 0 },
  };
}

const zeros = <K extends string>(keys: readonly K[]): Record<K, number> =>
  Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;

/** Without the query, in which some vendors accept keys. */
function pathOf(target: string): string {
  const at = target.indexOf('?');
  const path = cut(at < 0 ? target : target.slice(0, at), MAX_PATH);
  return target.length > MAX_PATH ? detached(path) : path;
}

/** Bytes of a call without its texts. */
const CALL_BYTES = 512;
/** Bytes of a name in addition to its characters. */
const NAME_BYTES = 40;

/** Memory of a call in bytes. A list that the call before it has too is one object. */
function costOf(call: KeptCall, before: KeptCall | null): number {
  const { path, model, identity } = call;
  let bytes = CALL_BYTES + path.length + (model?.length ?? 0) + 2 * (identity?.user?.length ?? 0);
  for (const field of ['toolsOffered', 'toolsCalled', 'toolsExecuted', 'violations'] as const)
    if (call[field] !== before?.[field]) for (const name of call[field]) bytes += NAME_BYTES + name.length;
  return bytes;
}

function modelCallOf({ model, usage }: CallFacts): ModelCall | null {
  if (usage === null) return null;
  const { promptTokens, completionTokens } = usage;
  return {
    modelId: model ?? 'unknown',
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
  };
}
