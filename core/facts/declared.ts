import type { Manifest, Memory, RequiredService } from '../manifest/manifest.ts';
import { referencesIn, type Reference } from '../manifest/references.ts';
import { serviceNameOf } from '../manifest/service-name.ts';

/** Something that the manifest says the agent depends on over the network. */
export interface ReachTarget {
  /** Its check id: `service:<name>`, `mcp:<name>`, `memory:<role>`, `tracing:<backend>`. */
  id: string;
  /** Manifest path of its address. */
  path: string;
  address: DeclaredAddress;
}

export type DeclaredAddress =
  /** `value` may be a reference; `port`: given apart from the host; `type`: its default port counts. */
  | {
      known: true;
      value: string;
      port?: number;
      type?: string;
      timeoutSeconds?: number;
      transport?: 'sse' | 'http';
    }
  /** There is nothing to connect to, and why; `command` starts it, and may be a reference. */
  | { known: false; reason: string; command?: string };

const NO_ADDRESS: DeclaredAddress = { known: false, reason: 'the manifest gives it no address' };

/** `model:<provider>/<id>` of the model, or of its fallback. */
export function modelCheckId(model: { provider: string; id: string }): string {
  return `model:${model.provider}/${model.id}`;
}

/** Every variable that the manifest needs, with the manifest path that says so first. */
export function declaredVariables(manifest: Manifest): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  const note = (name: string, path: string): void => {
    if (!paths.has(name)) paths.set(name, path);
  };
  for (const { name, path } of declaredReferences(manifest, 'env')) note(name, path);
  for (const [index, name] of (manifest.spec.requires?.envVars ?? []).entries())
    if (!name.startsWith('$')) note(name, `spec.requires.envVars[${index}]`);
  return paths;
}

export function declaredReferences(manifest: Manifest, kind: Reference['kind']): Reference[] {
  return referencesIn(manifest).filter((reference) => reference.kind === kind);
}

/** The check ids of the services that the manifest calls critical. */
export function criticalServiceIds(manifest: Manifest): ReadonlySet<string> {
  const services = manifest.spec.requires?.services ?? [];
  return new Set(services.filter((service) => service.critical === true).map(serviceCheckId));
}

function serviceCheckId(service: RequiredService): string {
  return `service:${serviceNameOf(service)}`;
}

/** Everything that the manifest says the agent connects to, in the order of the manifest; each id once. */
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
    const how = {
      ...(seconds === undefined ? {} : { timeoutSeconds: seconds }),
      ...(transport === undefined || transport === 'stdio' ? {} : { transport }),
    };
    const isProcess = transport === 'stdio' || server.command !== undefined;
    if (url !== undefined && transport !== 'stdio')
      return { id, path: `${path}.url`, address: { known: true, value: url, ...how } };
    if (host !== undefined && port !== undefined && transport !== 'stdio')
      return { id, path: `${path}.host`, address: { known: true, value: host, port, ...how } };
    const reason = isProcess
      ? 'a stdio server is started by the agent and has no address'
      : 'the manifest gives it no address';
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

/** The backend as such is where the first kind of memory on it is. */
function memoryRoles({ backend, shortTerm, longTerm, vector }: Memory): MemoryRole[] {
  const roles: MemoryRole[] = [];
  const add = (role: string, key: string, of: Pick<MemoryRole, 'backend' | 'connection'>): void => {
    roles.push({ role, path: `spec.memory.${role}.${key}`, ...of });
  };
  if (shortTerm)
    add('shortTerm', 'connection', {
      backend: shortTerm.backend ?? backend,
      connection: shortTerm.connection,
    });
  if (longTerm)
    add('longTerm', 'connectionString', {
      backend: longTerm.backend,
      connection: longTerm.connectionString,
    });
  if (vector)
    add('vector', 'connectionString', { backend: vector.backend, connection: vector.connectionString });
  if (backend === undefined) return roles;
  const same = roles.find((each) => each.backend === backend && each.connection !== undefined);
  const path = same?.path ?? 'spec.memory.backend';
  return [{ role: 'backend', backend, path, connection: same?.connection }, ...roles];
}

/** A memory without an address of its own is the required service of the same name or type. */
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
