import type { AuditEntry } from '../shapes/audit-entry.ts';
import type { EgressCall } from '../shapes/egress-call.ts';

/**
 * What the sidecar saw of a request or a call, which does not depend on the manifest. An absent member is unknown; an empty list
 * is a fact. The members are in alphabetical order, which is that of the line.
 */
export interface Facts {
  aborted?: boolean | undefined;
  guardrails?: readonly string[] | undefined;
  host?: string | undefined;
  otherModels?: readonly string[] | undefined;
  stream?: boolean | undefined;
  toolsCalled?: readonly string[] | undefined;
  toolsExecuted?: readonly string[] | undefined;
  toolsOffered?: readonly string[] | undefined;
  userConfirmed?: boolean | undefined;
}

/** The facts of a request: what the agent reported about it. */
export function factsOfEntry(entry: AuditEntry): Facts {
  const { aborted, guardrailsInvoked, toolsCalled, userConfirmed } = entry;
  return { aborted, guardrails: guardrailsInvoked, toolsCalled, userConfirmed };
}

/** The facts of a call that a lane read; of a tunnel, only its host. */
export function factsOfCall(call: Omit<EgressCall, 'at'>): Facts {
  if (call.lane === 'connect') return { host: call.path };
  const { otherModels, stream, toolsCalled, toolsExecuted, toolsOffered } = call;
  return { otherModels, stream, toolsCalled, toolsExecuted, toolsOffered };
}
