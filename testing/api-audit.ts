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
  userAgent: string;
  verb: string;
  objectRef: { apiGroup?: string; resource: string; subresource?: string };
  annotations: Record<string, string>;
}

export interface ApiAudit {
  /** For the API server. */
  args: string[];
  /** What a process asked for, as `<verb> <group> <resource>`, and what became of it (`allow`, `forbid`). */
  of: (part: string) => { used: string[]; decisions: string[] };
}

/** `folder` is for the policy and the log; `part` of an entry is that of its client. */
export function apiAudit(folder: string): ApiAudit {
  const [policy, log] = [join(folder, 'audit.yaml'), join(folder, 'audit.log')];
  writeFileSync(policy, POLICY);
  return {
    args: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-format=json'],
    of(part) {
      const entries = readFileSync(log, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as AuditEntry)
        .filter((entry) => entry.userAgent.startsWith(`agent-compliance-${part}/`));
      const rights = entries.map(({ verb, objectRef: { apiGroup, resource, subresource } }) =>
        [verb, apiGroup ?? '', subresource ? `${resource}/${subresource}` : resource].join(' '),
      );
      const decisions = entries.map(
        (entry) => entry.annotations['authorization.k8s.io/decision'] ?? '(none)',
      );
      return { used: [...new Set(rights)].sort(), decisions: [...new Set(decisions)] };
    },
  };
}

/** The rights of rules, in the same form. */
export function rightsOf(rules: readonly PermissionRule[]): string[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    verbs.flatMap((verb) => resources.map((resource) => `${verb} ${apiGroups[0]} ${resource}`)),
  );
}
