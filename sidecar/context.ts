import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hostname } from 'node:os';
import { withCensus } from '../core/census/with-census.ts';
import type { EgressSetup } from '../core/egress/report.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { tokenPriceOf } from '../core/manifest/token-price.ts';
import type { DeclaredApi } from '../core/usage/usage-scope.ts';
import type { AgentEnvironment } from '../probe/gather.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Environment } from '../runtime/env.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { AuditLog } from './audit/audit-log.ts';
import { createCensus } from './census/create-census.ts';
import type { SidecarConfig } from './config.ts';
import { Callers } from './identity/callers.ts';
import { createEgress, hasEgress, readTlsTrust } from './egress/create-egress.ts';
import { CurrentManifest } from './manifest/current-manifest.ts';
import { createDurations } from './durations.ts';
import { createLlmAnalysis } from './llm/create-llm-analysis.ts';
import { Organisation } from './organisation/organisation.ts';
import { createEngine } from './policy/create-engine.ts';
import { PolicyEvaluator } from './policy/policy-evaluator.ts';
import { Otlp } from './otlp/otlp.ts';
import { Http2Refusals } from './proxy/http2-refusal.ts';
import { LoadLimits } from './proxy/load-limits.ts';
import { processMemoryLimitBytes } from './proxy/memory-limit.ts';
import type { AuditRecord, CreateRecorderInput } from './record/create-recorder.ts';
import { ProofStore } from './proofs/proof-store.ts';
import { Assessor } from './report/assessor.ts';
import { Directives } from './stop/directives.ts';
import { DirectiveStore } from './stop/directive-store.ts';
import { watchStopAnnotation } from './stop/stop-annotation.ts';
import { StopSwitch } from './stop/stop-switch.ts';
import { PeerUsage } from './usage/peer-usage.ts';

/** Shared state of a running sidecar. */
export type SidecarContext = Awaited<ReturnType<typeof createContext>>;

export interface ContextInput {
  config: SidecarConfig;
  /** The process's environment; resolves the manifest's references if the agent shares this environment. */
  env: Environment;
  logger: Logger;
  clock: Clock;
  /** Aborts if the process is stopped while it starts. Default: never. */
  stopped?: AbortSignal;
}

/** Loads the manifest and the stored proofs and creates all components; rejects when the manifest or the proofs are invalid. */
export async function createContext({ config, env, logger, clock, stopped }: ContextInput) {
  /** Aborted to end all background work. */
  const stopping = new AbortController();
  const { signal } = stopping;
  await requireDirectory('PLATFORM_SECRET_DIR', config.PLATFORM_SECRET_DIR);
  // Proofs first: loading the manifest also starts a file watch, which a later failure would leave open.
  const proofs = await ProofStore.open(config.PROOF_STORE_PATH);
  const tls = await readTlsTrust(config);
  const manifest = await CurrentManifest.load({ config, logger, clock, stopped, signal });
  const census = createCensus({ config, manifest: () => manifest.manifest, clock, logger });
  const load = new LoadLimits(processMemoryLimitBytes());
  const ringSize = auditRingSize(config.AUDIT_RING_SIZE, load.maxAuditEntries, logger);
  const audit = new AuditLog({
    ...{ capacity: ringSize, clock, withQuery: config.AUDIT_QUERY },
    declared: () => declaredApiOf(manifest.manifest),
    keepForUsage: (bytes) => load.keepForUsage(bytes),
    maxEventBytes: load.maxEventBytes,
  });
  const callers = new Callers({
    ...{ config, clock, logger, manifest: () => manifest.manifest },
    onKnown: (identity) => audit.identified(identity),
  });
  const peerUsage = new PeerUsage(clock);
  const metrics = createMetrics();
  const durations = createDurations(metrics);
  const engine = createEngine({ config, manifest, logger, clock, signal, withEgress: hasEgress(config) });
  const policy = new PolicyEvaluator({
    mode: config.POLICY_PROXY_MODE,
    ...engine,
    totals: () => peerUsage.withOwn(audit.totalsToday(tokenPriceOf(manifest.manifest))),
    onReviewed: (entry, denials) => audit.reviewed(entry, denials),
    onResult: (ms, state) => durations.policy.observe(ms / 1000, { state }),
    now: () => clock.monotonicMs(),
  });
  const otlp = createOtlp(config, { ringSize, audit, policy, clock, logger });
  const directed = await createDirectives({ config, manifest, clock, logger, signal });
  const { organisation, stop } = directed;
  const instance = instanceOf(config);
  const record = await createRecord({ config, audit, manifest, stop, instance, clock, logger });
  const lanes = await createEgress({
    ...{ config, ringSize, tls, manifest, organisation, stop, audit, policy, load, clock, logger },
    traces: otlp?.traces ?? null,
    onCall: record === null ? null : (call, request) => record.recorder.call(call, request),
  });
  const llm = createLlmAnalysis({ config, logger, clock, signal });
  const assessor = new Assessor({
    ...{ config, manifest, proofs, audit, policy, llm, clock, logger, signal },
    egress: () => withCensus(lanes?.egress.facts() ?? null, census.facts()),
    environment: environmentOf(config, env),
    ...(record !== null && { onAssessed: ({ gap }) => record.recorder.issues(gap.issues) }),
  });
  return {
    ...{ config, clock, logger, manifest, audit, callers, load, proofs, assessor, peerUsage },
    ...{ ...directed, policy, engine, llm },
    ...{ otlp, lanes, census, metrics, durations, stopping, record, instance },
    startedAt: clock.now(),
    http2: new Http2Refusals(logger),
    /** The process is stopping. */
    isDraining: false,
    /** Monotonic milliseconds; until this time, each connection is closed after its next response. */
    connectionsEndUntilMs: -Infinity,
  };
}

