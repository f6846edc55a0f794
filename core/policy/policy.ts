import type { Manifest } from '../manifest/manifest.ts';
import type { PolicyEngine } from './engine.ts';
import { packageSegmentOf } from './package-name.ts';
import type { MemoryWriteSelection, PolicyInput } from './policy-input.ts';
import type { BoundRule, DenialReason, PolicyConfig } from './policy-rule.ts';
import { POLICY_RULES } from './rules.ts';

/** The policy of one manifest: created once, evaluated for every request. */
export interface Policy {
  agentName: string;
  /** The rules that the manifest declares, sorted by reason. */
  rules: readonly BoundRule[];
  /** Input for `policyInputOf`. */
  memory: MemoryWriteSelection;
}

export function policyOf(manifest: Manifest): Policy {
  return { agentName: manifest.metadata.name, rules: rulesOf(manifest), memory: memoryOf(manifest) };
}

/** The rules that the manifest declares, sorted by reason. */
export function rulesOf(manifest: Manifest): BoundRule[] {
  return POLICY_RULES.flatMap((rule) => {
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
export function evaluate(policy: Policy, input: PolicyInput): DenialReason[] {
  const reasons: DenialReason[] = [];
  for (const { rule, denies } of policy.rules) if (denies(input)) reasons.push(rule.reason);
  return reasons;
}

/** Evaluates the rules in this process, synchronously. */
export const builtinEngine = (policy: () => Policy): PolicyEngine => ({
  evaluate: (input) => ({ state: 'answered', denials: evaluate(policy(), input) }),
});

/** The values that the rules compare facts with. */
export function policyConfigOf(rules: readonly BoundRule[]): PolicyConfig {
  return Object.assign({}, ...rules.map(({ config }) => config)) as PolicyConfig;
}

/** The content of `data.json`. The data is under the path of the agent's package, so that agents do not share data. */
export function policyDataOf(manifest: Manifest): Record<string, unknown> {
  const config = policyConfigOf(rulesOf(manifest));
  return { platform: { agent: { [packageSegmentOf(manifest.metadata.name)]: { config } } } };
}

/** An input whose denials must include `reason`. Otherwise the engine does not have this manifest's rules and data. */
export interface Canary {
  reason: DenialReason;
  input: PolicyInput;
}

/** At least one canary per rule; none without rules. */
export function canariesOf({ agentName, rules }: Policy): Canary[] {
  return rules.flatMap(({ rule, canaries }) =>
    canaries.map((facts) => ({
      reason: rule.reason,
      input: { agent_name: agentName, request_type: 'llm_call' as const, ...facts },
    })),
  );
}
