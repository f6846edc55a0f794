import type { Manifest } from '../manifest/manifest.ts';
import { EGRESS_RULES } from './egress-rules.ts';
import type { PolicyEngine } from './engine.ts';
import { packageSegmentOf } from './package-name.ts';
import { EGRESS_REQUEST_TYPES, type MemoryWriteSelection, type PolicyInput } from './policy-input.ts';
import type { BoundRule, DenialReason, EgressReason, PolicyConfig, PolicyRule } from './policy-rule.ts';
import { POLICY_RULES } from './rules.ts';

/** The policy of one manifest: created once, evaluated for every request. */
export interface Policy {
  agentName: string;
  /** The rules that the manifest declares, sorted by reason. */
  rules: readonly BoundRule[];
  /** The rules for calls on the egress lanes, sorted by reason. Bound at the first use. */
  egressRules: () => readonly BoundRule<EgressReason>[];
  /** Input for `policyInputOf`. */
  memory: MemoryWriteSelection;
}

export function policyOf(manifest: Manifest): Policy {
  let egressRules: readonly BoundRule<EgressReason>[] | undefined;
  return {
    agentName: manifest.metadata.name,
    rules: rulesOf(manifest),
    egressRules: () => (egressRules ??= egressRulesOf(manifest)),
    memory: memoryOf(manifest),
  };
}

/** The rules that the manifest declares, sorted by reason. */
export const rulesOf = (manifest: Manifest): BoundRule[] => boundRules(POLICY_RULES, manifest);

/** The rules for calls on the egress lanes, sorted by reason. */
export const egressRulesOf = (manifest: Manifest): BoundRule<EgressReason>[] =>
  boundRules(EGRESS_RULES, manifest);

function boundRules<Reason extends string>(
  rules: readonly PolicyRule<Reason>[],
  manifest: Manifest,
): BoundRule<Reason>[] {
  return rules.flatMap((rule) => {
    const declared = rule.bind(manifest);
    return declared === null ? [] : { rule, ...declared };
  });
}

function memoryOf({ spec: { memory } }: Manifest): MemoryWriteSelection {
  const { shortTerm, longTerm, vector } = memory ?? {};
  const shortTermBackend = shortTerm?.backend ?? memory?.backend;
  const others = [longTerm?.backend, vector?.backend].filter((backend) => backend !== undefined);
  return {
    ...(shortTerm?.ttlSeconds === undefined ? {} : { ttlSeconds: shortTerm.ttlSeconds }),
    otherBackends: others.filter((backend) => backend !== shortTermBackend),
  };
}

/** The builtin engine: returns the same sorted denial reasons as an engine with the generated Rego. */
export function evaluate(policy: Policy, input: PolicyInput): (DenialReason | EgressReason)[] {
  const reasons: (DenialReason | EgressReason)[] = [];
  const rules = isEgress(input) ? policy.egressRules() : policy.rules;
  for (const { rule, denies } of rules) if (denies(input)) reasons.push(rule.reason);
  return reasons;
}

/** Whether the input is about a call on an egress lane, which has rules of its own. */
export function isEgress({ request_type }: Pick<PolicyInput, 'request_type'>): boolean {
  return EGRESS_REQUEST_TYPES.some((type) => type === request_type);
}

/** Evaluates the rules in this process, synchronously. */
export const builtinEngine = (policy: () => Policy): PolicyEngine => ({
  evaluate: (input) => ({ state: 'answered', denials: evaluate(policy(), input) }),
});

/** The values that the rules compare facts with. */
export function policyConfigOf(rules: readonly BoundRule<string>[]): PolicyConfig {
  return Object.assign({}, ...rules.map(({ config }) => config)) as PolicyConfig;
}

/** The content of `data.json`. The data is under the path of the agent's package, so that agents do not share data. */
export function policyDataOf(manifest: Manifest): Record<string, unknown> {
  const config = policyConfigOf(rulesOf(manifest));
  const egress = policyConfigOf(egressRulesOf(manifest));
  return { platform: { agent: { [packageSegmentOf(manifest.metadata.name)]: { config, egress } } } };
}

/** An input whose denials must include `reason`. Otherwise the engine does not have this manifest's rules and data. */
export interface Canary {
  reason: DenialReason | EgressReason;
  input: PolicyInput;
}

/** At least one canary per rule; none without rules. `withEgress`: also for the rules about calls on the egress lanes. */
export function canariesOf({ agentName, rules, egressRules }: Policy, withEgress = false): Canary[] {
  const asked: readonly BoundRule<Canary['reason']>[] = withEgress ? [...rules, ...egressRules()] : rules;
  return asked.flatMap(({ rule, canaries }) =>
    canaries.map((facts) => ({
      reason: rule.reason,
      input: { agent_name: agentName, request_type: 'llm_call' as const, ...facts },
    })),
  );
}
