import { listen } from '../runtime/http-listener.ts';
import type { Logger } from '../runtime/logger.ts';
import { systemClock } from '../runtime/clock.ts';
import { createSidecarApp } from './app.ts';
import type { SidecarConfig } from './config.ts';
import { controlLimits, limitBodies } from './control-limits.ts';
import { createContext, type ContextInput } from './context.ts';
import { Heartbeats } from './heartbeat/heartbeats.ts';
import { createUpstream } from './proxy/create-upstream.ts';
import { OutageLog } from './proxy/outage-log.ts';
import { startProxyServer } from './proxy/proxy-server.ts';

export interface RunningSidecar {
  readonly proxyPort: number;
  readonly controlPort: number;
  /** `/readyz` turns false, requests in flight finish, then all ends. */
  close(): Promise<void>;
}

/** Milliseconds that requests in flight have to finish. */
const GRACE_MS = 25_000;
const CONTROL_GRACE_MS = 1_000;

/** Starts both servers and the heartbeats; rejects when the manifest is not valid or a port is taken. */
export async function startSidecar(
  input: Omit<ContextInput, 'clock'> & Partial<Pick<ContextInput, 'clock'>> & { graceMs?: number },
): Promise<RunningSidecar> {
  const { config, logger } = input;
  const context = await createContext({ clock: systemClock, ...input });
  const { audit, clock } = context;
  warnOfNoEffect(config, logger);
  const heartbeats = config.PLATFORM_URL === null ? null : new Heartbeats(context, config.PLATFORM_URL);
  const agentAt = { url: config.UPSTREAM_URL, timeoutMs: config.UPSTREAM_TIMEOUT_MS };
  const abandon = async (error: unknown): Promise<never> => {
    context.stopping.abort();
    await context.engine.close();
    throw error;
  };
  const proxy = await startProxyServer(
    {
      upstream: createUpstream(agentAt),
      audit,
      load: context.load,
      policy: context.policy,
      clock,
      onOverhead: (ms) => context.durations.overhead.observe(ms / 1000),
      outages: new OutageLog(logger),
      isDraining: () => context.isDraining || clock.monotonicMs() < context.connectionsEndUntilMs,
    },
    { host: config.BIND_ADDRESS, port: config.PROXY_PORT, agent: agentAt, http2: context.http2 },
  ).catch(abandon);
  const control = await listen({
    handler: limitBodies(
      createSidecarApp(context, () => heartbeats?.failures ?? 0),
      context.load,
      clock,
    ),
    limits: controlLimits(context.load),
    host: config.BIND_ADDRESS,
    port: config.CONTROL_PLANE_PORT,
    clock,
  }).catch(async (error: unknown) => {
    await proxy.close(0);
    return abandon(error);
  });
  context.engine.start();
  heartbeats?.start();
  const agent = context.manifest.manifest.metadata.name;
  logger.info('listens', { agent, proxyPort: proxy.port, controlPort: control.port });
  return {
    proxyPort: proxy.port,
    controlPort: control.port,
    close: async () => {
      context.isDraining = true;
      await proxy.close(input.graceMs ?? GRACE_MS);
      await heartbeats?.close();
      context.stopping.abort();
      await control.close(CONTROL_GRACE_MS);
      await context.engine.close();
    },
  };
}

/** Configuration that has no effect must not look as if it had. */
function warnOfNoEffect(config: SidecarConfig, logger: Logger): void {
  if (config.POLICY_ENGINE === 'none' && config.POLICY_PROXY_MODE === 'enforce')
    logger.warn('enforces nothing: POLICY_PROXY_MODE is enforce, but no policy engine is configured');
  if (config.ANTHROPIC_API_KEY !== null)
    logger.warn('makes no LLM analysis: this version has none, ANTHROPIC_API_KEY is not used');
}
