// The API server's audit log as the tests of rights read it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PermissionRule } from '../operator/permissions.ts';

const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`;

interface AuditEntry {
  stage: string;
  userAgent: string;
  user: { username: string };
  verb: string;
  /** None of a path that is no object's, such as /version. */
  objectRef?: { apiGroup?: string; resource: string; subresource?: string; name?: string };
  annotations: Record<string, string>;
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
}

/** `folder` is for the policy and the log; `part` of an entry is that of its client. */
export function apiAudit(folder: string): ApiAudit {
  const [policy, log] = [join(folder, 'audit.yaml'), join(folder, 'audit.log')];
  writeFileSync(policy, POLICY);
  const read = () =>
    readFileSync(log, 'utf8')
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
    args: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-format=json'],
    of(part) {
      const entries = read().filter((entry) => entry.userAgent.startsWith(`agent-compliance-${part}/`));
      const rights = entries.flatMap(({ verb, objectRef }) => {
        if (objectRef === undefined) return [];
        const { apiGroup = '', resource, subresource } = objectRef;
        return [[verb, apiGroup, subresource ? `${resource}/${subresource}` : resource].join(' ')];
      });
      const decisions = entries.map(
        (entry) => entry.annotations['authorization.k8s.io/decision'] ?? '(none)',
      );
      return { used: [...new Set(rights)].sort(), decisions: [...new Set(decisions)] };
    },
    entries: requests,
    writes: (account) =>
      requests(account).filter(
        ({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && resource !== 'leases',
      ),
  };
}

/** The rights of rules, in the same form. */
export function rightsOf(rules: readonly PermissionRule[]): string[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    verbs.flatMap((verb) => resources.map((resource) => `${verb} ${apiGroups[0]} ${resource}`)),
  );
}
