import type { AuditEntry } from './audit-entry.ts';

/** What was known of a request at one time. Facts are replaced, never changed in place. */
export type BehaviorVersion = readonly unknown[];

export function behaviorVersionOf(entry: AuditEntry): BehaviorVersion {
  return [entry.guardrailsInvoked, entry.toolsCalled, entry.userConfirmed, entry.events];
}

/** Whether nothing was told of the request since. */
export function isCurrent(version: BehaviorVersion, entry: AuditEntry): boolean {
  return behaviorVersionOf(entry).every((fact, index) => fact === version[index]);
}
