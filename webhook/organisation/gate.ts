import type { ManifestReview } from '../../core/injection/parse-review.ts';
import {
  gateReply,
  MAX_JUDGED_BYTES,
  policiesAt,
  UNJUDGED,
  type GateReply,
} from '../../core/organisation/gate.ts';
import { expressionsFor, expressionVariables } from '../../core/organisation/judge.ts';
import type { AgentPolicy } from '../../core/organisation/finding.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import type { Clock } from '../../runtime/clock.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { Problem } from '../../runtime/problem.ts';
import { FairQueue } from './fair-queue.ts';
import type { OrganisationRules } from '../context.ts';
import { Policies, type NamespaceRules, type PolicySources } from './policies.ts';

/** Manifests that wait, of at most 64 KiB each. */
const MAX_WAITING = 200;

/** Compares manifests with the rules of the organisation before they are written. */
export class ManifestGate implements OrganisationRules {
  readonly #policies: Policies;
  readonly #worker: ManifestWorker;
  readonly #clock: Clock;
  readonly #queue = new FairQueue(MAX_WAITING);

  constructor(sources: PolicySources, worker = new ManifestWorker()) {
    this.#policies = new Policies(sources);
    this.#worker = worker;
    this.#clock = sources.clock;
  }

  start(): void {
    this.#policies.start();
  }

  async close(): Promise<void> {
    await this.#policies.close();
    await this.#worker.close();
  }

  /** Resolves when the rules and the namespaces are known. */
  synced(): Promise<void> {
    return this.#policies.synced();
  }

  minimumMode(namespace: string, agent: string): PolicyMode {
    return this.#policies.minimumMode(namespace, agent);
  }

  /** Throws a Problem if the manifest cannot be judged now. `signal`: the writer no longer waits. */
  async review(review: ManifestReview, signal: AbortSignal): Promise<GateReply> {
    const { namespace, text, isBinary } = review;
    if (text === null && !isBinary) return { denied: null, warnings: [] };
    const rules = await this.#policies.of(namespace);
    const warnings = rules.invalid.map(
      (name) => `organisation rules of ${name} were not judged: the AgentPolicy is invalid`,
    );
    const policies = policiesAt(rules.policies, 'manifest', rules);
    if (policies.length === 0) return { denied: null, warnings };
    const reply = await this.#reply(review, { ...rules, policies }, signal);
    return { ...reply, warnings: [...warnings, ...reply.warnings] };
  }

  async #reply(
    { namespace, text, isBinary }: ManifestReview,
    { policies, labels }: Omit<NamespaceRules, 'invalid'>,
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
        at: this.#clock.now(),
      };
      const expressions = expressionsFor(policies, subject);
      const results = await this.#worker.evaluateAll(expressions, expressionVariables(subject));
      const judgement = await this.#worker.judge(policies, subject, results);
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
