import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import type { HealthReport } from '../core/health/health.ts';
import { tokenPriceOf } from '../core/manifest/token-price.ts';
import type { AgentUsageReport } from '../core/usage/usage.ts';
import { builtinClock, type PushClock, type PushLogger } from '../push/clock.ts';
import { createEventClient, type EventClient } from '../push/event-client.ts';
import { currentRequestId, followRequests, requestIdOf, type RequestWithId } from './current-request.ts';
import {
  createFastifyPlugin,
  createFetchHandler,
  createHealthHandler,
  createNodeHandler,
  createUsageHandler,
  type FastifyRoutes,
  type JsonResponse,
} from './handlers.ts';
import { runChecks, type CheckedAgent } from './health-checks.ts';
import { manifestFrom, type ManifestInput } from './manifest-input.ts';
import { createPusher, type Pusher } from './pusher.ts';
import { pushSettings, type PushOptions } from './push-settings.ts';
import { createRefresher, type Refresher } from './refresher.ts';
import { createPolicyCheck, type PolicyCheck } from './policy-check.ts';
import { createRequestBehavior, type HeadWriter, type RequestBehavior } from './request-behavior.ts';
import { milliseconds, policySettings, sidecarUrl, type PolicyOptions } from './settings.ts';
import { createUsageLedger, type UsageLedger } from './usage-ledger.ts';

/** Names of the tools that the agent has registered, or a function that says them at check time. */
export type ToolRegistry = Iterable<string> | (() => Iterable<string>);

export interface ReporterOptions {
  manifest: ManifestInput;
  /** Where `$file:` references are looked up; default: the folder of the manifest's path, else the working directory. */
  manifestFolder?: string;
  /** Without it the tools' checks are skipped: nothing is known about them. */
  tools?: ToolRegistry;
  /** Milliseconds between checks; default 30,000. */
  refreshIntervalMs?: number;
  /** Milliseconds after which `getReport` checks anew; default 60,000. */
  staleAfterMs?: number;
  /** For an agent without a sidecar; default: `PLATFORM_URL` with `PLATFORM_KEY` where they are set. */
  push?: PushOptions | false;
  /** The sidecar's control port, to which behavioral events go; default: `PLATFORM_SIDECAR_URL`, else `http://127.0.0.1:4001`. */
  sidecarUrl?: string;
  /** Who answers `checkPolicy`. */
  policy?: PolicyOptions;
  /** Default: the environment of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Default: warnings through `process.emitWarning`, nothing else. */
  logger?: PushLogger;
  clock?: PushClock;
}

export interface Reporter {
  /** Starts the checks (the first at once, without blocking) and the push; idempotent. Keeps no process alive. */
  start(): void;
  /** Clears the timer; with push, a last heartbeat is sent, best effort, within a second. */
  stop(): Promise<void>;
  /** The cached report, renewed when stale; stopped: the last one, null when there never was one. */
  getReport(): Promise<HealthReport | null>;
  /** Token usage since the last shipped heartbeat, or since the reporter was made. */
  getUsage(): AgentUsageReport;
  /**
   * Counts one call of a model: for `/platform/usage`, and for the budgets of the sidecar as a `model` event of the request in
   * whose async context it is called, else without a request. false (and a warning) when a count is not a whole number from 0
   * to 1e9. Never throws.
   */
  recordUsage(modelId: string, promptTokens: number, completionTokens: number): boolean;
  /** `node:http`: answers `/platform/health` and `/platform/usage` and says true; false for every other path. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** For frameworks whose response offers `status(code).json(body)`. */
  readonly healthHandler: (request: unknown, response: JsonResponse) => Promise<void>;
  readonly usageHandler: (request: unknown, response: JsonResponse) => void;
  /** For servers of `Request → Response`: answers the two paths, and 404 on every other. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** `app.register(reporter.fastify)`. */
  readonly fastify: (app: FastifyRoutes) => Promise<void>;
  /**
   * What the agent did for one request: make one for each request that calls a model, before the answer's head.
   * @param request its `x-request-id`, which the sidecar gave it, is where events go
   * @param response where the headers go; left out where they are taken by `headers()`
   */
  behavior(request: RequestWithId, response?: HeadWriter): RequestBehavior;
  /** Behavioral events for the sidecar. Flushed by `stop()`. */
  readonly events: EventClient;
  /** To be awaited before each call of a model: rejects when the declared policy denies it. */
  readonly checkPolicy: PolicyCheck;
}

