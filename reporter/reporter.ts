import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import type { HealthReport } from '../core/shapes/health.ts';
import { tokenPriceOf } from '../core/manifest/token-price.ts';
import type { AgentUsageReport } from '../core/shapes/usage.ts';
import { builtinClock, type PushClock, type PushLogger } from '../push/clock.ts';
import { EventSender, type EventClient } from '../push/event-client.ts';
import { currentRequestId, followRequests, type RequestWithId } from './current-request.ts';
import { createHandlers, type FastifyRoutes, type JsonResponse } from './handlers.ts';
import { emitWarning } from './integrations/observer.ts';
import { runChecks, type CheckedAgent } from './health-checks.ts';
import { manifestFrom, type ManifestInput } from './manifest-input.ts';
import { createPusher, type Pusher } from './pusher.ts';
import { pushSettings, type PushOptions } from './push-settings.ts';
import { Refresher } from './refresher.ts';
import { createPolicyCheck, type PolicyCheck } from './policy-check.ts';
import type { HeadWriter, RequestBehavior } from './request-behavior.ts';
import { createRequestBehaviors } from './request-behaviors.ts';
import { milliseconds, policySettings, sidecarUrl, type PolicyOptions } from './settings.ts';
import { createUsageLedger, type UsageLedger } from './usage-ledger.ts';

/** Names of the registered tools, or a function that returns the names at check time. */
export type ToolRegistry = Iterable<string> | (() => Iterable<string>);

export interface ReporterOptions {
  manifest: ManifestInput;
  /** Directory for `$file:` references; default: the directory of the manifest's path, else the working directory. */
  manifestFolder?: string;
  /** Default: no registry, and the tool checks are skipped. */
  tools?: ToolRegistry;
  /** Milliseconds between checks; default 30,000. */
  refreshIntervalMs?: number;
  /** Age in milliseconds after which `getReport` repeats the checks; default 60,000. */
  staleAfterMs?: number;
  /** Only for an agent without a sidecar; default: from `PLATFORM_URL` and `PLATFORM_KEY` if they are set. */
  push?: PushOptions | false;
  /** Base URL of the sidecar's control port, for events; default: `PLATFORM_SIDECAR_URL`, else `http://127.0.0.1:4001`. */
  sidecarUrl?: string;
  /** Settings of `checkPolicy`. */
  policy?: PolicyOptions;
  /** Default: the environment of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Default: only warnings, through `process.emitWarning`. */
  logger?: PushLogger;
  clock?: PushClock;
}

export interface Reporter {
  /** Starts the checks (the first immediately, without blocking) and the push. Idempotent. Does not keep the process alive. */
  start(): void;
  /** Clears the timer and flushes events. With push, sends a last heartbeat (best effort) within about one second. */
  stop(): Promise<void>;
  /** The cached report, renewed if stale. Stopped: the last report; null if there is none. */
  getReport(): Promise<HealthReport | null>;
  /** Token usage since the last accepted heartbeat, or since the reporter was created. */
  getUsage(): AgentUsageReport;
  /**
   * Counts one model call in `/platform/usage` and in the budgets of the sidecar. The sidecar receives a `model` event of the
   * request in whose async context the caller runs, else an event without a request. Returns false, with a warning, if a count
   * is not a whole number from 0 to 1e9. Never throws.
   */
  recordUsage(modelId: string, promptTokens: number, completionTokens: number): boolean;
  /** For `node:http`: serves `/platform/health` and `/platform/usage` and returns true; returns false for every other path. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** For frameworks with `response.status(code).json(body)`. */
  readonly healthHandler: (request: unknown, response: JsonResponse) => Promise<void>;
  readonly usageHandler: (request: unknown, response: JsonResponse) => void;
  /** For servers that return a `Response` for a `Request`: serves the two paths; 404 for every other path. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Fastify plugin: `app.register(reporter.fastify)`. */
  readonly fastify: (app: FastifyRoutes) => Promise<void>;
  /**
   * Reports the behavior of one request. Create it for each request that calls a model, before the response head is sent.
   * @param request must have the `x-request-id` that the sidecar added; events need this id
   * @param response receives the headers; omit it if you use `headers()`
   */
  behavior(request: RequestWithId, response?: HeadWriter): RequestBehavior;
  /**
   * The behavior of the request to a `node:http` server in whose async context the caller runs. Its headers begin with the first
   * report. Outside of a request it counts model calls, and its other methods return false.
   */
  behavior(): RequestBehavior;
  /** Behavioral events for the sidecar. Flushed by `stop()`. */
  readonly events: EventClient;
  /** Await it before each model call. Rejects if the declared policy denies the call. */
  readonly checkPolicy: PolicyCheck;
}

