import { createHash } from 'node:crypto';
import { diffManifests } from '../../authoring/diff/diff.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { CompareManifests } from '../../core/observation/manifest-change.ts';
import { directiveOf } from '../../core/organisation/directive.ts';
import type { AgentPolicy, RuleSource, Subject } from '../../core/organisation/finding.ts';
import { denialWithout, UNJUDGED } from '../../core/organisation/gate.ts';
import { isDenied, judge } from '../../core/organisation/judge.ts';
import { selects } from '../../core/organisation/select.ts';
import { cutJudgement, joinJudgements, organisationStatusOf } from '../../core/organisation/status.ts';
import type { AgentRules } from '../../core/fleet/agent-organisation.ts';
import type { HeartbeatReply } from '../../core/shapes/heartbeat-reply.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import type { ManifestJudgement, OrganisationStatus } from '../../core/shapes/organisation.ts';
import { DRIFT_SEVERITIES } from '../../core/shapes/values.ts';
import type { ManifestWorker } from '../../runtime/manifest-worker.ts';
import type { AgentKey } from '../stores/store.ts';
import { Manifests, type Sender } from './manifests.ts';

/** Without a cluster and without a file. */
export const NO_RULES: RuleSource = {
  policies: () => [],
  problem: () => null,
  invalid: () => [],
  labelsOf: () => null,
};

