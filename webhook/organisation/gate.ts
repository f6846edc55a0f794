import type { ManifestReview } from '../../core/injection/parse-review.ts';
import {
  gateReply,
  MAX_JUDGED_BYTES,
  minimumModeOf,
  policiesAt,
  UNJUDGED,
  type GateReply,
} from '../../core/organisation/gate.ts';
import type { AgentPolicy } from '../../core/organisation/finding.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import { onOneLine } from '../../core/untrusted/on-one-line.ts';
import type { KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import { OrganisationRules } from '../../kube/organisation-rules.ts';
import { NAMESPACES } from '../../kube/resources.ts';
import type { Clock } from '../../runtime/clock.ts';
import { FairQueue } from '../../runtime/fair-queue.ts';
import type { Logger } from '../../runtime/logger.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { Problem } from '../../runtime/problem.ts';
import type { OrganisationGate } from '../context.ts';

/** Manifests that wait, of at most 64 KiB each. */
const MAX_WAITING = { waiting: 200, ofOneKey: 50 };

export interface GateSources {
  client: KubeClient;
  logger: Logger;
  clock: Clock;
}

/** Compares manifests with the rules of the organisation before they are written. */
export class ManifestGate implements OrganisationGate {
  readonly #sources: GateSources;
  readonly #rules: OrganisationRules;
  readonly #worker: ManifestWorker;
  readonly #queue = new FairQueue(MAX_WAITING);

  constructor(sources: GateSources, worker = new ManifestWorker()) {
    this.#sources = sources;
    this.#rules = new OrganisationRules(sources);
    this.#worker = worker;
  }

  start(): void {
    this.#rules.start();
  }

  async close(): Promise<void> {
    await this.#rules.close();
    await this.#worker.close();
  }

  /** Resolves when the rules and the namespaces are known. */
  synced(): Promise<void> {
    return this.#rules.synced();
  }

  /** `off` while the rules, or the labels of the namespace, are not known: pods are still injected. */
  minimumMode(namespace: string, agent: string): PolicyMode {
    const at = this.#sources.clock.now();
    const labels = this.#rules.labelsOf(namespace);
    return minimumModeOf(this.#rules.policies() ?? [], { namespace, labels, names: [agent], at });
  }

  /** Throws a Problem if the manifest cannot be judged now. `signal`: the writer no longer waits. */
  async review(review: ManifestReview, signal: AbortSignal): Promise<GateReply> {
    const { namespace, text, isBinary } = review;
    if (text === null && !isBinary) return { denied: null, warnings: [] };
    const known = this.#rules.policies();
    // The API server then rejects the write. The process is ready without policies, because it injects pods.
    if (known === null) throw new Problem(500, 'the AgentPolicies are not known yet; try again');
    const warnings = this.#rules
      .invalid()
      .map(({ policy, reason }) =>
        onOneLine(`organisation rules of ${policy} were not judged: ${reason}`, 500),
      );
    const labels = known.length === 0 ? {} : await this.#labelsOf(namespace);
    const policies = policiesAt(known, 'manifest', { labels });
    if (policies.length === 0) return { denied: null, warnings };
    const reply = await this.#reply(review, { policies, labels }, signal);
    return { ...reply, warnings: [...warnings, ...reply.warnings] };
  }

  /** A namespace that was created a moment ago may not have arrived. */
  async #labelsOf(namespace: string): Promise<Readonly<Record<string, string>>> {
    const known = this.#rules.labelsOf(namespace);
    if (known !== null) return known;
    const found = await getObject(this.#sources.client, NAMESPACES, { name: namespace, only: 'metadata' });
    if (found === null) throw new Problem(500, `the namespace ${namespace} does not exist`);
    return found.metadata.labels ?? {};
  }

  async #reply(
    { namespace, text, isBinary }: ManifestReview,
    { policies, labels }: { policies: AgentPolicy[]; labels: Readonly<Record<string, string>> },
    signal: AbortSignal,
  ): Promise<GateReply> {
    if (isBinary || text === null) return unjudged(policies, UNJUDGED.binary);
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_JUDGED_BYTES) return unjudged(policies, UNJUDGED.tooLarge(bytes));
    const reply = await this.#queue.run(namespace, signal, async () => {
      const parsed = await this.#worker.parse(text);
      if (parsed === null) return unjudged(policies, UNJUDGED.tooSlow);
      if (!parsed.ok) return unjudged(policies, UNJUDGED.invalid(parsed.problems));
      const { manifest } = parsed;
      const { name } = manifest.metadata;
      const subject = {
        namespace,
        labels,
        manifest,
        names: [name],
        observation: null,
        at: this.#sources.clock.now(),
      };
      const judgement = await this.#worker.judge(policies, subject);
      if (judgement === null) return unjudged(policies, UNJUDGED.tooSlow);
      return gateReply(name, policies, judgement);
    });
    if (reply === null) throw new Problem(503, 'too many manifests wait to be judged; try again');
    return reply;
  }
}

/** Only where a Deny rule applies, a manifest that cannot be judged is rejected. */
function unjudged(policies: readonly AgentPolicy[], reason: string): GateReply {
  const isDenied = policies.some(({ spec }) => spec.rules.some(({ action }) => action === 'Deny'));
  return isDenied ? { denied: reason, warnings: [] } : { denied: null, warnings: [reason] };
}