/** null: no spans are received. */
function createOtlp(
  { OTLP_PORT: port, OTLP_FORWARD_URL: forwardUrl }: SidecarConfig,
  input: Omit<ConstructorParameters<typeof Otlp>[0], 'port' | 'forwardUrl'>,
): Otlp | null {
  return port === null ? null : new Otlp({ ...input, port, forwardUrl });
}

/** Identifies this instance of the agent; in a cluster the pod's name. */
const instanceOf = ({ AGENT_NAME, PROXY_PORT }: SidecarConfig): string =>
  AGENT_NAME === null ? `${hostname()}:${PROXY_PORT}` : hostname();

/** The code of the audit log is loaded only if it is on. null: it is off. */
async function createRecord(input: CreateRecorderInput): Promise<AuditRecord | null> {
  if (input.config.AUDIT_LOG === null || input.config.AUDIT_LOG === 'off') return null;
  const { createRecorder } = await import('./record/create-recorder.ts');
  return createRecorder(input);
}

/** Applies the stored directives and the annotation of the pod. */
async function createDirectives({
  config,
  signal,
  ...input
}: Pick<ContextInput, 'config' | 'clock' | 'logger'> & { manifest: CurrentManifest; signal: AbortSignal }) {
  const { clock, logger } = input;
  // Without a control plane nothing would end a stored stop.
  const path = config.PLATFORM_URL === null ? null : config.DIRECTIVES_STORE_PATH;
  const store = await DirectiveStore.open(path, logger);
  const stop = new StopSwitch({ clock, logger, signal });
  const organisation = new Organisation({ ...input, config, store, signal });
  const directives = new Directives({ ...input, organisation, store, stop, signal });
  const { STOP_ANNOTATION_FILE: annotation } = config;
  if (annotation !== null) await watchStopAnnotation({ path: annotation, stop, clock, logger, signal });
  return { directives, organisation, stop };
}

/** AUDIT_RING_SIZE, or the number of entries for which there is memory. */
function auditRingSize(wanted: number, most: number, logger: Logger): number {
  if (wanted <= most) return wanted;
  logger.warn('AUDIT_RING_SIZE is too large for the memory limit', { wanted, used: most });
  return most;
}

/** The state of the census, and the variables that do not lead to a lane. */
export const egressSetupOf = ({
  census,
  config,
}: Pick<SidecarContext, 'census' | 'config'>): EgressSetup => ({
  census: census.state,
  notRewritten: config.EGRESS_NOT_REWRITTEN ?? [],
});

/** Fails at start, because a missing directory would otherwise be reported as many missing secrets. */
async function requireDirectory(variable: string, path: string | null): Promise<void> {
  if (path === null) return;
  const found = await stat(path).catch((cause: unknown) => {
    throw new Error(`${variable} ${path} cannot be read`, { cause });
  });
  if (!found.isDirectory()) throw new Error(`${variable} ${path} is not a directory`);
}

/** In a cluster the injector passes the names of the agent's variables; elsewhere the sidecar shares the agent's environment. */
function environmentOf(config: SidecarConfig, env: Environment): AgentEnvironment {
  const declared = config.AGENT_ENV_NAMES;
  if (declared !== null)
    return { kind: 'declared', names: new Set(declared.names), partial: declared.partial };
  return {
    kind: 'own',
    variables: env,
    folder: dirname(config.MANIFEST_PATH),
    secretDir: config.PLATFORM_SECRET_DIR,
  };
}

/** The default of the manifest schema. */
const DEFAULT_CHAT_PATH = '/v1/chat';

function declaredApiOf({ spec }: Manifest): DeclaredApi {
  const { type, chatEndpoint } = spec.api ?? {};
  const chatPath = chatEndpoint === undefined ? undefined : (chatEndpoint.path ?? DEFAULT_CHAT_PATH);
  return { chatPath, isMcp: type === 'mcp' };
}
