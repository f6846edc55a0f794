import { isDeepStrictEqual } from 'node:util';
import {
  openReportOf,
  REPORT_SOURCE,
  type OpenReport,
  type OpenResult,
} from '../../core/fleet/open-report.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { deleteObject, expectOk, listObjects } from '../../kube/objects.ts';
import { collectionPath, keyText, type Resource } from '../../kube/resources.ts';
import { applyObject } from '../../kube/server-side-apply.ts';
import type { KubeObject } from '../../kube/types.ts';
import { describeError } from '../../runtime/logger.ts';

/** The results follow the heartbeats of all agents, so they are not computed per change. */
const PERIOD_MS = 30_000;
const MANAGED_BY = 'app.kubernetes.io/managed-by';
const APPLY = { fieldManager: 'agent-compliance-reports', force: true };

interface TimedResult extends OpenResult {
  timestamp: { seconds: number; nanos: number };
}

interface Report extends KubeObject {
  metadata: KubeObject['metadata'] & { namespace: string };
  scope?: OpenReport['scope'];
  summary?: OpenReport['summary'];
  results?: TimedResult[];
}

interface Kind {
  resource: Resource<Report>;
  /** Whether the report itself has a source. */
  hasSource: boolean;
}

/** The first kind that the API server serves is written. The product never installs the definitions. */
const KINDS: readonly Kind[] = [
  {
    resource: { group: 'openreports.io', version: 'v1alpha1', plural: 'reports', kind: 'Report' },
    hasSource: true,
  },
  {
    resource: { group: 'wgpolicyk8s.io', version: 'v1alpha2', plural: 'policyreports', kind: 'PolicyReport' },
    hasSource: false,
  },
];

export interface OpenReportsParts extends ClusterParts {
  isEnabled: boolean;
  allObservations: () => readonly AgentObservation[];
}

/** Keeps one OpenReports report per agent while this process is the leader. */
export class OpenReports {
  readonly #parts: OpenReportsParts;
  /** The kind that was read last; null: none is served, or nothing was read. */
  #kind: Kind | null = null;
  /** The reports in the cluster by `namespace/name`, as they were read or written. */
  #known = new Map<string, Report>();

  constructor(parts: OpenReportsParts) {
    this.#parts = parts;
  }

  /** Until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, isEnabled } = this.#parts;
    if (!isEnabled) return;
    this.#kind = null;
    let problem: string | null = null;
    while (!signal.aborted) {
      const found = await this.#write().catch(describeError);
      if (found !== null && found !== problem)
        logger.warn('failed to write reports, retrying', { problem: found });
      problem = found;
      await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    }
  }

  /** The first problem; null: none. */
  async #write(): Promise<string | null> {
    const kind = await this.#servedKind();
    if (kind === null)
      return 'the API server serves neither openreports.io/v1alpha1 nor wgpolicyk8s.io/v1alpha2';
    if (kind !== this.#kind) await this.#read(kind);
    const problems: string[] = [];
    const wanted = new Map(this.#parts.allObservations().map((each) => [nameOf(each), each]));
    for (const [key, observation] of wanted)
      if (observation.metadata.deletionTimestamp === undefined)
        await this.#writeOne(kind, key, observation).catch((error: unknown) =>
          problems.push(describeError(error)),
        );
    // The garbage collector deletes the report of a deleted agent, unless the agent was created again.
    for (const [key, { metadata }] of this.#known)
      if (!wanted.has(key)) {
        await deleteObject(this.#parts.client, kind.resource, metadata);
        this.#known.delete(key);
      }
    return problems[0] ?? null;
  }

  async #servedKind(): Promise<Kind | null> {
    const { client } = this.#parts;
    for (const kind of KINDS) {
      const path = collectionPath(kind.resource);
      const root = path.slice(0, path.lastIndexOf('/'));
      const response = await client.send<{ resources?: { name: string }[] }>({ method: 'GET', path: root });
      if (response.ok && response.body.resources?.some(({ name }) => name === kind.resource.plural))
        return kind;
      if (!response.ok && response.status !== 404) expectOk(response);
    }
    return null;
  }

  async #read(kind: Kind): Promise<void> {
    const selection = { labelSelector: `${MANAGED_BY}=${REPORT_SOURCE}` };
    const { items } = await listObjects(this.#parts.client, kind.resource, selection);
    this.#known = new Map(items.map((report) => [keyText(report.metadata), report]));
    this.#kind = kind;
  }

  async #writeOne(kind: Kind, key: string, observation: AgentObservation): Promise<void> {
    const { client, clock } = this.#parts;
    const { namespace, name, uid = '' } = observation.metadata;
    const { results, ...rest } = openReportOf(observation);
    const before = this.#known.get(key);
    const seconds = Math.floor(clock.now().getTime() / 1_000);
    const timed = results.map((each) => timedResult(each, before?.results ?? [], seconds));
    const known = before && { results: before.results ?? [], summary: before.summary, scope: before.scope };
    if (isDeepStrictEqual(known, { scope: undefined, ...rest, results: timed })) return;
    const object = {
      metadata: {
        ...{ namespace, name: `agent-${name}`, labels: { [MANAGED_BY]: REPORT_SOURCE } },
        ownerReferences: [{ apiVersion: 'platform.io/v1', kind: 'AgentObservation', name, uid }],
      },
      ...(kind.hasSource && { source: REPORT_SOURCE }),
      ...rest,
      results: timed,
    };
    this.#known.set(key, expectOk(await applyObject(client, kind.resource, object, APPLY)));
  }
}

const nameOf = ({ metadata: { namespace, name } }: AgentObservation): string =>
  keyText({ namespace, name: `agent-${name}` });

/** An unchanged result keeps its time, which is that of its last change. */
function timedResult(now: OpenResult, before: readonly TimedResult[], seconds: number): TimedResult {
  const known = before.find(({ policy, rule }) => policy === now.policy && rule === now.rule);
  const { timestamp = { seconds, nanos: 0 }, ...content } = known ?? {};
  const isSame = isDeepStrictEqual(content, now);
  return { ...now, timestamp: isSame ? timestamp : { seconds, nanos: 0 } };
}
