import type { AuditEntry } from '../shapes/audit-entry.ts';

/** The facts known about a request at one point in time. Facts are replaced, never changed in place. */
export type BehaviorVersion = readonly unknown[];

export function behaviorVersionOf(entry: AuditEntry): BehaviorVersion {
  return [entry.guardrailsInvoked, entry.toolsCalled, entry.userConfirmed, entry.events];
}

/** Whether the facts about the request are still the same. */
export function isCurrent(version: BehaviorVersion, entry: AuditEntry): boolean {
  // Without a second list: every response is compared.
  const [guardrailsInvoked, toolsCalled, userConfirmed, events] = version;
  return (
    entry.guardrailsInvoked === guardrailsInvoked &&
    entry.toolsCalled === toolsCalled &&
    entry.userConfirmed === userConfirmed &&
    entry.events === events
  );
}
