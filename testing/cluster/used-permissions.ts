// Compares the API requests of the product's ServiceAccounts with the permissions that the chart grants.
import type { AuditEntry } from './api-audit.ts';
import type { ChartObject } from './rendered-chart.ts';

export interface Permission {
  /** `<namespace>:<name>` of the ServiceAccount. */
  account: string;
  /** Empty: cluster-wide. */
  namespace: string;
  group: string;
  /** `pods`, `agentobservations/status` */
  resource: string;
  verb: string;
  /** Requested: empty for a collection or a new object. Granted: empty for any name. */
  name: string;
}

interface Subject {
  kind: string;
  name: string;
  namespace: string;
}

/** Roles and bindings, as rendered by the chart. */
export interface AccessObject extends ChartObject {
  roleRef?: { kind: string; name: string };
  subjects?: Subject[];
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

const ACCOUNT = /^system:serviceaccount:(.+)$/;

/** The requested permissions without duplicates. */
export function requestedIn(entries: readonly AuditEntry[]): Permission[] {
  const permissions = entries.flatMap(({ user, verb, objectRef }): Permission[] => {
    const account = ACCOUNT.exec(user.username)?.[1];
    if (account === undefined || objectRef === undefined) return [];
    const { apiGroup: group = '', resource, subresource, namespace = '', name = '' } = objectRef;
    return [
      {
        account,
        namespace,
        group,
        resource: subresource ? `${resource}/${subresource}` : resource,
        verb,
        name,
      },
    ];
  });
  return [...new Map(permissions.map((each) => [JSON.stringify(each), each])).values()];
}

/** One permission per verb, resource and name. Throws if a binding refers to a role that the chart does not contain. */
export function grantedBy(objects: readonly AccessObject[]): Permission[] {
  return objects
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .flatMap(({ metadata, roleRef, subjects = [] }) => {
      const { namespace = '' } = metadata;
      const role = objects.find(
        (each) =>
          each.kind === roleRef?.kind &&
          each.metadata.name === roleRef.name &&
          (each.kind === 'ClusterRole' || each.metadata.namespace === namespace),
      );
      if (!role)
        throw new Error(`${metadata.name} binds ${roleRef?.kind} ${roleRef?.name}, which does not exist`);
      return subjects.flatMap((subject) =>
        permissionsIn(role, `${subject.namespace}:${subject.name}`, namespace),
      );
    });
}

function permissionsIn({ rules = [] }: AccessObject, account: string, namespace: string): Permission[] {
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [''] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          resourceNames.map((name) => ({ account, namespace, group, resource, verb, name })),
        ),
      ),
    ),
  );
}

function covers(granted: Permission, requested: Permission): boolean {
  return (
    (['account', 'group', 'resource', 'verb'] as const).every((key) => granted[key] === requested[key]) &&
    (granted.namespace === '' || granted.namespace === requested.namespace) &&
    (granted.name === '' || granted.name === requested.name)
  );
}

/** `platform-system:operator get apps/deployments`, then the name or namespace if restricted. */
export function textOf({ account, namespace, group, resource, verb, name }: Permission): string {
  const bounds = [name, namespace && `in ${namespace}`].filter(Boolean);
  return [account, verb, group === '' ? resource : `${group}/${resource}`, ...bounds].join(' ');
}

/**
 * `beyond`: requested but not granted; `unused`: granted but never requested.
 * Denied requests alone do not count, because permissions change during installation and removal.
 */
export function comparePermissions(
  granted: readonly Permission[],
  requested: readonly Permission[],
): { beyond: string[]; unused: string[] } {
  const beyond = requested.filter((each) => !granted.some((grant) => covers(grant, each)));
  const unused = granted.filter((grant) => !requested.some((each) => covers(grant, each)));
  return { beyond: beyond.map(textOf).sort(), unused: unused.map(textOf).sort() };
}
