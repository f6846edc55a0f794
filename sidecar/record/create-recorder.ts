import type { ToolHints } from '../../core/record/line.ts';
import { RecordLines } from '../../core/record/line.ts';
import type { Place, RecordSource } from '../../core/record/record-event.ts';
import { describeError } from '../../core/untrusted/describe-error.ts';
import { namespaceOf, readTokenFile } from '../../push/credentials.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { StartProblem } from '../../runtime/start-problem.ts';
import { VERSION } from '../../runtime/version.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { SidecarConfig } from '../config.ts';
import type { CurrentManifest } from '../manifest/current-manifest.ts';
import type { StopSwitch } from '../stop/stop-switch.ts';
import { chainStartOf } from './chain-start.ts';
import type { Destination } from './destination.ts';
import { LogFile } from './log-file.ts';
import { Recorder } from './recorder.ts';
import { RecordWriter } from './record-writer.ts';
import { Senders } from './senders.ts';
import { StandardOutput } from './standard-output.ts';

export interface CreateRecorderInput {
  config: SidecarConfig;
  audit: AuditLog;
  manifest: CurrentManifest;
  stop: StopSwitch;
  /** As in the heartbeat. */
  instance: string;
  clock: Clock;
  logger: Logger;
}

const BYTES_PER_MB = 1_048_576;

/** The audit log of a sidecar: what makes its events, and what writes their lines. */
export interface AuditRecord {
  recorder: Recorder;
  writer: RecordWriter;
  /** The copies of the log. */
  senders: Senders;
  /** The chain of this process. */
  source: RecordSource;
}

/** Opens the audit log. Rejects if AUDIT_LOG_PATH is not a regular file. */
export async function createRecorder(input: CreateRecorderInput): Promise<AuditRecord> {
  const { config, audit, manifest, stop, clock, logger, instance } = input;
  const now = clock.now().getTime();
  const { destination, last } = await openDestination(config, logger);
  const start = chainStartOf(last, instance, now);
  const { name: agent } = manifest.manifest.metadata;
  const source: RecordSource = {
    ...{ agent, instance, startedAt: start.startedAt, version: VERSION },
    namespace: config.AGENT_NAMESPACE ?? (await namespaceIn(config.PLATFORM_TOKEN_FILE)) ?? 'default',
  };
  const hosts = new Map((config.EGRESS_LANES ?? []).map(({ id, upstream }) => [id, upstream.host]));
  const lines = new RecordLines({
    source,
    hintsOf: (tool) => hintsIn(manifest, tool),
    hostOf: (lane) => hosts.get(lane),
  });
  const writer = new RecordWriter({
    ...{ destination, lines, start, clock, logger },
    manifest: manifestOf(manifest),
  });
  const { AUDIT_LOG_EVENTS: events } = config;
  const recorder = new Recorder({ audit, writer, events, clock });
  recorder.add({ kind: 'lifecycle', state: start.sequence > 0 ? 'resumed' : 'started', at: now });
  watch({ manifest, stop, recorder, clock });
  const senders = new Senders({
    path: config.AUDIT_LOG_PATH,
    forward: config.AUDIT_LOG_FORWARD ?? (config.PLATFORM_URL === null ? 'off' : 'decisions'),
    collectorUrl: config.AUDIT_LOG_OTLP_URL,
    ...{ agent, clock, logger },
  });
  if (senders.onBatch !== null) writer.onWritten = senders.onBatch;
  return { recorder, writer, senders, source };
}

/** `last`: the last line that an earlier process wrote to the file; null: none. */
async function openDestination(
  { AUDIT_LOG, AUDIT_LOG_PATH, AUDIT_LOG_MAX_MB, AUDIT_LOG_FILES }: SidecarConfig,
  logger: Logger,
): Promise<{ destination: Destination; last: string | null }> {
  if (AUDIT_LOG === 'stdout' || AUDIT_LOG_PATH === null)
    return { destination: new StandardOutput(process.stdout), last: null };
  const file = new LogFile({
    path: AUDIT_LOG_PATH,
    maxBytes: AUDIT_LOG_MAX_MB * BYTES_PER_MB,
    files: AUDIT_LOG_FILES,
  });
  try {
    return { destination: file, last: await file.open() };
  } catch (error) {
    if (error instanceof StartProblem) throw error;
    // The directory may appear later; until then events wait or are counted as lost.
    logger.warn('failed to open audit log', { path: AUDIT_LOG_PATH, error: describeError(error) });
    return { destination: file, last: null };
  }
}

/** The namespace of the pod, in which the control plane finds the agent too. null: not known. */
async function namespaceIn(tokenFile: string | null): Promise<string | null> {
  const token = tokenFile === null ? null : await readTokenFile(tokenFile).catch(() => null);
  return token === null ? null : namespaceOf(token);
}

function hintsIn({ manifest }: CurrentManifest, tool: string): ReturnType<ToolHints> {
  const annotations = manifest.spec.tools?.find(({ name }) => name === tool)?.annotations;
  if (annotations === undefined) return undefined;
  const { readOnlyHint, destructiveHint } = annotations;
  return { isReadOnly: readOnlyHint === true, isDestructive: destructiveHint === true };
}

/** The members of each line that follow from the manifest; one object per manifest. */
function manifestOf(manifest: CurrentManifest): () => Pick<Place, 'manifestDigest' | 'provider'> {
  let hash: string | null = null;
  let members: Pick<Place, 'manifestDigest' | 'provider'> = {};
  return () => {
    if (manifest.hash !== hash) {
      ({ hash } = manifest);
      members = { manifestDigest: `sha256:${hash}`, provider: manifest.manifest.spec.model.provider };
    }
    return members;
  };
}

interface Watched {
  manifest: CurrentManifest;
  stop: StopSwitch;
  recorder: Recorder;
  clock: Clock;
}

/** Events of changed manifests and of stops. */
function watch({ manifest, stop, recorder, clock }: Watched): void {
  let { hash } = manifest;
  manifest.onChange(() => {
    if (manifest.hash === hash) return;
    ({ hash } = manifest);
    recorder.add({ kind: 'lifecycle', state: 'manifest-changed', at: clock.now().getTime() });
  });
  let applied = stop.current;
  const onStop = (): void => {
    const { current } = stop;
    const at = clock.now().getTime();
    if (current !== null && current.id !== applied?.id)
      recorder.add({ kind: 'stop', state: 'suspended', reason: current.reason, by: null, at });
    else if (current === null && applied !== null)
      recorder.add({ kind: 'stop', state: 'resumed', reason: applied.reason, by: null, at });
    applied = current;
  };
  if (applied !== null) {
    const { reason } = applied;
    recorder.add({ kind: 'stop', state: 'suspended', reason, by: null, at: clock.now().getTime() });
  }
  stop.onChange(onStop);
}
