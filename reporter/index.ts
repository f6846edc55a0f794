/** The package's reporter: what an agent's author imports from `agent-compliance/reporter`. */
export { createReporter, type Reporter, type ReporterOptions, type ToolRegistry } from './reporter.ts';
export { ManifestInputError, type ManifestInput } from './manifest-input.ts';
export { PushOptionsError, type PushOptions } from './push-settings.ts';
export type { JsonResponse } from './handlers.ts';
export type { Check, HealthReport } from '../core/health/health.ts';
export type { Manifest } from '../core/manifest/manifest.ts';
export type { AgentUsageReport } from '../core/usage/usage.ts';
export type { PushClock, PushLogger } from '../push/clock.ts';
