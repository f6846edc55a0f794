import type { Manifest } from '../manifest/manifest.ts';
import { tokenPriceOf } from '../manifest/token-price.ts';
import { isRecord, own } from '../untrusted/fields.ts';

/** Without a price the cost is not known, and nothing can be compared with this limit. */
const CHECKED_WITH_PRICE = 'spec.model.costControls.maxMonthlyUSD';

/** Manifest paths that the product records and cannot check: nothing that it sees tells whether they hold. */
const UNCHECKED: readonly string[] = [
  'spec.model.parameters',
  'spec.model.fallback',
  CHECKED_WITH_PRICE,
  'spec.model.costControls.alertAtUSD',
  'spec.prompts',
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

/** What this manifest declares and nobody checks, by manifest path. */
export function declaredNotChecked(manifest: Manifest): string[] {
  const isPriced = tokenPriceOf(manifest) !== undefined;
  return UNCHECKED.filter(
    (path) => valueAt(manifest, path.split('.')) !== undefined && !(isPriced && path === CHECKED_WITH_PRICE),
  );
}

function valueAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  return isRecord(value) ? valueAt(own(value, key), rest) : undefined;
}
