import type { Manifest } from '../manifest/manifest.ts';
import { tokenPriceOf } from '../manifest/token-price.ts';
import { isRecord, own } from '../untrusted/fields.ts';

/** This limit can only be checked if the manifest has prices, because the cost is unknown without prices. */
const CHECKED_WITH_PRICE = 'spec.model.costControls.maxMonthlyUSD';

/** Compared only with what egress lanes or the socket census observe. */
const CHECKED_WITH_EGRESS = 'spec.egress';

/** Manifest paths that the product records but cannot check. */
const UNCHECKED: readonly string[] = [
  'spec.model.parameters',
  'spec.model.fallback',
  CHECKED_WITH_PRICE,
  'spec.model.costControls.alertAtUSD',
  'spec.prompts',
  CHECKED_WITH_EGRESS,
  'spec.memory.shortTerm.maxTurns',
  'spec.memory.shortTerm.maxTokens',
  'spec.memory.longTerm.ttlDays',
  'spec.memory.vector.dimension',
  'spec.memory.vector.topK',
  'spec.memory.hygiene',
  'spec.requires.minimumMemoryMB',
  'spec.requires.nodeVersion',
  'spec.requires.pythonVersion',
  'spec.evaluation.metrics',
  'spec.observability.tracing.sampleRate',
  'spec.observability.metrics',
  'spec.observability.logging',
  'spec.compliance.auditSchedule',
  'spec.api.a2a',
  'spec.api.auth',
  'spec.api.rateLimit',
  'spec.api.streaming',
  'spec.api.metricsEndpoint',
  'spec.api.corsOrigins',
  'spec.subagents',
  'spec.skills',
  'spec.humanInTheLoop',
];

/**
 * The manifest paths that this manifest declares and the product does not check.
 * @param hasEgress whether a lane or a census observes the agent; true if that is not known
 */
export function declaredNotChecked(manifest: Manifest, hasEgress = true): string[] {
  const checked = new Set([
    ...(tokenPriceOf(manifest) === undefined ? [] : [CHECKED_WITH_PRICE]),
    ...(hasEgress ? [CHECKED_WITH_EGRESS] : []),
  ]);
  return UNCHECKED.filter((path) => valueAt(manifest, path.split('.')) !== undefined && !checked.has(path));
}

function valueAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  return isRecord(value) ? valueAt(own(value, key), rest) : undefined;
}
