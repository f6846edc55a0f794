import { excludesRule } from '../../core/audit/suppressions.ts';
import { audit } from '../../core/audit/audit.ts';
import type { Evidence } from '../../core/audit/earned.ts';
import { RULES } from '../../core/audit/rules.ts';
import type { Rule, Tier } from '../../core/audit/rule.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parsePath } from '../../core/manifest/position.ts';
import type { AuditSummary } from '../../core/shapes/audit.ts';
import { PACKS } from '../../core/shapes/values.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';
import type { RowResult } from './controls.ts';

/** What is known about the rules. */
export interface RuleInputs {
  /** null: the bundle has no manifest. */
  manifest: Manifest | null;
  /** Evidence of the range. */
  evidence: Evidence;
  /** The audit in the last report; null: there is none. */
  reported: AuditSummary | null;
  /** The end of the range, or now. */
  at: Date;
}

const SHOWN_BY: Readonly<Record<Exclude<Tier, 'D'>, string>> = {
  P: 'its checks pass',
  B: 'requests show it',
  X: 'an unexpired proof was submitted',
};

/** The state of each rule by id. A rule that is absent is not known. */
export function ruleStates(inputs: RuleInputs): Map<string, RowResult> {
  const { manifest, evidence, at } = inputs;
  if (manifest === null) return statesOfReport(inputs);
  const { results, suppressions } = audit(manifest, { packs: PACKS, evidence, at });
  const states = new Map<string, RowResult>();
  for (const { rule, state, reason } of suppressions)
    if (excludesRule(state)) states.set(rule, { state: 'suppressed', detail: reason });
  for (const result of results) {
    const { rule } = result;
    if (!result.passed) states.set(rule.id, violation(rule, result.path, manifest));
    else if (result.earned === 'D')
      states.set(rule.id, { state: 'declared', detail: 'the manifest declares it' });
    else states.set(rule.id, { state: 'shown', detail: SHOWN_BY[result.earned] });
  }
  return states;
}

/** A value that breaks the rule contradicts it; a missing value declares nothing. */
function violation({ message }: Rule, path: string, manifest: Manifest): RowResult {
  const found = parsePath(path).reduce<unknown>((value, token) => {
    if (typeof token === 'number') return Array.isArray(value) ? (value as unknown[])[token] : undefined;
    return isRecord(value) ? own(value, token) : undefined;
  }, manifest);
  return { state: found === undefined ? 'not declared' : 'contradicted', detail: `${message} (${path})` };
}

/** The summary of a report names the broken rules, but not the packs that it covers. So another rule is not known. */
function statesOfReport({ reported, evidence }: RuleInputs): Map<string, RowResult> {
  const states = new Map<string, RowResult>();
  const proved = new Set(evidence.proofs.map(({ ruleId }) => ruleId));
  for (const { id, message, evidence: needed } of RULES) {
    if (reported?.failed.includes(id)) states.set(id, { state: 'not declared', detail: message });
    else if (reported !== null && needed.kind !== 'none' && proved.has(id))
      states.set(id, { state: 'shown', detail: SHOWN_BY.X });
  }
  for (const { rule, state, reason } of reported?.suppressions ?? [])
    if (excludesRule(state)) states.set(rule, { state: 'suppressed', detail: reason });
  return states;
}
