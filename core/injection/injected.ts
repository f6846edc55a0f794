import { isRecord, jsonOf } from '../untrusted/fields.ts';
import { INJECTED_ANNOTATION } from './names.ts';
import type { Container, ContainerPort, PodMetadata } from './pod.ts';
import { isWrittenRecord, type WrittenRecord } from './rewrite-variables.ts';

/**
 * A field of the agent's container that injection changed: its path and its earlier value. `place` is the index of the
 * removed key `name` in the object of a port; absent for index 0, where the API server puts the key.
 */
export type Restore = [path: string, was: string, place?: number];

/** The value of `platform.io/injected`, as JSON: a record of the injection, with the data that is needed to undo it. */
export interface Injected {
  version: string;
  /** Hash of the installation's settings; identifies pods that were injected with an older configuration. */
  config: string;
  agent: { container: string; port: number };
  restore: Restore[];
  /** The injection added the OTLP variables to the agent's container. */
  otlp?: boolean;
  /** The variables of the agent's container that send its calls to the lanes. */
  env?: WrittenRecord[];
  /** The values that annotations of service meshes with excluded ports had before the injection. */
  excludedPorts?: Record<string, string>;
  /** The pod had the agent label before the injection. */
  ownLabel: boolean;
  /** The pod had the label with the agent's name before the injection. */
  ownNameLabel?: boolean;
}

/** The only container fields that a restore may write. The annotation is not trusted, because pod authors can edit it. */
const RESTORABLE =
  /^(ports\/\d{1,4}\/name|(livenessProbe|readinessProbe|startupProbe|lifecycle\/postStart|lifecycle\/preStop)\/(httpGet|tcpSocket)\/port)$/;

/** More than an injection writes. Each entry is searched in all variables or ports of the container. */
const MAX_ENTRIES = 1_000;

/** The parsed annotation; null if the pod was not injected or the value is not a valid record. */
export function parseInjected(metadata: PodMetadata | undefined): Injected | null {
  const text = metadata?.annotations?.[INJECTED_ANNOTATION];
  const value = text === undefined ? undefined : jsonOf(text);
  return isInjected(value) ? value : null;
}

function isInjected(value: unknown): value is Injected {
  if (!isRecord(value)) return false;
  const { version, config, agent, restore, otlp, env, excludedPorts, ownLabel, ownNameLabel } = value;
  return (
    typeof version === 'string' &&
    typeof config === 'string' &&
    isRecord(agent) &&
    typeof agent['container'] === 'string' &&
    typeof agent['port'] === 'number' &&
    Array.isArray(restore) &&
    restore.length <= MAX_ENTRIES &&
    restore.every(isRestore) &&
    (otlp === undefined || typeof otlp === 'boolean') &&
    (env === undefined || (Array.isArray(env) && env.length <= MAX_ENTRIES && env.every(isWrittenRecord))) &&
    (excludedPorts === undefined || isTextMap(excludedPorts)) &&
    typeof ownLabel === 'boolean' &&
    (ownNameLabel === undefined || typeof ownNameLabel === 'boolean')
  );
}

const isTextMap = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every((text) => typeof text === 'string');

function isRestore(value: unknown): value is Restore {
  return (
    Array.isArray(value) &&
    (value.length === 2 || (value.length === 3 && Number.isInteger(value[2]))) &&
    typeof value[0] === 'string' &&
    RESTORABLE.test(value[0]) &&
    typeof value[1] === 'string'
  );
}

/**
 * The container with every restorable field set back to its earlier value. A field that was changed after the injection
 * keeps its current value.
 */
export function restoreContainer(
  container: Container,
  { restore, agent }: Pick<Injected, 'restore' | 'agent'>,
): Container {
  const restored = structuredClone(container);
  for (const [path, was, place = 0] of restore) {
    const keys = path.split('/');
    if (keys[0] === 'ports') restorePortName(restored, { index: Number(keys[1]), was, place }, agent.port);
    else restoreTarget(restored, keys, was, agent.port);
  }
  return restored;
}

/** Finds the port by its index, or by its number if other ports were inserted before it. */
function restorePortName(
  container: Container,
  { index, was, place }: { index: number; was: string; place: number },
  number: number,
): void {
  const ports = container.ports ?? [];
  const isRecordedPort = (port: ContainerPort | undefined): boolean =>
    port?.containerPort === number && port.name === undefined && (port.protocol ?? 'TCP') === 'TCP';
  const at = isRecordedPort(ports[index]) ? index : ports.findIndex(isRecordedPort);
  const port = ports[at];
  if (!port) return;
  const members = Object.entries(port);
  members.splice(place, 0, ['name', was]);
  ports[at] = Object.fromEntries(members) as ContainerPort;
}

function restoreTarget(container: Container, keys: readonly string[], was: string, number: number): void {
  let target: unknown = container;
  for (const key of keys.slice(0, -1)) target = isRecord(target) ? target[key] : undefined;
  if (isRecord(target) && target['port'] === number) target['port'] = was;
}
