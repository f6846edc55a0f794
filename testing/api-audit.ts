// The API server's audit log as tests read it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PermissionRule } from '../operator/permissions.ts';

/** Level and whose requests; the first rule that fits decides, and what none fits is not logged. */
interface PolicyRule {
  level: 'Metadata' | 'RequestResponse';
  userGroups?: readonly string[];
  verbs?: readonly string[];
  resources?: readonly { group: string; resources: readonly string[] }[];
}

const EVERY_ACCOUNT: readonly PolicyRule[] = [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }];

export interface AuditEntry {
  stage: string;
  /** ISO 8601, when it was answered. */
  stageTimestamp: string;
  userAgent: string;
  requestURI: string;
  user: { username: string };
  verb: string;
  /** None of a path that is no object's, such as /version. */
  objectRef?: {
    apiGroup?: string;
    resource: string;
    subresource?: string;
    namespace?: string;
    name?: string;
  };
  responseStatus?: { code: number };
  annotations?: Record<string, string>;
  /** What was stored; only of rules of level `RequestResponse`. */
  responseObject?: unknown;
}

/** One request for objects. */
export interface AuditedRequest {
  verb: string;
  resource: string;
  /** Empty for a whole collection. */
  name: string;
}

export interface ApiAudit {
  /** For the API server. */
  args: string[];
  /** What a process asked for, as `<verb> <group> <resource>`, and what became of it (`allow`, `forbid`). */
  of: (part: string) => { used: string[]; decisions: string[] };
  /** What a ServiceAccount asked for and was answered, oldest first. */
  entries: (account: string) => AuditedRequest[];
  /** What one or all ServiceAccounts wrote, Leases aside. */
  writes: (account?: string) => AuditedRequest[];
  /** Everything that the policy logs, oldest first. */
  all: () => AuditEntry[];
}

/**
 * `folder` is for the policy and the log; `part` of an entry is that of its client.
 * `rules`: what is logged; default: every request of every ServiceAccount, without bodies.
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
          // The last line may be half written.
          .slice(0, -1)
          .map((line) => JSON.parse(line) as AuditEntry);
  const requests = (account?: string) =>
    read().flatMap(({ stage, user, verb, objectRef }): AuditedRequest[] => {
      const isOther = account !== undefined && !user.username.endsWith(`:${account}`);
      if (isOther || objectRef === undefined || stage === 'ResponseStarted') return [];
      const { resource, subresource, name = '' } = objectRef;
      return [{ verb, resource: subresource ? `${resource}/${subresource}` : resource, name }];
    });
  return {
    args: [
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${log}`,
      '--audit-log-format=json',
      // In megabytes; beyond it the API server goes on in another file.
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

/** The rights of rules, in the same form. */
export function permissionsOf(rules: readonly PermissionRule[]): string[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    verbs.flatMap((verb) => resources.map((resource) => `${verb} ${apiGroups[0]} ${resource}`)),
  );
}
