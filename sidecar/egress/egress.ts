import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { LaneRoutes } from '../../core/egress/lane-routes.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import type { ModelUsage } from '../../core/egress/model-wire.ts';
import type { EgressUsage } from '../../core/shapes/egress-call.ts';
import { priceOf, type KnownPrice } from '../../core/egress/prices.ts';
import type { EgressFacts } from '../../core/facts/egress-facts.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseTraceparent } from '../../core/otlp/trace-context.ts';
import { costOf } from '../../core/usage/cost.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { slept } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { startOnLoopback } from '../loopback.ts';
import type { RequestTraces } from '../otlp/request-traces.ts';
import { valuesOf, type HeaderList } from '../proxy/headers.ts';
import { OutageLog } from '../proxy/outage-log.ts';
import { createHttpUpstream } from '../http-client/create-http-upstream.ts';
import { stoppable } from '../stop/open-sockets.ts';
import { CallNames } from './call-names.ts';
import type { CallContext } from './create-call.ts';
import { EgressLog, type EgressLogOptions } from './egress-log.ts';
import { EgressPolicy, type EgressPolicyOptions } from './egress-policy.ts';
import type { LaneContext, OpenLane } from './lane-context.ts';
import { startLaneServer, type LaneServer } from './lane-server.ts';
import { McpMemory } from './mcp-memory.ts';
import { RefusedOptions } from './refused-options.ts';
import { Reservations } from './reservations.ts';

/** Models whose prices are remembered. */
const MAX_PRICES = 200;
/** Hosts, by lane, to which upstreams redirect and that are logged. */
const MAX_DEPARTURES = 20;

export interface EgressOptions
  extends
    Omit<EgressPolicyOptions, 'evaluator' | 'memory'>,
    Pick<CallContext, 'wires' | 'onForbiddenTool'>,
    Pick<LaneContext, 'load' | 'clock' | 'tls' | 'stop'> {
  /** Empty: no port is opened, and the log has only the calls of the CONNECT lane. */
  lanes: readonly Lane[];
  port: number;
  /** Number of calls that the log keeps. */
  capacity: number;
  policy: EgressPolicyOptions['evaluator'];
  audit: AuditLog;
  /** null: no spans are received, so traces are not remembered. */
  traces: Pick<RequestTraces, 'requestIdAt'> | null;
  logger: Logger;
  onCall: EgressLogOptions['onCall'];
}

/** The lanes through which the agent calls models and MCP servers. */
export class Egress {
  readonly log: EgressLog;
  readonly policy: EgressPolicy;
  readonly reservations: Reservations;
  readonly #options: EgressOptions;
  readonly #context: LaneContext;
  #servers: LaneServer[] = [];
  #isClosing = false;

  constructor(options: EgressOptions) {
    const { lanes, audit, clock, onCall, capacity, mode, failModes, policy, manifest, load, tls, stop } =
      options;
    this.#options = options;
    const memory = new McpMemory();
    this.log = new EgressLog({
      ...{ capacity, lanes, audit, memory, clock, onCall },
      maxBytes: load.maxEgressLog,
    });
    const { directive, totals } = options;
    this.policy = new EgressPolicy({
      ...{ mode, failModes, evaluator: policy, manifest, memory, directive, totals },
    });
    this.reservations = new Reservations(clock);
    this.#context = {
      lanes: new Map(lanes.map((lane) => [lane.id, openLane(lane, options)])),
      routes: new LaneRoutes(lanes),
      calls: {
        ...{ wires: options.wires, onForbiddenTool: options.onForbiddenTool, policy: this.policy, memory },
        ...{ reservations: this.reservations, names: new CallNames() },
        refused: new RefusedOptions(clock),
        withCost: costs(manifest),
      },
      ...{ log: this.log, load, clock, tls, stop },
      isDraining: () => this.#isClosing,
      join: (raw) => this.#join(raw),
    };
  }

  /** Starts to listen on loopback; rejects if the port is in use. */
  async start(): Promise<void> {
    const { lanes, port } = this.#options;
    if (lanes.length === 0) return;
    await startOnLoopback(
      async (host) => void this.#servers.push(await startLaneServer(this.#context, { host, port })),
      () => this.close(0),
    );
  }

  /** Resolves when no client is connected to the lanes, so that all calls are in the log; at the latest after `limitMs`. */
  async idle(limitMs: number): Promise<void> {
    const ended = new AbortController();
    const idle = Promise.all(this.#servers.map((server) => server.idle()));
    await Promise.race([idle, slept(this.#options.clock, limitMs, ended.signal)]);
    ended.abort();
  }

  /** Waits `graceMs` milliseconds for calls in flight. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const servers = this.#servers;
    this.#servers = [];
    await Promise.all(servers.map((each) => each.close(graceMs)));
    await Promise.all([...this.#context.lanes.values()].map(({ upstream }) => upstream.close()));
  }

  /** What the lanes observed in the last 24 hours. */
  facts(): EgressFacts {
    return { ...this.log.facts(), census: null };
  }

  /** The request of the call's trace, else the only one in flight. */
  #join(raw: HeaderList): AuditEntry | null {
    const { traces, audit, clock } = this.#options;
    const [header = ''] = traces === null ? [] : valuesOf(raw, 'traceparent');
    const context = parseTraceparent(header.trim());
    const requestId = context === null ? null : (traces?.requestIdAt(context, clock.now()) ?? null);
    const entry = requestId === null ? undefined : audit.ring.find(requestId);
    return entry ?? audit.onlyInFlight;
  }
}

function openLane(lane: Lane, { tls, logger, stop }: EgressOptions): OpenLane {
  const at = { url: new URL(lane.upstream.origin), timeoutMs: null };
  return {
    lane,
    upstream: stoppable(createHttpUpstream({ ...at, tls }), stop),
    outages: new OutageLog(logger, { lane: lane.id }),
    leaves: departures(lane, logger),
  };
}

/** Logs each host once. */
function departures(lane: Lane, logger: Logger): OpenLane['leaves'] {
  const known = new Set<string>();
  return (address) => {
    const host = URL.parse(address, lane.upstream.href)?.host ?? '';
    if (host === '' || known.has(host) || known.size >= MAX_DEPARTURES) return;
    known.add(host);
    logger.warn('upstream redirects past its egress lane', { lane: lane.id, host });
  };
}

/** Adds the cost to the usage of a call. Agents use few models, so their prices are remembered until the manifest changes. */
function costs(manifestNow: () => Manifest): (model: string | null, usage: ModelUsage) => EgressUsage {
  let manifest: Manifest | null = null;
  const prices = new Map<string, KnownPrice | null>();
  const priceNow = (model: string): KnownPrice | null => {
    const now = manifestNow();
    if (now !== manifest) prices.clear();
    manifest = now;
    const known = prices.get(model);
    if (known !== undefined) return known;
    const price = priceOf(now, model);
    setNewest(prices, [model, price], MAX_PRICES);
    return price;
  };
  return (model, usage) => {
    const known = model === null ? null : priceNow(model);
    if (known === null) return usage;
    const { price, date } = known;
    const costUsd = costOf(usage, price);
    return date === null ? { ...usage, costUsd } : { ...usage, costUsd, priceDate: date };
  };
}
