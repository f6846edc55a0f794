// Reads the API server's audit log for tests.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PermissionRule } from '../../kube/types.ts';

/** Level and matching requests; the first matching rule applies, and requests without a match are not logged. */
interface PolicyRule {
  level: 'Metadata' | 'RequestResponse';
  userGroups?: readonly string[];
  verbs?: readonly string[];
  resources?: readonly { group: string; resources: readonly string[] }[];
}

const EVERY_ACCOUNT: readonly PolicyRule[] = [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }];

export interface AuditEntry {
  stage: string;
  /** ISO 8601 time of the response. */
  stageTimestamp: string;
  userAgent: string;
  requestURI: string;
  user: { username: string };
  verb: string;
  /** Absent for paths without an object, such as /version. */
  objectRef?: {
    apiGroup?: string;
    resource: string;
    subresource?: string;
    namespace?: string;
    name?: string;
  };
  responseStatus?: { code: number };
  annotations?: Record<string, string>;
  /** The stored object; only with level `RequestResponse`. */
  responseObject?: unknown;
}

/** One request for objects. */
export interface AuditedRequest {
  /** Name of the ServiceAccount. */
  account: string;
  verb: string;
  resource: string;
  /** Empty for a collection. */
  name: string;
  /** HTTP status of the response. */
  code: number;
}

export interface ApiAudit {
  /** Flags of the API server. */
  args: string[];
  /** Requests of a process, as `<verb> <group> <resource>`, with the decision (`allow`, `forbid`). */
  of: (part: string) => { used: string[]; decisions: string[] };
  /** Requests of a ServiceAccount with their responses, oldest first. */
  entries: (account: string) => AuditedRequest[];
  /** Writes of one or all ServiceAccounts, except Leases. */
  writes: (account?: string) => AuditedRequest[];
  /** All logged entries, oldest first. */
  all: () => AuditEntry[];
}

/**
 * `folder` is the directory of the policy and the log; `part` of an entry is the part of its client.
 * `rules`: audit rules; default: every request of every ServiceAccount, without bodies.
 */
export function apiAudit(folder: string, rules: readonly PolicyRule[] = EVERY_ACCOUNT): ApiAudit {
  const [policy, log] = [join(folder, 'audit.yaml'), join(folder, 'audit.log')];
  writeFileSync(
    policy,
    JSON.stringify({
      apiVersion: 'audit.k8s.io/v1',
      kind: 'Policy',
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [...rules, { level: 'None' }],
    }),
  );
  const read = () =>
    !existsSync(log)
      ? []
      : readFileSync(log, 'utf8')
          .split('\n')
          // The last line may be incomplete.
          .slice(0, -1)
          .map((line) => JSON.parse(line) as AuditEntry);
  const requests = (account?: string) =>
    read().flatMap(({ stage, user, verb, objectRef, responseStatus }): AuditedRequest[] => {
      const from = user.username.split(':').at(-1) ?? '';
      if (
        (account !== undefined && from !== account) ||
        objectRef === undefined ||
        stage === 'ResponseStarted'
      )
        return [];
      const { resource, subresource, name = '' } = objectRef;
      const code = responseStatus?.code ?? 0;
      return [
        { account: from, verb, resource: subresource ? `${resource}/${subresource}` : resource, name, code },
      ];
    });
  return {
    args: [
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${log}`,
      '--audit-log-format=json',
      // In megabytes; larger logs are rotated.
      '--audit-log-maxsize=2000',
    ],
    of(part) {
      const entries = read().filter((entry) => entry.userAgent.startsWith(`agent-compliance-${part}/`));
      const rights = entries.flatMap(({ verb, objectRef }) => {
        if (objectRef === undefined) return [];
        const { apiGroup = '', resource, subresource } = objectRef;
        return [[verb, apiGroup, subresource ? `${resource}/${subresource}` : resource].join(' ')];
      });
      const decisions = entries.map(
        (entry) => entry.annotations?.['authorization.k8s.io/decision'] ?? '(none)',
      );
      return { used: [...new Set(rights)].sort(), decisions: [...new Set(decisions)] };
    },
    entries: requests,
    writes: (account) =>
      requests(account).filter(
        ({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && resource !== 'leases',
      ),
    all: read,
  };
}

/** The permissions of RBAC rules, in the same form. */
export function permissionsOf(rules: readonly PermissionRule[]): string[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    verbs.flatMap((verb) => resources.map((resource) => `${verb} ${apiGroups[0]} ${resource}`)),
  );
}
