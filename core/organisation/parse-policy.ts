import { agentPolicySpec } from '../shapes/agent-policy.ts';
import { DNS_SUBDOMAIN } from '../shapes/common.ts';
import { matching, oneOf, parseWith, type Parsed } from '../shapes/field.ts';
import { object } from '../shapes/object.ts';
import { unknownMembers } from '../shapes/unknown-members.ts';
import { isRecord, own } from '../untrusted/fields.ts';
import type { AgentPolicy } from './finding.ts';

const document = object('An AgentPolicy.', {
  apiVersion: oneOf('Version of the API.', ['platform.io/v1']),
  kind: oneOf('Kind of the object.', ['AgentPolicy']),
  metadata: object('Metadata.', {
    name: matching('Name of the policy.', { pattern: DNS_SUBDOMAIN, wanted: 'a DNS name' }),
  }),
  spec: agentPolicySpec,
});

/** An AgentPolicy from a file or from the API server. Unknown members of the spec are errors: a misspelled rule would be no rule. */
export function parsePolicy(value: unknown): Parsed<AgentPolicy> {
  const parsed = parseWith(document, value);
  const unknown = isRecord(value) ? unknownMembers(own(value, 'spec'), agentPolicySpec.schema, 'spec') : [];
  if (!parsed.ok) return { ok: false, errors: [...parsed.errors, ...unknown] };
  if (unknown.length > 0) return { ok: false, errors: unknown };
  return { ok: true, value: { name: parsed.value.metadata.name, spec: parsed.value.spec } };
}
