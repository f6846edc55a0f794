import type { Instance, NotIncluded, Reported } from '../../authoring/evidence/bundle.ts';
import type { SeenStop } from '../../authoring/evidence/log-summary.ts';
import type { EvidenceRange } from '../../authoring/evidence/range.ts';
import { compliantOf } from '../../core/observation/compliant-of.ts';
import { agentDetail, type AgentDetail } from '../../core/shapes/agent-detail.ts';
import { agentOrganisation } from '../../core/shapes/agent-organisation.ts';
import { parseWith, type Field } from '../../core/shapes/field.ts';
import type { EvidenceItem } from '../../core/shapes/evidence.ts';
import { agentHistory, type HistoryChange } from '../../core/shapes/history.ts';
import { list } from '../../core/shapes/object.ts';
import { proofRecord } from '../../core/shapes/proof.ts';
import { storedGap, storedHealth } from '../../core/shapes/stored.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { exchange } from '../../probe/http-exchange.ts';
import { detailOf, urlBelow } from '../../push/push-heartbeat.ts';
import { notFound, type Found } from '../admin-key.ts';
import { shownUrl } from '../sidecar-request.ts';

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024 * 1024;

export interface ControlPlaneAccess {
  base: URL;
  headers: Readonly<Record<string, string>>;
  ca: string | null;
}

export interface Wanted {
  agent: string;
  /** null: the name is unique. */
  namespace: string | null;
  range: EvidenceRange;
}

/** `GET path` below `/api/v1`. Never rejects. */
export async function getText(
  { base, headers, ca }: ControlPlaneAccess,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Found<string>> {
  const url = urlBelow(base, `/api/v1${path}`);
  url.search = new URLSearchParams(query).toString();
  const server = shownUrl(base);
  const response = await exchange(url, {
    ...{ headers, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, ca: ca ?? undefined },
  });
  if (!response.answered) return notFound(`cannot connect to ${server}: ${response.reason}`);
  const { status, body } = response;
  const text = body?.toString('utf8') ?? '';
  if (status !== 200) {
    const detail = detailOf(text);
    return notFound(`${server} returned ${status} for GET /api/v1${path}${detail && `: ${detail}`}`);
  }
  return body === null
    ? notFound(`${server} sent no complete response to GET /api/v1${path}`)
    : { ok: true, value: text };
}

async function get<T>(
  access: ControlPlaneAccess,
  path: string,
  { query = {}, field }: { query?: Readonly<Record<string, string>>; field: Field<T> },
): Promise<Found<T>> {
  const found = await getText(access, path, query);
  if (!found.ok) return found;
  const parsed = parseWith(field, jsonOf(found.value));
  return parsed.ok
    ? { ok: true, value: parsed.value }
    : notFound(`the control plane returned an invalid response to GET /api/v1${path}; check its version`);
}

/** What the control plane has of an agent. What it does not have is in `notIncluded`; without the agent itself a failure. */
export async function reportedByControlPlane(
  access: ControlPlaneAccess,
  { agent, namespace, range }: Wanted,
): Promise<Found<Reported>> {
  const root = `/agents/${encodeURIComponent(agent)}`;
  const query = { ...(namespace !== null && { namespace }) };
  const detail = await get(access, root, { query, field: agentDetail });
  if (!detail.ok) return detail;
  const notIncluded: NotIncluded[] = [];
  const orMissing = async <T>(part: string, request: Promise<Found<T>>): Promise<T | null> => {
    const found = await request;
    if (found.ok) return found.value;
    notIncluded.push({ part, reason: found.reason });
    return null;
  };
  const home = { namespace: detail.value.namespace };
  const of = <T>(path: string, field: Field<T>, more = {}) =>
    get(access, path, { query: { ...home, ...more }, field });
  const [gap, health, proofs, history, organisation] = await Promise.all([
    orMissing('findings', of(`${root}/gap`, storedGap)),
    orMissing('health checks', of(`${root}/health`, storedHealth)),
    orMissing('proofs', of(`${root}/proof`, list('The proofs.', proofRecord))),
    orMissing('verdict over time', of(`${root}/history`, agentHistory, { step: 'day', ...range })),
    orMissing('rules of the organisation', of(`${root}/organisation`, agentOrganisation)),
  ]);
  if (gap?.issues === null)
    notIncluded.push({ part: 'findings', reason: 'the store has no list of them until the next heartbeat' });
  else if (gap?.issuesTotal !== undefined)
    notIncluded.push({ part: 'findings', reason: `only the first ones of ${gap.issuesTotal} are stored` });
  const policies = organisation?.policies ?? [];
  return {
    ok: true,
    value: {
      ...{ kind: 'control-plane', url: shownUrl(access.base) },
      ...ofDetail(detail.value),
      ...{ score: gap?.score ?? null, grade: gap?.grade ?? null, issues: gap?.issues ?? null },
      checks: health?.checks ?? [],
      ...{ items: gap?.evidence?.items ?? null, guardrails: guardrailsIn(gap?.evidence?.items ?? []) },
      audit: gap?.audit
        ? { ...gap.audit, failed: gap.audit.failed ?? [], suppressions: gap.audit.suppressions ?? [] }
        : null,
      proofs,
      trust: { writes: 'control-plane' },
      excepted: policies.flatMap(({ name, excepted }) => excepted.map((rule) => `${name}/${rule}`)),
      history,
      stops: stopsIn(detail.value, history?.changes ?? []),
      heads: null,
      notIncluded,
    },
  };
}

type OfDetail =
  | 'namespace'
  | 'verdict'
  | 'policyMode'
  | 'manifestHash'
  | 'instances'
  | 'organisation'
  | 'outcomes';

function ofDetail({ namespace, status }: AgentDetail): Pick<Reported, OfDetail> {
  const { policyMode = null, manifestHash = null, organisation = null, outcomes = null } = status;
  return {
    ...{ namespace, verdict: compliantOf(status), policyMode, manifestHash, organisation, outcomes },
    instances: (status.instances ?? []).map((each): Instance => ({
      ...{ name: each.name, startedAt: each.startedAt },
      ...{ sidecarVersion: each.sidecarVersion ?? null, manifestHash: each.manifestHash ?? null },
    })),
  };
}

/** The types of the guardrails that were reported: the names of their items are `<where>.<type>`. */
const guardrailsIn = (items: readonly EvidenceItem[]): string[] =>
  items.flatMap(({ kind, tier, name }) =>
    kind === 'guardrail' && (tier === 'observed' || tier === 'reported')
      ? [name.replace(/^[^.]*\./, '')]
      : [],
  );

/** The stops of the history, and the one in force, which the history has only with an SQL store. */
function stopsIn({ status: { stop } }: AgentDetail, changes: readonly HistoryChange[]): SeenStop[] {
  const known = changes
    .filter(({ kind }) => kind === 'stop')
    .map(({ at, to, summary }): SeenStop => ({
      ...{ at, state: to === null ? 'resumed' : 'stopped', reason: summary ?? to ?? '', by: null },
    }));
  const isKnown = stop === undefined || known.some(({ state }) => state === 'stopped');
  if (isKnown) return known;
  return [...known, { at: stop.since, state: 'stopped', reason: stop.reason, by: stop.by ?? null }];
}
