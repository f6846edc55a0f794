import type { AgentPolicy } from '../../core/organisation/finding.ts';
import { minimumModeOf } from '../../core/organisation/gate.ts';
import { parsePolicy } from '../../core/organisation/parse-policy.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import type { KubeClient } from '../../kube/client.ts';
import { Informer, type Change } from '../../kube/informer.ts';
import { getObject } from '../../kube/objects.ts';
import { AGENT_POLICIES, NAMESPACES } from '../../kube/resources.ts';
import type { AgentPolicyObject, KubeObject } from '../../kube/types.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Problem } from '../../runtime/problem.ts';

export interface PolicySources {
  client: KubeClient;
  logger: Logger;
  clock: Clock;
}

/** The AgentPolicies, and the labels of a namespace. */
export interface NamespaceRules {
  policies: AgentPolicy[];
  /** Names of policies that could not be parsed. */
  invalid: string[];
  labels: Readonly<Record<string, string>>;
}

/** Part of the heap for the namespaces of a large cluster; only names and labels are kept. */
const NAMESPACES_PART = 1 / 8;
const MAX_LOGGED = 5;

/** The AgentPolicies and namespaces of the cluster, kept up to date by watches. */
export class Policies {
  readonly #sources: PolicySources;
  readonly #policies: Informer<AgentPolicyObject>;
  readonly #namespaces: Informer<KubeObject>;
  readonly #parsed = new Map<string, AgentPolicy | 'invalid'>();
  #isListed = false;

  constructor(sources: PolicySources) {
    this.#sources = sources;
    this.#policies = new Informer({
      ...sources,
      resource: AGENT_POLICIES,
      keep: ({ apiVersion, kind, metadata: { name, resourceVersion }, spec }) => ({
        // Items of a list have no type of their own.
        ...{ apiVersion: apiVersion ?? 'platform.io/v1', kind: kind ?? 'AgentPolicy', spec },
        metadata: { name, ...(resourceVersion !== undefined && { resourceVersion }) },
      }),
      onChange: (change) => this.#changed(change),
    });
    this.#namespaces = new Informer({
      ...sources,
      resource: NAMESPACES,
      selection: { only: 'metadata' },
      namespacePart: NAMESPACES_PART,
      keep: ({ metadata: { name, resourceVersion, labels = {} } }) => ({
        metadata: { name, labels, ...(resourceVersion !== undefined && { resourceVersion }) },
      }),
    });
  }

  start(): void {
    this.#policies.start();
    this.#namespaces.start();
    void this.#policies.synced().then(() => (this.#isListed = true));
  }

  async close(): Promise<void> {
    await Promise.all([this.#policies.close(), this.#namespaces.close()]);
  }

  /** Resolves when the policies and the namespaces are known. */
  async synced(): Promise<void> {
    await Promise.all([this.#policies.synced(), this.#namespaces.synced()]);
  }

  /**
   * What applies in a namespace. Throws a Problem while the policies are not known: the API server then rejects the write. A process
   * without policies is still ready, because it injects pods.
   */
  async of(namespace: string): Promise<NamespaceRules> {
    if (!this.#isListed) throw new Problem(500, 'the AgentPolicies are not known yet; try again');
    if (this.#policies.fullNamespaces.size > 0)
      throw new Problem(500, 'the AgentPolicies need more memory than the webhook has');
    const policies: AgentPolicy[] = [];
    const invalid: string[] = [];
    for (const [name, policy] of this.#parsed)
      if (policy === 'invalid') invalid.push(name);
      else policies.push(policy);
    const isNeeded = policies.length + invalid.length > 0;
    return { policies, invalid, labels: isNeeded ? await this.#labels(namespace) : {} };
  }

  /** The strictest policy mode that the rules require of an agent; `off` while they or the namespace are not known. */
  minimumMode(namespace: string, agent: string): PolicyMode {
    const labels = this.#namespaces.get({ name: namespace })?.metadata.labels ?? null;
    const policies = [...this.#parsed.values()].filter((policy) => policy !== 'invalid');
    return minimumModeOf(policies, { namespace, labels, names: [agent], at: this.#sources.clock.now() });
  }

  /** A namespace that was created a moment ago may not have arrived. */
  async #labels(namespace: string): Promise<Readonly<Record<string, string>>> {
    const known = this.#namespaces.get({ name: namespace });
    const { client } = this.#sources;
    const found = known ?? (await getObject(client, NAMESPACES, { name: namespace, only: 'metadata' }));
    if (found === null) throw new Problem(500, `the namespace ${namespace} does not exist`);
    return found.metadata.labels ?? {};
  }

  #changed({ type, object }: Change<AgentPolicyObject>): void {
    const { name } = object.metadata;
    if (type === 'deleted') {
      this.#parsed.delete(name);
      return;
    }
    const parsed = parsePolicy(object);
    this.#parsed.set(name, parsed.ok ? parsed.value : 'invalid');
    if (!parsed.ok)
      this.#sources.logger.warn('AgentPolicy is invalid, its rules are not applied', {
        policy: name,
        errors: parsed.errors.slice(0, MAX_LOGGED),
      });
  }
}
