import { isDeepStrictEqual } from 'node:util';
import type { AgentObservation } from '../../core/observation/observation.ts';
import { conditionAt, type ConditionState } from '../../core/observation/condition-table.ts';
import type { AgentPolicy } from '../../core/organisation/finding.ts';
import { policyCounts, type JudgedAgent } from '../../core/organisation/policy-status.ts';
import type { AgentPolicyStatus } from '../../core/shapes/agent-policy.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { expectOk } from '../../kube/objects.ts';
import type { OrganisationRules } from '../../kube/organisation-rules.ts';
import { AGENT_POLICIES, objectPath } from '../../kube/resources.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ManifestWorker } from '../../runtime/manifest-worker.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/** How often the statuses are computed. They follow the heartbeats of all agents, so they are not computed per change. */
const PERIOD_MS = 10_000;
const MAX_MESSAGE = 500;

export interface PolicyStatusParts extends ClusterParts {
  metrics: Metrics;
  rules: OrganisationRules;
  worker: ManifestWorker;
  allObservations: () => readonly AgentObservation[];
}

/** Writes the status of each AgentPolicy while this process is the leader. */
export class PolicyStatuses {
  readonly #parts: PolicyStatusParts;
  /** By expression: why it cannot be parsed; null: it can. */
  readonly #expressions = new Map<string, string | null>();
  /** For the metric. */
  #written = new Map<string, AgentPolicyStatus>();

  constructor(parts: PolicyStatusParts) {
    this.#parts = parts;
    parts.metrics.gauge(
      'platform_policy_broken_agents',
      'Agents that break a rule of an AgentPolicy. Valid on the leader only.',
      () =>
        [...this.#written].flatMap(([policy, { rules }]) =>
          rules.map(({ id: rule, broken }) => ({ labels: { policy, rule }, value: broken })),
        ),
    );
  }

  /** Until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    while (!signal.aborted) {
      await this.#write();
      await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    }
    this.#written = new Map();
  }

  async #write(): Promise<void> {
    const { rules, allObservations } = this.#parts;
    const policies = rules.policies();
    if (policies === null) return;
    const agents = allObservations().map(({ metadata: { namespace, name }, status }) => ({
      ...{ namespace, name, status },
    }));
    const written = new Map<string, AgentPolicyStatus>();
    for (const object of rules.objects()) {
      const { name, status } = object;
      const policy = policies.find((each) => each.name === name);
      const wanted = await this.#statusOf(object, policy, agents);
      written.set(name, wanted);
      // The cached object, not what was written: a policy that was created again has no status.
      if (!isDeepStrictEqual(wanted, status)) await this.#patch(name, wanted);
    }
    this.#written = written;
  }

  /** Never rejects, so that one policy does not delay the others. */
  async #patch(name: string, status: AgentPolicyStatus): Promise<void> {
    const { client, logger } = this.#parts;
    try {
      expectOk(
        await client.send({
          method: 'PATCH',
          path: objectPath(AGENT_POLICIES, { name }, 'status'),
          contentType: 'application/merge-patch+json',
          body: { status },
        }),
      );
    } catch (error) {
      logger.warn('failed to write the status of an agent policy, retrying', {
        policy: name,
        reason: describeError(error),
      });
    }
  }

  /** @param policy undefined: the object is not valid */
  async #statusOf(
    { name, generation, status: known }: ReturnType<OrganisationRules['objects']>[number],
    policy: AgentPolicy | undefined,
    agents: readonly JudgedAgent[],
  ): Promise<AgentPolicyStatus> {
    const { rules, clock } = this.#parts;
    const counts =
      policy === undefined ? { agents: 0, broken: 0, rules: [] } : policyCounts(policy, agents, rules);
    const state = policy === undefined ? this.#invalid(name) : await this.#accepted(policy);
    const accepted = conditionAt('Accepted', state, known?.conditions ?? [], clock.now());
    return {
      ...counts,
      conditions: [{ ...accepted, ...(generation !== undefined && { observedGeneration: generation }) }],
    };
  }

  #invalid(name: string): ConditionState {
    const problem = this.#parts.rules.invalid().find(({ policy }) => policy === name);
    return { status: 'False', reason: 'Invalid', message: problem?.reason.slice(0, MAX_MESSAGE) ?? '' };
  }

  async #accepted({ spec }: AgentPolicy): Promise<ConditionState> {
    for (const { id, expression } of spec.rules) {
      const error = expression === undefined ? null : await this.#errorOf(expression);
      if (error !== null)
        return {
          status: 'False',
          reason: 'InvalidExpression',
          message: `rule ${id}: ${error}`.slice(0, MAX_MESSAGE),
        };
    }
    return { status: 'True', reason: 'Accepted', message: 'every rule is applied' };
  }

  async #errorOf(expression: string): Promise<string | null> {
    const known = this.#expressions.get(expression);
    if (known !== undefined) return known;
    const error = await this.#parts.worker.syntaxError(expression);
    this.#expressions.set(expression, error);
    return error;
  }
}
