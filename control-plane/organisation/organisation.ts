import { createHash } from 'node:crypto';
import type { Manifest, ManifestProblem } from '../../core/manifest/manifest.ts';
import { directiveOf } from '../../core/organisation/directive.ts';
import type { AgentPolicy, RuleSource, Subject } from '../../core/organisation/finding.ts';
import {
  expressionsFor,
  expressionVariables,
  isDenied,
  judge,
  type ExpressionResults,
} from '../../core/organisation/judge.ts';
import { selects } from '../../core/organisation/select.ts';
import { organisationStatusOf } from '../../core/organisation/status.ts';
import type { HeartbeatReply } from '../../core/shapes/heartbeat-reply.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import {
  MAX_BROKEN,
  type ManifestJudgement,
  type OrganisationStatus,
} from '../../core/shapes/organisation.ts';
import type { ManifestWorker } from '../../runtime/manifest-worker.ts';
import type { AgentKey } from '../stores/store.ts';

/** Bytes of the manifests in memory. A sidecar sends a manifest again when it is asked for. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Results of expressions per manifest. A label of the namespace is part of the key. */
const MAX_RESULTS = 500;

/** Without a cluster and without a file. */
export const NO_RULES: RuleSource = {
  policies: () => [],
  problem: () => null,
  invalid: () => [],
  labelsOf: () => null,
};

interface Known {
  manifest: Manifest;
  bytes: number;
  /** By expression and namespace, because labels can change. */
  results: Map<string, boolean | { error: string }>;
}

type SentDirective = NonNullable<HeartbeatReply['organisation']>;

/** What an agent's policies say about one manifest. */
export interface Prepared {
  /** For the merge of a heartbeat; undefined: no policy selects the agent, and none is invalid. */
  judge: (status: ObservationStatus) => OrganisationStatus | undefined;
  /** null: the policies are not known. */
  directive: SentDirective | null;
  isManifestKnown: boolean;
  /** Whether a policy selects the agent. */
  hasRules: boolean;
}

/** The rules of the organisation, and the manifests of the agents that report here. */
export class Organisation {
  readonly #rules: RuleSource;
  readonly #worker: ManifestWorker;
  /** By hash; the least recently used first. */
  readonly #manifests = new Map<string, Known>();
  #bytes = 0;

  constructor(rules: RuleSource, worker: ManifestWorker) {
    this.#rules = rules;
    this.#worker = worker;
  }

  get rules(): RuleSource {
    return this.#rules;
  }

