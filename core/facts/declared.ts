import type { Manifest, Memory, RequiredService } from '../manifest/manifest.ts';
import { referencesIn, secretVariable, type Reference } from '../manifest/references.ts';

/** A network dependency that the manifest declares. */
export interface ReachTarget {
  /** Check id: `service:<name>`, `mcp:<name>`, `memory:<role>`, `tracing:<backend>`. */
  id: string;
  /** Manifest path of the address. */
  path: string;
  address: DeclaredAddress;
}

export type DeclaredAddress =
  /** `value` may be a reference. `port`: declared separately from the host. `type`: determines the default port. */
  | {
      known: true;
      value: string;
      port?: number;
      type?: string;
      timeoutSeconds?: number;
      transport?: 'sse' | 'http';
    }
  /** No address, with the reason. `command` starts the server and may be a reference. */
  | { known: false; reason: string; command?: string };

const NO_ADDRESS: DeclaredAddress = { known: false, reason: 'the manifest declares no address' };

/** The check id `model:<provider>/<id>` of a model or a fallback. */
export function modelCheckId(model: { provider: string; id: string }): string {
  return `model:${model.provider}/${model.id}`;
}

/** Every environment variable that the manifest needs -> the first manifest path that declares it. */
export function declaredVariables(manifest: Manifest): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  const add = (name: string, path: string): void => {
    if (!paths.has(name)) paths.set(name, path);
  };
  for (const { name, path } of declaredReferences(manifest, 'env')) add(name, path);
  for (const [index, name] of (manifest.spec.requires?.envVars ?? []).entries())
    if (!name.startsWith('$')) add(name, `spec.requires.envVars[${index}]`);
  return paths;
}

/** The variables of `$secret:` references -> the first manifest path that declares each. */
export function secretVariables(manifest: Manifest): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const { name, path } of declaredReferences(manifest, 'secret')) {
    const variable = secretVariable(name);
    if (!paths.has(variable)) paths.set(variable, path);
  }
  return paths;
}

export function declaredReferences(manifest: Manifest, kind: Reference['kind']): Reference[] {
  return referencesIn(manifest).filter((reference) => reference.kind === kind);
}

/** The check ids of the services that the manifest declares critical. */
export function criticalServiceIds(manifest: Manifest): ReadonlySet<string> {
  const services = manifest.spec.requires?.services ?? [];
  return new Set(services.filter((service) => service.critical === true).map(serviceCheckId));
}

function serviceCheckId(service: RequiredService): string {
  return `service:${service.name ?? service.type ?? ''}`;
}

/** All network dependencies that the manifest declares, in manifest order; each id once. */
export function reachTargets(manifest: Manifest): ReachTarget[] {
  const targets = [
    ...serviceTargets(manifest),
    ...mcpTargets(manifest),
    ...memoryTargets(manifest),
    ...tracingTargets(manifest),
  ];
  return targets.filter((target, index) => targets.findIndex((each) => each.id === target.id) === index);
}

function serviceTargets(manifest: Manifest): ReachTarget[] {
  return (manifest.spec.requires?.services ?? []).map((service, index) => ({
    id: serviceCheckId(service),
    path: `spec.requires.services[${index}].address`,
    address: serviceAddress(service),
  }));
}

function serviceAddress(service: RequiredService): DeclaredAddress {
  if (service.address === undefined) return NO_ADDRESS;
  return { known: true, value: service.address, ...(service.type ? { type: service.type } : {}) };
}

function mcpTargets(manifest: Manifest): ReachTarget[] {
  return (manifest.spec.mcp?.servers ?? []).map((server, index) => {
    const path = `spec.mcp.servers[${index}]`;
    const seconds = server.healthCheck?.timeoutSeconds;
    const { host, port, transport, url } = server;
    const id = `mcp:${server.name}`;
    const options = {
      ...(seconds === undefined ? {} : { timeoutSeconds: seconds }),
      ...(transport === undefined || transport === 'stdio' ? {} : { transport }),
    };
    const isProcess = transport === 'stdio' || server.command !== undefined;
    if (url !== undefined && transport !== 'stdio')
      return { id, path: `${path}.url`, address: { known: true, value: url, ...options } };
    if (host !== undefined && port !== undefined && transport !== 'stdio')
      return { id, path: `${path}.host`, address: { known: true, value: host, port, ...options } };
    const reason = isProcess
      ? 'a stdio server is started by the agent and has no address'
      : 'the manifest declares no address';
    const { command } = server;
    if (!isProcess || command === undefined) return { id, path, address: { known: false, reason } };
    return { id, path: `${path}.command`, address: { known: false, reason, command } };
  });
}

function memoryTargets(manifest: Manifest): ReachTarget[] {
  const memory = manifest.spec.memory;
  if (memory === undefined) return [];
  return memoryRoles(memory).map(({ role, backend, path, connection }) => ({
    id: `memory:${role}`,
    ...(connection === undefined
      ? addressOfBackend(manifest, backend, path)
      : { path, address: { known: true, value: connection, ...(backend ? { type: backend } : {}) } }),
  }));
}

interface MemoryRole {
  role: string;
  backend: string | undefined;
  path: string;
  connection: string | undefined;
}

/** The role `backend` has the address of the first memory with the same backend. */
function memoryRoles({ backend, shortTerm, longTerm, vector }: Memory): MemoryRole[] {
  const roles: MemoryRole[] = [];
  const add = (role: string, key: string, used: string | undefined, connection: string | undefined): void => {
    roles.push({ role, path: `spec.memory.${role}.${key}`, backend: used, connection });
  };
  if (shortTerm) add('shortTerm', 'connection', shortTerm.backend ?? backend, shortTerm.connection);
  if (longTerm) add('longTerm', 'connectionString', longTerm.backend, longTerm.connectionString);
  if (vector) add('vector', 'connectionString', vector.backend, vector.connectionString);
  if (backend === undefined) return roles;
  const same = roles.find((each) => each.backend === backend && each.connection !== undefined);
  const path = same?.path ?? 'spec.memory.backend';
  return [{ role: 'backend', backend, path, connection: same?.connection }, ...roles];
}

/** A memory without an address uses the address of the required service with the backend's name or type. */
function addressOfBackend(
  manifest: Manifest,
  backend: string | undefined,
  path: string,
): Pick<ReachTarget, 'path' | 'address'> {
  const services = manifest.spec.requires?.services ?? [];
  const index = services.findIndex((service) => service.name === backend || service.type === backend);
  const service = services[index];
  if (backend === undefined || service?.address === undefined) return { path, address: NO_ADDRESS };
  return { path: `spec.requires.services[${index}].address`, address: serviceAddress(service) };
}

function tracingTargets(manifest: Manifest): ReachTarget[] {
  const tracing = manifest.spec.observability?.tracing;
  if (tracing === undefined) return [];
  const { backend, endpoint } = tracing;
  return [
    {
      id: `tracing:${backend}`,
      path: 'spec.observability.tracing.endpoint',
      address: endpoint === undefined ? NO_ADDRESS : { known: true, value: endpoint },
    },
  ];
}
