/** Public API of the package, imported as `agent-compliance/reporter`. */
export { createReporter, type Reporter, type ReporterOptions, type ToolRegistry } from './reporter.ts';
export type { RequestWithId } from './current-request.ts';
export { PolicyDeniedError, PolicyUnavailableError, type PolicyCheck } from './policy-check.ts';
export type { PolicyFacts } from './policy-facts.ts';
export type { GuardrailDetails, HeadWriter, RequestBehavior, ToolDetails } from './request-behavior.ts';
export type { PolicyOptions } from './settings.ts';
export type { EventClient, EventCounts } from '../push/event-client.ts';
export type { BehavioralEvent } from '../core/shapes/events.ts';
export { ManifestInputError, type ManifestInput } from './manifest-input.ts';
export { PushOptionsError, type PushOptions } from './push-settings.ts';
export type { JsonResponse } from './handlers.ts';
export type { Check, HealthReport } from '../core/shapes/health.ts';
export type { Manifest, ManifestSpec } from '../core/manifest/manifest.ts';
export type { AgentUsageReport } from '../core/shapes/usage.ts';
export type { PushClock, PushLogger } from '../push/clock.ts';
