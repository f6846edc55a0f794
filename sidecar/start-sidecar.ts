import { NOT_REWRITTEN_REASONS } from '../core/egress/not-rewritten.ts';
import { listen, type Listener } from '../runtime/http-listener.ts';
import type { Logger } from '../runtime/logger.ts';
import { systemClock } from '../runtime/clock.ts';
import { createSidecarApp } from './app.ts';
import type { SidecarConfig } from './config.ts';
import { controlLimits, limitTotalBodyBytes } from './control-limits.ts';
import { createContext, type ContextInput, type SidecarContext } from './context.ts';
import { Heartbeats } from './heartbeat/heartbeats.ts';
import { createHttpUpstream } from './http-client/create-http-upstream.ts';
import { plainAddress } from './proxy/headers.ts';
import { OutageLog } from './proxy/outage-log.ts';
import type { ProxyContext } from './proxy/proxy-context.ts';
import { startProxyServer, type ProxyServer } from './proxy/proxy-server.ts';

export interface RunningSidecar {
  readonly proxyPort: number;
  readonly controlPort: number;
  /** Makes `/readyz` return 503, waits for requests in flight, then stops everything. */
  close(): Promise<void>;
}

/** Maximum milliseconds to wait for requests in flight. */
const GRACE_MS = 25_000;
const CONTROL_GRACE_MS = 1_000;

/** Starts the servers and the heartbeats; rejects when the manifest is invalid or a port is in use. */
export async function startSidecar(
  input: Omit<ContextInput, 'clock'> & Partial<Pick<ContextInput, 'clock'>> & { graceMs?: number },
): Promise<RunningSidecar> {
  const { config, logger } = input;
  const context = await createContext({ clock: systemClock, ...input });
  warnAboutUnusedSettings(config, logger);
  const heartbeats = config.PLATFORM_URL === null ? null : new Heartbeats(context, config.PLATFORM_URL);
  context.organisation.start(heartbeats);
  const cleanUp = async (error: unknown): Promise<never> => {
    context.stopping.abort();
    context.census.close();
    await context.record?.recorder.close();
    await context.engine.close();
    throw error;
  };
  const proxy = await startProxy(context).catch(cleanUp);
  await context.otlp?.start().catch(async (error: unknown) => {
    await proxy.close(0);
    return cleanUp(error);
  });
  await context.lanes?.start().catch(async (error: unknown) => {
    await Promise.all([proxy.close(0), context.otlp?.close(0)]);
    return cleanUp(error);
  });
  // Last, so that its first response shows that every port is open.
  const control = await startControl(context, heartbeats).catch(async (error: unknown) => {
    await Promise.all([proxy.close(0), context.otlp?.close(0), context.lanes?.close(0)]);
    return cleanUp(error);
  });
  context.engine.start();
  context.census.start();
  heartbeats?.start();
  if (heartbeats !== null) context.directives.start(heartbeats);
  context.record?.senders.start(heartbeats?.authorize ?? null);
  const { name } = context.manifest.manifest.metadata;
  logger.info('listening', {
    ...{ agent: name, proxyPort: proxy.port, controlPort: control.port },
    ...(config.OTLP_PORT !== null && { otlpPort: config.OTLP_PORT }),
    ...(config.EGRESS_LANES !== null && { egressPort: config.EGRESS_PORT }),
  });
  return {
    proxyPort: proxy.port,
    controlPort: control.port,
    close: async () => {
      context.isDraining = true;
      await proxy.close(input.graceMs ?? GRACE_MS);
      // After the requests in flight, which may still call models.
      await context.lanes?.close(input.graceMs ?? CONTROL_GRACE_MS);
      await context.otlp?.close(input.graceMs ?? CONTROL_GRACE_MS);
      // After the last request in flight, and before the last heartbeat, which then has the head of the complete log.
      await context.record?.recorder.close();
      await Promise.all([heartbeats?.close(), context.record?.senders.close(CONTROL_GRACE_MS)]);
      context.stopping.abort();
      context.census.close();
      await control.close(CONTROL_GRACE_MS);
      await context.engine.close();
    },
  };
}

/** Notes the person, and for the audit log the address of the client, or of the proxy in front of the sidecar. */
function noteCaller({ callers, record }: SidecarContext): NonNullable<ProxyContext['onArrival']> {
  return (entry, request) => {
    const { remoteAddress } = request.socket;
    if (record !== null && remoteAddress !== undefined) entry.address = plainAddress(remoteAddress);
    const identity = callers.identify(request);
    if (identity !== null) entry.identity = identity;
  };
}

function startProxy(context: SidecarContext): Promise<ProxyServer> {
  const { config, audit, load, policy, stop, clock, http2 } = context;
  const agent = { url: config.UPSTREAM_URL, timeoutMs: config.UPSTREAM_TIMEOUT_MS };
  return startProxyServer(
    {
      upstream: createHttpUpstream(agent),
      audit,
      load,
      policy,
      stop,
      manifest: () => context.manifest.manifest,
      clock,
      traces: context.otlp?.traces ?? null,
      onArrival: noteCaller(context),
      onOverhead: (ms) => context.durations.overhead.observe(ms / 1000),
      outages: new OutageLog(context.logger),
      isDraining: () => context.isDraining || clock.monotonicMs() < context.connectionsEndUntilMs,
    },
    { host: config.BIND_ADDRESS, port: config.PROXY_PORT, agent, http2 },
  );
}

function startControl(context: SidecarContext, heartbeats: Heartbeats | null): Promise<Listener> {
  const { config, load, clock } = context;
  const app = createSidecarApp(context, () => heartbeats?.failures ?? 0);
  return listen({
    handler: limitTotalBodyBytes(app, load, clock),
    limits: controlLimits(load),
    host: config.BIND_ADDRESS,
    port: config.CONTROL_PLANE_PORT,
    clock,
  });
}

/** Warns about settings that have no effect. */
function warnAboutUnusedSettings(config: SidecarConfig, logger: Logger): void {
  if (config.POLICY_ENGINE === 'none' && config.POLICY_PROXY_MODE === 'enforce')
    logger.warn('POLICY_PROXY_MODE=enforce has no effect: no policy engine configured');
  if (config.POLICY_ENGINE === 'none' && config.EGRESS_MODE === 'enforce' && config.EGRESS_LANES !== null)
    logger.warn('EGRESS_MODE=enforce has an effect only on organisation rules: no policy engine configured');
  for (const { lane, variable, reason } of config.EGRESS_NOT_REWRITTEN ?? [])
    logger.warn('calls may bypass an egress lane', {
      ...{ lane, variable },
      reason: NOT_REWRITTEN_REASONS[reason],
    });
}
