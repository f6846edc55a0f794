import { parseIp } from '../../core/census/address.ts';
import { parseAddress } from '../../core/facts/address.ts';
import { modelVendorOf } from '../../core/vendors/vendors.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { referenceOf } from '../../core/manifest/references.ts';
import { addressesOf, FILE, hostName } from '../../core/egress/declared.ts';

/** Where an agent may connect to, for a network policy. */
export type FenceTarget =
  /** A name outside of the cluster, which may begin with `*.`. */
  | { kind: 'name'; name: string; ports: number[] }
  /** An address in CIDR notation. */
  | { kind: 'cidr'; cidr: string; ports: number[] }
  /** A service in a namespace; null: the namespace of the agent. Its pods may have other ports than the service. */
  | { kind: 'service'; namespace: string | null };

export interface FenceTargets {
  /** In the order of the manifest, each once. */
  targets: FenceTarget[];
  /** Manifest paths of addresses that are references, or of models whose address differs between customers. */
  unresolved: string[];
}

const HTTPS = 443;
const LOOPBACK = /^(?:localhost|127\.[\d.]+|::1|0\.0\.0\.0)$/;
/** `name.namespace.svc`, with or without the domain of the cluster. */
const SERVICE = /^[^.]+\.([^.]+)\.svc(?:\..+)?$/;

interface Address {
  host: string;
  port: number;
}

/** The targets that a manifest declares. A host without a port has port 443. Targets in the pod itself are omitted. */
export function fenceTargetsOf(manifest: Manifest): FenceTargets {
  const unresolved: string[] = [];
  const found: Address[] = [];
  const { provider: main, fallback } = manifest.spec.model;
  for (const [path, provider] of [
    ['spec.model.provider', main],
    ['spec.model.fallback.provider', fallback?.provider],
  ] as const) {
    if (provider === undefined) continue;
    const { baseUrl } = modelVendorOf(provider).vendor;
    const address = baseUrl === null ? null : parseAddress(baseUrl);
    if (address === null) unresolved.push(path);
    else found.push(address);
  }
  for (const { path, value, type, port } of addressesOf(manifest)) {
    if (FILE.test(value)) continue;
    const isReference = referenceOf(value) !== null;
    const address = isReference ? null : (parseAddress(value, type) ?? parseAddress(value, 'https'));
    if (address === null) unresolved.push(path);
    else found.push({ ...address, ...(port !== undefined && { port }) });
  }
  for (const host of manifest.spec.egress?.hosts ?? []) found.push({ host, port: HTTPS });
  return { targets: targetsOf(found), unresolved };
}

function targetsOf(found: readonly Address[]): FenceTarget[] {
  const targets = new Map<string, FenceTarget>();
  for (const { host, port } of found) {
    const name = hostName(host);
    if (LOOPBACK.test(name)) continue;
    const target = targets.get(keyOf(name)) ?? targetOf(name);
    if (target.kind !== 'service' && !target.ports.includes(port)) target.ports.push(port);
    targets.set(keyOf(name), target);
  }
  return [...targets.values()];
}

function targetOf(name: string): FenceTarget {
  const namespace = namespaceIn(name);
  if (namespace !== undefined) return { kind: 'service', namespace };
  const address = parseIp(name);
  if (address === null) return { kind: 'name', name, ports: [] };
  return {
    kind: 'cidr',
    cidr: `${name}/${address.family === 4 && !name.includes(':') ? 32 : 128}`,
    ports: [],
  };
}

/** Two services of a namespace are one target. */
function keyOf(name: string): string {
  const namespace = namespaceIn(name);
  return namespace === undefined ? name : `service ${namespace ?? ''}`;
}

/** The namespace of a service; null: that of the agent; undefined: not the name of a service. */
function namespaceIn(name: string): string | null | undefined {
  if (parseIp(name) !== null) return undefined;
  return name.includes('.') ? SERVICE.exec(name)?.[1] : null;
}
