import type { AgentPolicy, RuleSource } from '../core/organisation/finding.ts';
import { parsePolicy } from '../core/organisation/parse-policy.ts';
import type { AgentPolicyStatus } from '../core/shapes/agent-policy.ts';
import type { NotJudged } from '../core/shapes/organisation.ts';
import type { ClusterParts } from './cluster-parts.ts';
import { Informer } from './informer.ts';
import { AGENT_POLICIES, NAMESPACES } from './resources.ts';
import type { KubeObject } from './types.ts';

interface Parts extends ClusterParts {
  /** Called after a change of a policy or of the labels of a namespace. It must be quick. */
  onChange?: () => void;
}

/** The AgentPolicies of the cluster and the labels of its namespaces, kept up to date by watches. */
export class OrganisationRules implements RuleSource {
  readonly #policies: Informer<KubeObject>;
  readonly #namespaces: Informer<KubeObject>;
  readonly #logger: Parts['logger'];
  /** Parsed again after a change. */
  #parsed: { policies: AgentPolicy[]; invalid: NotJudged[] } | null = null;

  constructor({ client, clock, logger, onChange = () => undefined }: Parts) {
    const common = { client, clock, logger };
    this.#logger = logger;
    this.#policies = new Informer({
      ...common,
      resource: AGENT_POLICIES,
      onChange: () => {
        this.#parsed = null;
        onChange();
      },
    });
    this.#namespaces = new Informer({
      ...common,
      resource: NAMESPACES,
      keep: ({ metadata: { name, resourceVersion, labels } }) => ({
        metadata: { name, ...(resourceVersion && { resourceVersion }), ...(labels && { labels }) },
      }),
      onChange,
    });
  }

  start(): void {
    this.#policies.start();
    this.#namespaces.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.#policies.close(), this.#namespaces.close()]);
  }

  /** Resolves when both lists are known. */
  async synced(): Promise<void> {
    await Promise.all([this.#policies.synced(), this.#namespaces.synced()]);
  }

  /** The objects behind the policies, also those that are not valid. */
  objects(): { name: string; generation: number | undefined; status: AgentPolicyStatus | undefined }[] {
    return this.#policies.list().map(({ metadata: { name, generation }, ...object }) => ({
      ...{ name, generation },
      status: (object as { status?: AgentPolicyStatus }).status,
    }));
  }

  policies(): readonly AgentPolicy[] | null {
    // A policy that was ignored for lack of memory must not count as none.
    const isComplete = this.#policies.isSynced() && this.#policies.fullNamespaces.size === 0;
    return isComplete && this.#namespaces.isSynced() ? this.#all().policies : null;
  }

  problem(): string | null {
    const isForbidden = this.#policies.isForbidden() || this.#namespaces.isForbidden();
    return isForbidden
      ? 'the API server does not permit the control plane to list AgentPolicies and namespaces'
      : null;
  }

  invalid(): readonly NotJudged[] {
    return this.#all().invalid;
  }

  labelsOf(namespace: string): Readonly<Record<string, string>> | null {
    return this.#namespaces.get({ name: namespace })?.metadata.labels ?? null;
  }

  #all(): { policies: AgentPolicy[]; invalid: NotJudged[] } {
    this.#parsed ??= this.#parse();
    return this.#parsed;
  }

  #parse(): { policies: AgentPolicy[]; invalid: NotJudged[] } {
    const policies: AgentPolicy[] = [];
    const invalid: NotJudged[] = [];
    for (const object of this.#policies.list()) {
      const { name } = object.metadata;
      const parsed = parsePolicy({ apiVersion: 'platform.io/v1', kind: 'AgentPolicy', ...object });
      if (parsed.ok) {
        policies.push(parsed.value);
        continue;
      }
      const [{ path, message } = { path: '', message: '' }] = parsed.errors;
      invalid.push({ policy: name, reason: `the policy is not valid: ${path}: ${message}` });
      this.#logger.warn('agent policy is not valid', { policy: name, path, message });
    }
    return { policies, invalid };
  }
}
