import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import type { HealthReport } from '../core/health/health.ts';
import { tokenPriceOf } from '../core/manifest/token-price.ts';
import type { AgentUsageReport } from '../core/usage/usage.ts';
import { builtinClock, type PushClock, type PushLogger } from '../push/clock.ts';
import { createNodeHandler, createHealthHandler, createUsageHandler, type JsonResponse } from './handlers.ts';
import { runChecks, type CheckedAgent } from './health-checks.ts';
import { manifestFrom, type ManifestInput } from './manifest-input.ts';
import { createPusher, type Pusher } from './pusher.ts';
import { pushSettings, type PushOptions } from './push-settings.ts';
import { createRefresher, type Refresher } from './refresher.ts';
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
  /** Counts one call of a model; false when a count is not a whole number from 0 on. Never throws. */
  recordUsage(modelId: string, promptTokens: number, completionTokens: number): boolean;
  /** `node:http`: answers `/platform/health` and `/platform/usage` and says true; false for every other path. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** For frameworks whose response offers `status(code).json(body)`. */
  healthHandler(request: unknown, response: JsonResponse): Promise<void>;
  usageHandler(request: unknown, response: JsonResponse): void;
}

/** A reporter for one agent, not yet started. Throws ManifestInputError, PushOptionsError or RangeError on wrong options. */
export function createReporter(options: ReporterOptions): Reporter {
  const manifest = manifestFrom(options.manifest);
  const env = options.env ?? process.env;
  const clock = options.clock ?? builtinClock;
  const logger = options.logger ?? WARNINGS;
  const settings = pushSettings(options.push, env);
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
  if (settings !== null) pusher = createPusher({ settings, manifest, refresher, ledger, clock, logger });
  return assemble({ refresher, ledger, pusher, logger });
}

interface Parts {
  refresher: Refresher<CheckedAgent>;
  ledger: UsageLedger;
  pusher: Pusher | null;
  logger: PushLogger;
}

function assemble({ refresher, ledger, pusher, logger }: Parts): Reporter {
  const source = {
    getReport: async () => (await refresher.getReport())?.health ?? null,
    getUsage: () => ledger.report(),
  };
  let warned = false;
  return {
    ...source,
    start: () => {
      refresher.start();
      pusher?.start();
    },
    stop: async () => {
      refresher.stop();
      await pusher?.stop();
    },
    recordUsage: (modelId, promptTokens, completionTokens) => {
      const counted = ledger.record(modelId, promptTokens, completionTokens);
      if (!counted && !warned)
        logger.warn('usage is not counted', { modelId, promptTokens, completionTokens });
      warned ||= !counted;
      return counted;
    },
    handle: createNodeHandler(source),
    healthHandler: createHealthHandler(source),
    usageHandler: createUsageHandler(source),
  };
}

function registered(tools: ToolRegistry | undefined): ReadonlySet<string> | null {
  if (tools === undefined) return null;
  return new Set(typeof tools === 'function' ? tools() : tools);
}

function milliseconds(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  // setTimeout takes no more, and would fire at once.
  if (Number.isInteger(value) && value >= 1 && value <= 2_147_483_647) return value;
  throw new RangeError(`${name} must be a whole number of milliseconds from 1 to 2147483647`);
}

const WARNINGS: PushLogger = {
  warn: (message, fields = {}) =>
    process.emitWarning(`${message} ${JSON.stringify(fields)}`, { type: 'PlatformReporter' }),
  info: () => undefined,
  debug: () => undefined,
};