/** A reporter for one agent, not yet started. Throws ManifestInputError, PushOptionsError or RangeError on wrong options. */
export function createReporter(options: ReporterOptions): Reporter {
  const manifest = manifestFrom(options.manifest);
  const env = options.env ?? process.env;
  const clock = options.clock ?? builtinClock;
  const logger = options.logger ?? WARNINGS;
  const settings = pushSettings(options.push, env);
  const policy = policySettings(options.policy, env);
  const url = sidecarUrl(options.sidecarUrl, env);
  const ledger = createUsageLedger(() => clock.now(), tokenPriceOf(manifest));
  const manifestFolder =
    options.manifestFolder ?? (typeof options.manifest === 'string' ? dirname(options.manifest) : '.');
  let pusher: Pusher | null = null;
  const refresher = createRefresher<CheckedAgent>({
    check: () =>
      runChecks({
        manifest,
        manifestFolder,
        env,
        now: () => clock.now(),
        registeredTools: registered(options.tools),
      }),
    onReport: (checked) => pusher?.noteReport(checked),
    refreshIntervalMs: milliseconds('refreshIntervalMs', options.refreshIntervalMs, 30_000),
    staleAfterMs: milliseconds('staleAfterMs', options.staleAfterMs, 60_000),
    clock,
    logger,
  });
  followRequests();
  if (settings !== null) pusher = createPusher({ settings, manifest, refresher, ledger, clock, logger });
  return assemble({
    refresher,
    ledger,
    pusher,
    logger,
    events: createEventClient({ url, agentName: manifest.metadata.name, logger }),
    checkPolicy: createPolicyCheck({
      settings: policy,
      manifest,
      totals: () => ledger.totals(),
      clock,
      logger,
    }),
  });
}

interface Parts {
  refresher: Refresher<CheckedAgent>;
  ledger: UsageLedger;
  pusher: Pusher | null;
  logger: PushLogger;
  events: EventClient;
  checkPolicy: PolicyCheck;
}

function assemble({ refresher, ledger, pusher, logger, events, checkPolicy }: Parts): Reporter {
  const source = {
    getReport: async () => (await refresher.getReport())?.health ?? null,
    getUsage: () => ledger.report(),
  };
  const warnOnce = onceEach(logger);
  const countUsage = (requestId: string | null, ...call: [string, number, number]): boolean => {
    const recorded = ledger.record(...call);
    if (!recorded.ok) warnOnce('usage is not counted', { reason: recorded.reason });
    // With push the heartbeats report it: the budgets of a sidecar would count it once more.
    else if (pusher === null && !events.send(requestId, [{ type: 'model', ...recorded.call }]))
      warnOnce('usage does not reach the sidecar', { reason: 'too many events wait' });
    return recorded.ok;
  };
  return {
    ...source,
    events,
    checkPolicy,
    start: () => {
      refresher.start();
      pusher?.start();
    },
    stop: async () => {
      refresher.stop();
      await Promise.all([pusher?.stop(), events.flush()]);
    },
    recordUsage: (...call) => countUsage(currentRequestId(), ...call),
    handle: createNodeHandler(source),
    healthHandler: createHealthHandler(source),
    usageHandler: createUsageHandler(source),
    fetch: createFetchHandler(source),
    fastify: createFastifyPlugin(source),
    behavior: (request, response) => {
      const requestId = requestIdOf(request);
      return createRequestBehavior({
        response: response ?? null,
        sendEvent: (event) => requestId !== null && events.send(requestId, [event]),
        countUsage: (...call) => countUsage(requestId, ...call),
        onLost: ({ name, reason }) => warnOnce('behavior is not reported', { reason }, { name }),
      });
    },
  };
}

/** A mistake in the agent's code is made with every request; each kind is said once. */
function onceEach(logger: PushLogger): (message: string, kind: { reason: string }, more?: object) => void {
  const said = new Set<string>();
  return (message, kind, more) => {
    const key = `${message}: ${kind.reason}`;
    if (!said.has(key)) logger.warn(message, { ...kind, ...more });
    said.add(key);
  };
}

function registered(tools: ToolRegistry | undefined): ReadonlySet<string> | null {
  if (tools === undefined) return null;
  return new Set(typeof tools === 'function' ? tools() : tools);
}

const WARNINGS: PushLogger = {
  warn: (message, fields = {}) =>
    process.emitWarning(`${message} ${JSON.stringify(fields)}`, { type: 'PlatformReporter' }),
  info: () => undefined,
  debug: () => undefined,
};
