import { readFile } from 'node:fs/promises';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { SidecarConfig } from '../config.ts';
import type { CurrentManifest } from '../manifest/current-manifest.ts';
import type { Organisation } from '../organisation/organisation.ts';
import type { RequestTraces } from '../otlp/request-traces.ts';
import { ownPortsOf } from '../own-ports.ts';
import type { PolicyEvaluator } from '../policy/policy-evaluator.ts';
import type { LoadLimits } from '../proxy/load-limits.ts';
import type { TlsTrust } from '../proxy/upstream.ts';
import type { StopSwitch } from '../stop/stop-switch.ts';
import { ConnectLane } from './connect-lane.ts';
import type { EgressLogOptions } from './egress-log.ts';
import type { Egress } from './egress.ts';

/** Calls that `GET /egress` returns; about 1 KB each. */
const MAX_CALLS = 10_000;

export interface CreateEgressInput {
  config: SidecarConfig;
  /** Entries of the audit ring. */
  ringSize: number;
  tls: TlsTrust;
  manifest: CurrentManifest;
  organisation: Pick<Organisation, 'directive' | 'state'>;
  audit: AuditLog;
  policy: PolicyEvaluator;
  load: LoadLimits;
  stop: StopSwitch;
  traces: RequestTraces | null;
  onCall: EgressLogOptions['onCall'];
  clock: Clock;
  logger: Logger;
}

/** The lanes of a sidecar; null: it has none. */
export interface EgressLanes {
  egress: Egress;
  /** null: EGRESS_CONNECT is off. */
  connect: ConnectLane | null;
  /** Rejects if a port is in use. */
  start(): Promise<void>;
  /** Waits `graceMs` milliseconds for calls in flight. */
  close(graceMs: number): Promise<void>;
}

export function hasEgress({ EGRESS_LANES, EGRESS_CONNECT }: SidecarConfig): boolean {
  return EGRESS_LANES !== null || EGRESS_CONNECT !== 'off';
}

/** The code of the lanes is loaded only here: most sidecars have none, and it contains a validator of JSON Schemas. */
export async function createEgress({
  config,
  ringSize,
  manifest,
  ...input
}: CreateEgressInput): Promise<EgressLanes | null> {
  if (!hasEgress(config)) return null;
  const { Egress } = await import('./egress.ts');
  const { WIRE_OF } = await import('../../core/egress/wires/wire-of.ts');
  const egress = new Egress({
    ...input,
    directive: () =>
      input.organisation.directive ?? (input.organisation.state === 'judging' ? 'awaited' : null),
    totals: () => input.policy.totals,
    lanes: config.EGRESS_LANES ?? [],
    port: config.EGRESS_PORT,
    mode: config.EGRESS_MODE,
    failModes: config.EGRESS_FAIL_MODE,
    onForbiddenTool: config.EGRESS_ON_FORBIDDEN_TOOL,
    capacity: Math.min(ringSize, MAX_CALLS),
    wires: WIRE_OF,
    manifest: () => manifest.manifest,
  });
  const connect = createConnect(config, egress, input);
  const close = async (graceMs: number): Promise<void> => {
    await Promise.all([egress.close(graceMs), connect?.close(graceMs)]);
  };
  return {
    ...{ egress, connect, close },
    start: async () => {
      await egress.start();
      await connect?.start().catch(async (error: unknown) => {
        await close(0);
        throw error;
      });
    },
  };
}

function createConnect(
  config: SidecarConfig,
  { log, policy }: Egress,
  { stop, clock, logger }: Pick<CreateEgressInput, 'stop' | 'clock' | 'logger'>,
): ConnectLane | null {
  const { EGRESS_CONNECT: mode, EGRESS_CONNECT_PORT: port } = config;
  if (mode === 'off') return null;
  return new ConnectLane({
    ...{ mode, port, stop, clock, logger },
    ownPorts: ownPortsOf(config),
    isDeclaredHost: (host) => policy.isDeclaredHost(host),
    isAllowedHost: (host) => policy.isAllowedHost(host),
    enforcesRules: policy.blocks,
    onCall: (call) => log.addConnect(call),
  });
}

/** TLS to the upstreams. Rejects if EGRESS_CA_FILE cannot be read or has no certificate. */
export async function readTlsTrust({ EGRESS_CA_FILE: path }: SidecarConfig): Promise<TlsTrust> {
  if (path === null) return { rejectUnauthorized: true };
  try {
    const own = await readFile(path, 'utf8');
    if (!own.includes('-----BEGIN CERTIFICATE-----')) throw new Error('the file has no PEM certificate');
    const ca = [...getCACertificates('default'), own];
    return { rejectUnauthorized: true, secureContext: createSecureContext({ ca }) };
  } catch (cause) {
    throw new Error(`EGRESS_CA_FILE ${path} cannot be read`, { cause });
  }
}
