import type { AgentObservation } from '../core/observation/observation.ts';
import type { Lease, Pod, Service, WebhookConfiguration, Workload } from './types.ts';

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

export const PODS: Resource<Pod> = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };
export const SERVICES: Resource<Service> = { group: '', version: 'v1', plural: 'services', kind: 'Service' };
export const DEPLOYMENTS: Resource<Workload> = apps('deployments', 'Deployment');
export const REPLICA_SETS: Resource<Workload> = apps('replicasets', 'ReplicaSet');
export const STATEFUL_SETS: Resource<Workload> = apps('statefulsets', 'StatefulSet');
export const DAEMON_SETS: Resource<Workload> = apps('daemonsets', 'DaemonSet');
export const JOBS: Resource<Workload> = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job' };
export const CRON_JOBS: Resource<Workload> = {
  group: 'batch',
  version: 'v1',
  plural: 'cronjobs',
  kind: 'CronJob',
};
export const LEASES: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
};
export const AGENT_OBSERVATIONS: Resource<AgentObservation> = {
  group: 'platform.io',
  version: 'v1',
  plural: 'agentobservations',
  kind: 'AgentObservation',
};
export const WEBHOOK_CONFIGURATIONS: Resource<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
};

function apps(plural: string, kind: string): Resource<Workload> {
  return { group: 'apps', version: 'v1', plural, kind };
}

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
