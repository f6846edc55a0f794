import type { ManifestSpec } from '../../core/manifest/manifest.ts';
import type { ExternalTool } from '../../core/shapes/values.ts';
import type { TestResults } from './results.ts';
import { rulesOfTest } from './rules-of-tests.ts';

type External = NonNullable<NonNullable<ManifestSpec['evaluation']>['external']>[number];

/** When the results of a tool are a proof. */
export interface Limits {
  /** Maximum share of failed tests, 0 to 1. */
  maxFailureRate: number;
  /** Minimum number of tests per rule. */
  minRuns: number;
  /** Days after which the proof expires. */
  expiresDays: number;
}

const DEFAULTS: Limits = { maxFailureRate: 0, minRuns: 20, expiresDays: 90 };

/** The limits that the manifest declares for the tool. */
export function limitsOf({ evaluation }: ManifestSpec, tool: ExternalTool): Limits {
  const declared: Partial<External> = evaluation?.external?.find((each) => each.tool === tool) ?? {};
  return {
    maxFailureRate: declared.maxFailureRate ?? DEFAULTS.maxFailureRate,
    minRuns: declared.minRuns ?? DEFAULTS.minRuns,
    expiresDays: declared.expiresDays ?? DEFAULTS.expiresDays,
  };
}

/** The tests of one rule in one file. */
export interface RuleResult {
  ruleId: string;
  /** Names of the tests, sorted. */
  names: string[];
  run: number;
  passed: number;
  failed: number;
  errors: number;
  /** Why this is not a proof; null: it is one. */
  refused: string | null;
}

export interface JudgedResults {
  rules: RuleResult[];
  /** Names of tests that show no rule. */
  ignored: string[];
}

/** The results by rule. @param rule the rule that all tests show; undefined: their names decide */
export function judgeResults(results: TestResults, limits: Limits, rule?: string): JudgedResults {
  const byRule = new Map<string, RuleResult>();
  const ignored = new Set<string>();
  for (const { name, outcome } of results.tests) {
    const rules = rule === undefined ? rulesOfTest(results.tool, name) : [rule];
    if (rules.length === 0 && name !== null) ignored.add(name);
    for (const ruleId of rules) {
      const found = byRule.get(ruleId) ?? emptyResult(ruleId);
      byRule.set(ruleId, found);
      found.run += 1;
      found[outcome === 'error' ? 'errors' : outcome] += 1;
      if (name !== null && !found.names.includes(name)) found.names.push(name);
    }
  }
  const rules = [...byRule.values()].sort((a, b) => (a.ruleId < b.ruleId ? -1 : 1));
  return {
    rules: rules.map((each) => ({ ...each, names: each.names.sort(), refused: refusalOf(each, limits) })),
    ignored: [...ignored].sort(),
  };
}

const emptyResult = (ruleId: string): RuleResult => ({
  ...{ ruleId, names: [], refused: null },
  ...{ run: 0, passed: 0, failed: 0, errors: 0 },
});

function refusalOf({ run, failed, errors }: RuleResult, { minRuns, maxFailureRate }: Limits): string | null {
  if (errors > 0) return `${errors} of ${run} tests have no result`;
  if (run < minRuns) return `${run} tests ran, at least ${minRuns} are required`;
  if (failed > run * maxFailureRate)
    return `${failed} of ${run} tests failed, at most ${maxFailureRate * 100} % may fail`;
  return null;
}