  /** Keeps a manifest. null: it could not be parsed in time. */
  async remember(
    bytes: Buffer,
  ): Promise<{ hash: string; manifest: Manifest } | { problems: readonly ManifestProblem[] } | null> {
    const hash = createHash('sha256').update(bytes).digest('hex');
    const known = this.#manifests.get(hash);
    if (known !== undefined) return { hash, manifest: known.manifest };
    const parsed = await this.#worker.parse(bytes.toString());
    if (parsed === null) return null;
    if (!parsed.ok) return { problems: parsed.problems };
    // Another sender of the same manifest may have been faster.
    if (this.#manifests.has(hash)) return { hash, manifest: parsed.manifest };
    this.#manifests.set(hash, { manifest: parsed.manifest, bytes: bytes.length, results: new Map() });
    this.#bytes += bytes.length;
    for (const [oldest, { bytes: size }] of this.#manifests) {
      if (this.#bytes <= MAX_BYTES) break;
      this.#manifests.delete(oldest);
      this.#bytes -= size;
    }
    return { hash, manifest: parsed.manifest };
  }

  /**
   * The judgement of an agent with the manifest of this hash. The expressions are evaluated here, because a merge cannot wait.
   * @param hash null: the sender has no manifest
   */
  async prepare(key: AgentKey, hash: string | null, at: Date): Promise<Prepared> {
    const known = hash === null ? undefined : this.#used(hash);
    const about = this.#about(key, known?.manifest, at);
    const policies = this.#rules.policies();
    const selected = policies?.filter((policy) => selects(policy, about) !== 'no') ?? [];
    const invalid = this.#rules.invalid();
    const base = {
      directive: policies === null ? null : withRevision(selected, about),
      isManifestKnown: known !== undefined,
      hasRules: selected.length > 0,
    };
    if (policies !== null && selected.length === 0 && invalid.length === 0)
      return { ...base, judge: () => undefined };
    if (policies === null || known === undefined || hash === null)
      return { ...base, judge: (status) => this.#withoutJudgement(status, { hash, at, selected }) };
    const subject: Subject = { ...about, manifest: known.manifest, observation: null };
    const results = await this.#resultsOf(known, selected, subject);
    return {
      ...base,
      judge: (status) => {
        const judgement = judge(selected, { ...subject, observation: status }, results);
        const all = { ...judgement, notJudged: [...invalid, ...judgement.notJudged] };
        return organisationStatusOf(all, { manifestHash: hash, known: status.organisation, at });
      },
    };
  }

  /** After a start of this process, policies and manifests arrive within seconds: until then the last judgement stays. */
  #withoutJudgement(
    { organisation }: ObservationStatus,
    { hash, at, selected }: { hash: string | null; at: Date; selected: readonly AgentPolicy[] },
  ): OrganisationStatus | undefined {
    const problem = this.#rules.problem();
    const areUnknown = this.#rules.policies() === null;
    if (areUnknown ? problem === null : hash !== null && organisation?.manifestHash === hash)
      return organisation;
    const notJudged = areUnknown
      ? [{ policy: '(all)', reason: problem ?? '' }]
      : selected.map(({ name }) => ({ policy: name, reason: 'the manifest of the agent is not known yet' }));
    const judgement = { findings: [], notJudged: [...this.#rules.invalid(), ...notJudged] };
    return organisationStatusOf(judgement, { manifestHash: hash ?? '', known: organisation, at });
  }

  /** The judgement of a remembered manifest before its agent runs. */
  async judgeManifest(key: AgentKey, manifestHash: string, at: Date): Promise<ManifestJudgement> {
    const known = this.#used(manifestHash);
    const policies = this.#rules.policies();
    if (policies === null || known === undefined) return { manifestHash, allowed: null, findings: [] };
    const subject = { ...this.#about(key, known.manifest, at), manifest: known.manifest, observation: null };
    const { findings } = judge(policies, subject, await this.#resultsOf(known, policies, subject));
    return {
      manifestHash,
      allowed: !isDenied({ findings }),
      findings: findings.slice(0, MAX_BROKEN),
      organisation: withRevision(policies, subject),
    };
  }

  #used(hash: string): Known | undefined {
    const known = this.#manifests.get(hash);
    if (known === undefined) return undefined;
    this.#manifests.delete(hash);
    this.#manifests.set(hash, known);
    return known;
  }

  #about({ namespace, name }: AgentKey, manifest: Manifest | undefined, at: Date) {
    const names = [...new Set([name, ...(manifest === undefined ? [] : [manifest.metadata.name])])];
    return { namespace, labels: this.#rules.labelsOf(namespace), names, at };
  }

  async #resultsOf(
    { results }: Known,
    policies: readonly AgentPolicy[],
    subject: Subject,
  ): Promise<ExpressionResults> {
    const variables = expressionVariables(subject);
    const about = JSON.stringify(variables['namespaceObject']);
    const found = new Map<string, boolean | { error: string }>();
    for (const expression of expressionsFor(policies, subject)) {
      const key = `${expression}\0${about}`;
      const result = results.get(key) ?? (await this.#worker.evaluate(expression, variables));
      if (results.size >= MAX_RESULTS) results.clear();
      results.set(key, result);
      found.set(expression, result);
    }
    return found;
  }
}

function withRevision(
  policies: readonly AgentPolicy[],
  about: Pick<Subject, 'namespace' | 'labels' | 'names' | 'at'>,
): SentDirective {
  const directive = directiveOf(policies, about);
  const revision = createHash('sha256').update(JSON.stringify(directive)).digest('hex').slice(0, 16);
  return { revision, ...directive };
}