/** Creates a reporter, not started. Throws ManifestInputError, PushOptionsError or RangeError on invalid options. */
export function createReporter(options: ReporterOptions): Reporter {
  const manifest = manifestFrom(options.manifest);
  const env = options.env ?? process.env;
  const clock = options.clock ?? builtinClock;
  const logger = options.logger === undefined ? WARNINGS : withoutErrors(options.logger);
  const settings = pushSettings(options.push, env);
  const policy = policySettings(options.policy, env);
  const url = sidecarUrl(options.sidecarUrl, env);
  const now = () => clock.now();
  const ledger = createUsageLedger(now, tokenPriceOf(manifest));
  const manifestFolder =
    options.manifestFolder ?? (typeof options.manifest === 'string' ? dirname(options.manifest) : '.');
  let pusher: Pusher | null = null;
  const refresher = new Refresher<CheckedAgent>({
    check: () =>
      runChecks({ manifest, now, registeredTools: registered(options.tools) }, manifestFolder, env),
    onReport: (checked) => pusher?.noteReport(checked),
    refreshIntervalMs: milliseconds('refreshIntervalMs', options.refreshIntervalMs, 30_000),
    staleAfterMs: milliseconds('staleAfterMs', options.staleAfterMs, 60_000),
    clock,
    logger,
  });
  followRequests();
  if (settings !== null) pusher = createPusher({ settings, manifest, refresher, ledger, clock, logger });
  const events = new EventSender({ url, agentName: manifest.metadata.name, logger });
  const totals = () => ledger.totals();
  const warnOnce = onceEach(logger);
  const countUsage = usageCounter({ ledger, pusher, events, warnOnce });
  const source = {
    getReport: async () => (await refresher.getReport())?.health ?? null,
    getUsage: () => ledger.report(),
  };
  return {
    ...source,
    ...createHandlers(source),
    events,
    checkPolicy: createPolicyCheck({ settings: policy, manifest, totals, clock, logger }),
    start: () => {
      refresher.start();
      pusher?.start();
    },
    stop: async () => {
      refresher.stop();
      await Promise.all([pusher?.stop(), events.flush()]);
    },
    recordUsage: (...call) => countUsage(currentRequestId(), ...call),
    behavior: createRequestBehaviors({ events, countUsage, warnOnce }),
  };
}

interface UsageParts {
  ledger: UsageLedger;
  pusher: Pusher | null;
  events: EventClient;
  warnOnce: WarnOnce;
}

function usageCounter({ ledger, pusher, events, warnOnce }: UsageParts) {
  return (requestId: string | null, ...call: [string, number, number]): boolean => {
    const recorded = ledger.record(...call);
    if (!recorded.ok) warnOnce('invalid usage arguments, usage not counted', { reason: recorded.reason });
    // With push the heartbeats contain the usage; an event would count it twice.
    else if (pusher === null && !events.send(requestId, [{ type: 'model', ...recorded.call }]))
      warnOnce('usage not sent to sidecar', { reason: 'event queue full' });
    return recorded.ok;
  };
}

type WarnOnce = (message: string, kind: { reason: string }, more?: object) => void;

/** Logs each kind of message once. A mistake in the agent's code repeats with every request. */
function onceEach(logger: PushLogger): WarnOnce {
  const logged = new Set<string>();
  return (message, kind, more) => {
    const key = `${message}: ${kind.reason}`;
    if (!logged.has(key)) logger.warn(message, { ...kind, ...more });
    logged.add(key);
  };
}

function registered(tools: ToolRegistry | undefined): ReadonlySet<string> | null {
  if (tools === undefined) return null;
  return new Set(typeof tools === 'function' ? tools() : tools);
}

/** A logger of the agent can throw, for example when its disk is full. In the background that would end the agent. */
function withoutErrors(own: PushLogger): PushLogger {
  const log =
    (level: keyof PushLogger): PushLogger['warn'] =>
    (message, fields) => {
      try {
        own[level](message, fields);
      } catch {
        // Nothing can be logged.
      }
    };
  return { warn: log('warn'), info: log('info'), debug: log('debug') };
}

const WARNINGS: PushLogger = {
  warn: (message, fields = {}) => emitWarning(`${message} ${JSON.stringify(fields)}`),
  info: () => undefined,
  debug: () => undefined,
};