const NOT_KNOWN = 'the manifest of the agent is not known yet';
const TOO_SLOW = 'the manifest of the agent takes too long to compare with the rules';

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
  readonly rules: RuleSource;
  readonly #manifests: Manifests;
  readonly #listeners = new Set<() => void>();

  constructor(rules: RuleSource, worker: ManifestWorker) {
    this.rules = rules;
    this.#manifests = new Manifests(worker);
  }

  /** Calls `listener`, which must be quick, after each change of the rules or of the labels of a namespace. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** The rules have changed. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Keeps a manifest. */
  remember(bytes: Buffer, sender: Sender): ReturnType<Manifests['remember']> {
    return this.#manifests.remember(bytes, sender);
  }

  /**
   * The judgement of an agent with the manifest of this hash. The manifest alone is judged here, because a merge cannot wait.
   * @param hash null: the sender has no manifest
   */
  async prepare(
    key: AgentKey,
    hash: string | null,
    { at, signal }: { at: Date; signal: AbortSignal },
  ): Promise<Prepared> {
    const invalid = { findings: [], notJudged: [...this.rules.invalid()] };
    // Without policies no heartbeat needs the manifest, which is kept as text.
    const isNeeded = this.rules.policies()?.length !== 0 || invalid.notJudged.length > 0;
    const manifest = hash === null || !isNeeded ? null : this.#manifests.get(hash);
    const { about, policies, directive } = this.#rulesOf(key, manifest, at);
    const selected = policies ?? [];
    const base = {
      directive,
      isManifestKnown: manifest !== null,
      hasRules: selected.length > 0,
    };
    if (policies !== null && selected.length === 0 && invalid.notJudged.length === 0)
      return { ...base, judge: () => undefined };
    const without =
      (reason: string, isFinal = false) =>
      (status: ObservationStatus) =>
        this.#withoutJudgement(status, { ...{ hash, at, selected, reason, isFinal } });
    if (policies === null || manifest === null || hash === null)
      return { ...base, judge: without(NOT_KNOWN) };
    const subject: Subject = { ...about, manifest, observation: null };
    const known = await this.#manifests.judge(hash, selected, { subject, signal });
    if (known === null) return { ...base, judge: without(NOT_KNOWN) };
    const ofManifest = known.judgement;
    if (ofManifest === null) return { ...base, judge: without(TOO_SLOW, true) };
    return {
      ...base,
      judge: (status) => {
        const observed = judge(selected, { ...subject, observation: status }, undefined, 'observation');
        const all = joinJudgements([cutJudgement(invalid), ofManifest, cutJudgement(observed)]);
        return organisationStatusOf(all, { manifestHash: hash, known: status.organisation, at });
      },
    };
  }

  /**
   * After a start of this process, policies and manifests arrive within seconds: until then the last judgement stays.
   * @param isFinal no judgement will follow
   */
  #withoutJudgement(
    { organisation }: ObservationStatus,
    {
      hash,
      at,
      selected,
      reason,
      isFinal,
    }: { hash: string | null; at: Date; selected: readonly AgentPolicy[]; reason: string; isFinal: boolean },
  ): OrganisationStatus | undefined {
    const problem = this.rules.problem();
    const areUnknown = this.rules.policies() === null;
    const mayFollow = !isFinal && hash !== null && organisation?.manifestHash === hash;
    if (areUnknown ? problem === null : mayFollow) return organisation;
    const notJudged = areUnknown
      ? [{ policy: '(all)', reason: problem ?? '' }]
      : selected.map(({ name }) => ({ policy: name, reason }));
    const judgement = { findings: [], notJudged: [...this.rules.invalid(), ...notJudged] };
    return organisationStatusOf(cutJudgement(judgement), {
      ...{ manifestHash: hash ?? '', known: organisation, at },
    });
  }

  /** The judgement of a remembered manifest before its agent runs; null: too many manifests of the namespace wait. */
  async judgeManifest(
    key: AgentKey,
    manifestHash: string,
    { at, signal }: { at: Date; signal: AbortSignal },
  ): Promise<ManifestJudgement | null> {
    const manifest = this.#manifests.get(manifestHash);
    const { about, policies, directive } = this.#rulesOf(key, manifest, at);
    const unknown = { manifestHash, allowed: null, findings: [] };
    if (directive === null || policies === null || manifest === null) return unknown;
    const subject = { ...about, manifest, observation: null };
    const found = await this.#manifests.judge(manifestHash, policies, { subject, signal });
    if (found === null) return null;
    const { judgement } = found;
    // Its author decides how long it takes.
    if (judgement === null) return this.judgeWithout(key, UNJUDGED.tooSlow, at) ?? unknown;
    const { broken, notJudged } = judgement;
    // The namespace of a pod that starts can be so new that its labels are not known.
    const isSelected = policies.every((policy) => selects(policy, about) === 'yes' || !hasDeny(policy));
    const allowed = isDenied({ findings: broken }) ? false : isSelected ? true : null;
    return {
      ...{ manifestHash, allowed, findings: broken, notJudged: [...this.rules.invalid(), ...notJudged] },
      organisation: directive,
    };
  }

  /** The judgement of a manifest that cannot be compared with the rules; null: no Deny rule applies to it. */
  judgeWithout(key: AgentKey, reason: string, at: Date): ManifestJudgement | null {
    const finding = denialWithout(this.rules.policies() ?? [], this.#about(key, null, at), reason);
    return finding === null ? null : { manifestHash: '', allowed: false, findings: [finding] };
  }

  /** What differs between two manifests; undefined: they are not both known here. */
  readonly compare: CompareManifests = (from, to) => {
    const [before, after] = [this.#manifests.get(from), this.#manifests.get(to)];
    if (before === null || after === null) return undefined;
    const { changes, netScoreChange } = diffManifests(
      { name: from, manifest: before },
      { name: to, manifest: after },
    );
    const severities = changes.map(({ severity }) => severity);
    return {
      severity: DRIFT_SEVERITIES.find((each) => severities.includes(each)) ?? 'LOW',
      scoreChange: netScoreChange,
      descriptions: changes.map(({ description }) => description),
    };
  };

  /** The rules of an agent and, if it is in memory, its manifest of this hash. */
  rulesOf(key: AgentKey, hash: string | undefined, at: Date): AgentRules {
    const manifest = hash === undefined ? null : this.#manifests.get(hash);
    return { ...this.#rulesOf(key, manifest, at), manifest };
  }

  #rulesOf(key: AgentKey, manifest: Manifest | null, at: Date): Omit<AgentRules, 'manifest'> {
    const about = this.#about(key, manifest, at);
    const policies = this.rules.policies()?.filter((policy) => selects(policy, about) !== 'no') ?? null;
    return { about, policies, directive: policies === null ? null : withRevision(policies, about) };
  }

  #about({ namespace, name }: AgentKey, manifest: Manifest | null, at: Date) {
    const names = [...new Set([name, ...(manifest === null ? [] : [manifest.metadata.name])])];
    return { namespace, labels: this.rules.labelsOf(namespace), names, at };
  }
}

const hasDeny = ({ spec }: AgentPolicy): boolean => spec.rules.some(({ action }) => action === 'Deny');

function withRevision(
  policies: readonly AgentPolicy[],
  about: Pick<Subject, 'namespace' | 'labels' | 'names' | 'at'>,
): SentDirective {
  const directive = directiveOf(policies, about);
  const revision = createHash('sha256').update(JSON.stringify(directive)).digest('hex').slice(0, 16);
  return { revision, ...directive };
}
