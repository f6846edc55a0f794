import type { ReportedCalls } from '../facts/egress-facts.ts';
import { REQUESTED_MODEL } from '../usage/usage.ts';
import type { AuditEntry } from './audit-entry.ts';

/** The tools and models that the agent itself reports in the entries of the audit ring. */
export function reportedCallsIn(
  entries: readonly Pick<AuditEntry, 'toolsCalled' | 'usage' | 'events'>[],
): ReportedCalls {
  let tools: Set<string> | null = null;
  const models = new Set<string>();
  const requestedModels = new Set<string>();
  for (const { toolsCalled, usage, events = [] } of entries) {
    // An empty list is a report, too.
    if (toolsCalled !== undefined) tools ??= new Set();
    for (const name of toolsCalled ?? []) tools?.add(name);
    if (usage !== undefined && !('unavailable' in usage))
      for (const { modelId, [REQUESTED_MODEL]: isRequested } of usage.calls ?? [usage])
        (isRequested ? requestedModels : models).add(modelId);
    for (const event of events) if (event.type === 'model') models.add(event.modelId);
  }
  const reported = { tools, models: models.size === 0 ? null : models };
  return requestedModels.size === 0 ? reported : { ...reported, requestedModels };
}
