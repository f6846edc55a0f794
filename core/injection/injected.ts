import { INJECTED_ANNOTATION } from './names.ts';
import type { Container, PodMetadata } from './pod.ts';

/** A field of the agent's container that injection changed: where, and what stood there. */
export type Restore = [path: string, was: string];

/** The value of `platform.io/injected`, as JSON: what was injected, and what taking it out again needs. */
export interface Injected {
  version: string;
  /** Hash of the installation's settings, so that pods of an older configuration can be told apart. */
  config: string;
  agent: { container: string; port: number };
  restore: Restore[];
  /** The pod brought the agent label itself. */
  ownLabel: boolean;
}

/** The fields that a restore may write: nothing else of the container, whatever the annotation says. */
const RESTORABLE =
  /^(ports\/\d{1,4}\/name|(livenessProbe|readinessProbe|startupProbe|lifecycle\/postStart|lifecycle\/preStop)\/(httpGet|tcpSocket)\/port)$/;

/** What the annotation says; null where the pod was not injected, or the value is none that injection writes. */
export function parseInjected(metadata: PodMetadata | undefined): Injected | null {
  const text = metadata?.annotations?.[INJECTED_ANNOTATION];
  if (text === undefined) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isInjected(value) ? value : null;
  } catch {
    return null;
  }
}

function isInjected(value: unknown): value is Injected {
  if (typeof value !== 'object' || value === null) return false;
  const { version, config, agent, restore, ownLabel } = value as Record<string, unknown>;
  return (
    typeof version === 'string' &&
    typeof config === 'string' &&
    typeof agent === 'object' &&
    agent !== null &&
    typeof (agent as Record<string, unknown>)['container'] === 'string' &&
    typeof (agent as Record<string, unknown>)['port'] === 'number' &&
    Array.isArray(restore) &&
    restore.every(isRestore) &&
    typeof ownLabel === 'boolean'
  );
}

function isRestore(value: unknown): value is Restore {
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    typeof value[0] === 'string' &&
    RESTORABLE.test(value[0]) &&
    typeof value[1] === 'string'
  );
}

/** The container with each restorable field set back; a field whose place is gone is left alone. */
export function restoreContainer(container: Container, restores: readonly Restore[]): Container {
  const restored = structuredClone(container);
  for (const [path, was] of restores) {
    const keys = path.split('/');
    const last = keys.pop();
    let target: unknown = restored;
    for (const key of keys) target = isRecord(target) ? target[key] : undefined;
    if (last !== undefined && isRecord(target)) target[last] = was;
  }
  return restored;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
