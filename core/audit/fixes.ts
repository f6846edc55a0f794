import type { Manifest } from '../manifest/manifest.ts';
import { parsePath } from '../manifest/position.ts';
import type { PathToken } from '../manifest/yaml-tree.ts';
import { isRecord } from '../untrusted/fields.ts';
import { declaredScore, type AuditResult, type Score } from './audit.ts';
import type { Rule } from './rule.ts';

/** A change of the manifest, and the declared score after it and after all fixes before it. */
export interface Fix extends Score {
  /** The rules that pass only with the change, in catalogue order. */
  ruleIds: string[];
  /** Manifest path of the invalid or missing value. */
  path: string;
  recommendation: string;
}

const MAX_FIXES = 5;

/** A value with which a rule passes, by the path that the rule reports, without indexes. */
const VALUES: Readonly<Record<string, unknown>> = {
  'metadata.description': 'A description.',
  'spec.model.provider': 'provider',
  'spec.model.id': 'model',
  'spec.model.apiKey': '$secret:model-key',
  'spec.model.fallback': { provider: 'provider', id: 'model', apiKey: '$secret:model-key', maxRetries: 1 },
  'spec.model.fallback.maxRetries': 1,
  'spec.model.costControls.maxMonthlyUSD': 100,
  'spec.model.parameters.temperature': 1,
  'spec.prompts.system': '$file:prompts/system.md',
  'spec.tools.annotations': { destructiveHint: true },
  'spec.guardrails.input': [{ type: 'prompt-injection' }],
  'spec.guardrails.output': [{ type: 'pii-detector' }],
  'spec.memory.hygiene.piiScrubFields': ['email'],
  'spec.memory.hygiene.auditLog': true,
  'spec.memory.shortTerm.ttlSeconds': 3600,
  'spec.memory.shortTerm.maxTokens': 4000,
  'spec.memory.longTerm.ttlDays': 30,
  'spec.memory.vector.namespace': 'agent',
  'spec.evaluation.framework': 'framework',
  'spec.evaluation.ciGate': true,
  'spec.evaluation.datasets': [{ name: 'smoke', path: 'smoke.jsonl' }],
  'spec.evaluation.metrics': ['hallucination'],
  'spec.evaluation.thresholds.hallucination': 0.1,
  'spec.observability.tracing.backend': 'otel',
  'spec.observability.logging.structured': true,
  'spec.observability.logging.redactFields': ['email'],
  'spec.api.rateLimit.requestsPerMinute': 60,
};

/**
 * The fixes that raise the declared score most, at most five. Each is made in the manifest, which is then audited again, because
 * one change can affect several rules.
 */
export function fixesOf(manifest: Manifest, { results, declared }: AuditResult): Fix[] {
  const rules = results.map(({ rule }) => rule);
  const fixes: Fix[] = [];
  let current = { manifest, score: declared.score };
  while (fixes.length < MAX_FIXES) {
    const failing = rules.filter((rule) => rule.violatedAt(current.manifest) !== null);
    const candidates = failing.map((rule) => {
      const changed = fixed(rule, current.manifest);
      return { rule, manifest: changed, ...declaredScore(changed, rules) };
    });
    const [best] = candidates.toSorted((a, b) => b.score - a.score);
    if (best === undefined || best.score <= current.score) break;
    const { rule, score, grade } = best;
    fixes.push({
      ruleIds: failing.filter((each) => each.violatedAt(best.manifest) === null).map(({ id }) => id),
      path: rule.violatedAt(current.manifest) ?? '',
      recommendation: rule.recommendation,
      score,
      grade,
    });
    current = best;
  }
  return fixes;
}

/** The manifest with which the rule passes. Throws if VALUES lacks a path that the rule reports. */
function fixed(rule: Rule, manifest: Manifest): Manifest {
  let changed = manifest;
  for (let path = rule.violatedAt(changed); path !== null; path = rule.violatedAt(changed)) {
    // An index is left out, so that every item of the list is fixed at once.
    const keys = parsePath(path).filter((token) => typeof token === 'string');
    const value = VALUES[keys.join('.')];
    if (value === undefined) throw new Error(`no value for ${path}`);
    changed = withValue(changed, keys, value) as Manifest;
  }
  return changed;
}

function withValue(target: unknown, [key, ...rest]: readonly PathToken[], value: unknown): unknown {
  if (key === undefined) return merged(target, value);
  if (Array.isArray(target)) return target.map((item) => withValue(item, [key, ...rest], value));
  const object = isRecord(target) ? target : {};
  return { ...object, [key]: withValue(object[key], rest, value) };
}

function merged(before: unknown, value: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(value))
    return [...(before as unknown[]), ...(value as unknown[])];
  return isRecord(before) && isRecord(value) ? { ...value, ...before } : value;
}
