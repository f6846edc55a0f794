import type { AgentObservation } from '../core/observation/observation.ts';
import type { Data, KubeObject, Lease, Pod, Service, WebhookConfiguration, Workload } from './types.ts';

/** The API path of one kind of object; `T` is the type of its objects. */
export interface Resource<T> {
  /** Empty for the core group. */
  group: string;
  version: string;
  plural: string;
  kind: string;
  /** Never set: it carries the type. */
  readonly objects?: T;
}

/** Identifies one object; without a namespace: a cluster-scoped object. */
export interface ObjectKey {
  namespace?: string;
  name: string;
}

/** A kind in version v1 of its group. */
export function resource<T>(group: string, plural: string, kind: string): Resource<T> {
  return { group, version: 'v1', plural, kind };
}

export const PODS = resource<Pod>('', 'pods', 'Pod');
export const SERVICES = resource<Service>('', 'services', 'Service');
export const SECRETS = resource<Data>('', 'secrets', 'Secret');
export const DEPLOYMENTS = resource<Workload>('apps', 'deployments', 'Deployment');
export const REPLICA_SETS = resource<Workload>('apps', 'replicasets', 'ReplicaSet');
export const STATEFUL_SETS = resource<Workload>('apps', 'statefulsets', 'StatefulSet');
export const DAEMON_SETS = resource<Workload>('apps', 'daemonsets', 'DaemonSet');
export const JOBS = resource<Workload>('batch', 'jobs', 'Job');
export const CRON_JOBS = resource<Workload>('batch', 'cronjobs', 'CronJob');
export const LEASES = resource<Lease>('coordination.k8s.io', 'leases', 'Lease');
export const AGENT_OBSERVATIONS = resource<AgentObservation>(
  'platform.io',
  'agentobservations',
  'AgentObservation',
);
/** The spec is parsed by its reader. */
export const AGENT_POLICIES = resource<KubeObject>('platform.io', 'agentpolicies', 'AgentPolicy');
/** The spec is parsed by its reader. */
export const AGENT_STOPS = resource<KubeObject & { spec?: unknown }>(
  'platform.io',
  'agentstops',
  'AgentStop',
);
export const NAMESPACES = resource<KubeObject>('', 'namespaces', 'Namespace');
export const WEBHOOK_CONFIGURATIONS = resource<WebhookConfiguration>(
  'admissionregistration.k8s.io',
  'mutatingwebhookconfigurations',
  'MutatingWebhookConfiguration',
);

export const VALIDATING_CONFIGURATIONS = resource<WebhookConfiguration>(
  'admissionregistration.k8s.io',
  'validatingwebhookconfigurations',
  'ValidatingWebhookConfiguration',
);

/** `v1`, `apps/v1`, ... */
export function apiVersionOf(resource: Resource<unknown>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** The path of a collection in one namespace, or in all namespaces when `namespace` is absent. */
export function collectionPath(resource: Resource<unknown>, namespace?: string): string {
  const root = `/${resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(resource)}`;
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${resource.plural}`;
}

export function objectPath(resource: Resource<unknown>, key: ObjectKey, subresource?: string): string {
  const path = `${collectionPath(resource, key.namespace)}/${encodeURIComponent(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `namespace/name` or `name`, as used in caches, queues and logs. */
export function keyText(key: ObjectKey): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}

export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}
