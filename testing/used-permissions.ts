// What ServiceAccounts of the product asked of the API server, held against what the chart grants them.
import type { AuditEntry } from './api-audit.ts';
import type { ChartObject } from './rendered-chart.ts';

export interface Right {
  /** `<namespace>:<name>` of the ServiceAccount. */
  account: string;
  /** Empty: cluster-wide. */
  namespace: string;
  group: string;
  /** `pods`, `agentobservations/status` */
  resource: string;
  verb: string;
  /** Asked for: empty for a collection or a new object. Granted: empty for any. */
  name: string;
}

interface Subject {
  kind: string;
  name: string;
  namespace: string;
}

/** Roles and their bindings, as the chart renders them. */
export interface AccessObject extends ChartObject {
  roleRef?: { kind: string; name: string };
  subjects?: Subject[];
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

const ACCOUNT = /^system:serviceaccount:(.+)$/;

/** Each once. */
export function askedIn(entries: readonly AuditEntry[]): Right[] {
  const rights = entries.flatMap(({ user, verb, objectRef }): Right[] => {
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
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()];
}

/** One right a verb, resource and name. Throws when a binding names a role that the chart does not have. */
export function grantedBy(objects: readonly AccessObject[]): Right[] {
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
        throw new Error(`${metadata.name} binds ${roleRef?.kind} ${roleRef?.name}, which is not there`);
      return subjects.flatMap((subject) => permissionsIn(role, `${subject.namespace}:${subject.name}`, namespace));
    });
}

function permissionsIn({ rules = [] }: AccessObject, account: string, namespace: string): Right[] {
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

function covers(granted: Right, asked: Right): boolean {
  return (
    (['account', 'group', 'resource', 'verb'] as const).every((key) => granted[key] === asked[key]) &&
    (granted.namespace === '' || granted.namespace === asked.namespace) &&
    (granted.name === '' || granted.name === asked.name)
  );
}

/** `platform-system:operator get apps/deployments`, then the name or namespace that it is bounded to. */
export function textOf({ account, namespace, group, resource, verb, name }: Right): string {
  const bounds = [name, namespace && `in ${namespace}`].filter(Boolean);
  return [account, verb, group === '' ? resource : `${group}/${resource}`, ...bounds].join(' ');
}

/**
 * What was asked for and is granted by nothing, and what is granted and was never asked for.
 * A refusal does not count by itself: while a release is installed or removed, rights come and go.
 */
export function comparePermissions(
  granted: readonly Right[],
  asked: readonly Right[],
): { beyond: string[]; unused: string[] } {
  const beyond = asked.filter((each) => !granted.some((grant) => covers(grant, each)));
  const unused = granted.filter((grant) => !asked.some((each) => covers(grant, each)));
  return { beyond: beyond.map(textOf).sort(), unused: unused.map(textOf).sort() };
}
