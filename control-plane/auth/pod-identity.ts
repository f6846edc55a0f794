import { createHash } from 'node:crypto';
import { decodeJwt, type JWTPayload } from 'jose';
import type { KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import { PODS } from '../../kube/resources.ts';
import { reviewToken, type TokenVerdict } from '../../kube/token-review.ts';
import { AGENT_LABEL, isDnsLabel, TOKEN_AUDIENCE } from '../../core/injection/names.ts';
import { sidecarProblem, type SidecarImages } from '../../core/injection/true-sidecar.ts';
import type { Clock } from '../../runtime/clock.ts';
import { createProvenPods } from './proven-pods.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { createReviewBudget, type Limited } from './review-budget.ts';

/** The pod that a projected token speaks for, and the agent that this pod is. */
export type PodIdentification =
  | { kind: 'pod'; namespace: string; pod: string; uid: string; agentName: string }
  /** Not a token of this cluster for this audience: 401. */
  | { kind: 'unauthenticated'; reason: string }
  /** A good token that speaks for no agent: 403. */
  | { kind: 'no-agent'; reason: string }
  /** Not asked: the sender has shown too many tokens that were not good. 429. */
  | Limited;

export interface PodIdentity {
  /**
   * Rejects when the cluster cannot be asked.
   * @param source the sender's address: each has a budget of reviews for tokens that are not good
   */
  identify(token: string, source: string): Promise<PodIdentification>;
}

/** How long an answer is believed, in milliseconds: the time for which a deleted pod can still speak, at most. */
const POSITIVE_MS = 60_000;
/** Short, so that a pod whose label or object comes late is not shut out, yet a bad sender costs one review in this time. */
const NEGATIVE_MS = 5_000;
/** A sender waits for ten seconds; the review takes five of them at most. */
const POD_MS = 4_000;
/** Answers kept; more pods than this cost a review each time. */
const MAX_ANSWERS = 10_000;
/** Reviews under way; what comes beyond is told to come back, so that a flood of tokens stays off the API server. */
const MAX_ASKING = 100;
/** Verdicts in a minute that are not good: for tokens of one address, and for those that name one pod which reports already. */
const MAX_BAD_OF_SOURCE = 20;
const MAX_BAD_OF_POD = 5;

interface Remembered {
  found: PodIdentification;
  until: number;
}

export interface PodIdentityOptions {
  client: KubeClient;
  clock: Clock;
  /** Images that the sidecar of a pod may have; null: any. */
  sidecarImages: SidecarImages | null;
}

/** Asks the API server who a token is, and the pod itself which agent it runs. */
export function createPodIdentity({ client, clock, sidecarImages }: PodIdentityOptions): PodIdentity {
  const answers = new Map<string, Remembered>();
  const asking = new Map<string, Promise<PodIdentification>>();
  const proven = createProvenPods(clock);
  const isBad = ({ kind }: PodIdentification) => kind !== 'pod';
  const bySource = createReviewBudget({ clock, isBad, maxBad: MAX_BAD_OF_SOURCE });
  const byPod = createReviewBudget({ clock, isBad, maxBad: MAX_BAD_OF_POD });

  async function ask(token: string, hash: string): Promise<PodIdentification> {
    const verdict = await reviewToken(client, { token, audience: TOKEN_AUDIENCE });
    const found = await podOf({ client, sidecarImages }, verdict);
    const now = clock.now().getTime();
    const until = found.kind === 'pod' ? Math.min(now + POSITIVE_MS, expiryOf(token)) : now + NEGATIVE_MS;
    // Garbage pushes out garbage at the same rate as good answers, which costs a review.
    setNewest(answers, [hash, { found, until }], MAX_ANSWERS);
    if (found.kind === 'pod') proven.add(found.uid);
    return found;
  }

  /**
   * A sender's bad tokens shut out no pod that reports already: a token that was good in its time costs no budget, and one that
   * names such a pod, as the kubelet's next one does, has that pod's budget first. Anyone can write a uid into a token.
   */
  async function askWithin(token: string, hash: string, source: string): Promise<PodIdentification> {
    const review = () => ask(token, hash);
    if (answers.get(hash)?.found.kind === 'pod') return review();
    const uid = podUidOf(token);
    if (uid !== null && proven.has(uid)) {
      const found = await byPod.within(uid, review);
      if (found.kind !== 'limited') return found;
    }
    return bySource.within(source, review);
  }

  return {
    identify(token, source) {
      const refusal = obviousRefusal(token, clock.now());
      if (refusal !== null) return Promise.resolve({ kind: 'unauthenticated', reason: refusal });
      const hash = createHash('sha256').update(token).digest('base64url');
      const known = answers.get(hash);
      if (known !== undefined && known.until > clock.now().getTime()) return Promise.resolve(known.found);
      // Senders that retry at once share one review.
      const running = asking.get(hash);
      if (running !== undefined) return running;
      if (asking.size >= MAX_ASKING) return Promise.reject(new Error('too many tokens are being reviewed'));
      const asked = askWithin(token, hash, source).finally(() => asking.delete(hash));
      asking.set(hash, asked);
      return asked;
    },
  };
}

type Lookup = Pick<PodIdentityOptions, 'client' | 'sidecarImages'>;

async function podOf(lookup: Lookup, verdict: TokenVerdict): Promise<PodIdentification> {
  switch (verdict.kind) {
    case 'rejected':
      return { kind: 'unauthenticated', reason: `the token is refused: ${verdict.reason}` };
    case 'unbound':
      return { kind: 'no-agent', reason: 'the token is bound to no pod, so it speaks for no agent' };
    case 'unavailable':
      throw new Error(`the token cannot be reviewed: ${verdict.reason}`);
    case 'pod':
      return agentOf(lookup, verdict);
  }
}

/** The uid is compared, since the pod of a StatefulSet comes again under its name. The label alone can be anybody's. */
async function agentOf(
  { client, sidecarImages }: Lookup,
  { namespace, podName, podUid }: Extract<TokenVerdict, { kind: 'pod' }>,
): Promise<PodIdentification> {
  const inTime = AbortSignal.timeout(POD_MS);
  const pod = await getObject(client, PODS, { namespace, name: podName }, inTime);
  const phase = pod?.status?.phase ?? '';
  if (pod?.metadata.uid !== podUid || phase === 'Succeeded' || phase === 'Failed')
    return { kind: 'unauthenticated', reason: `the pod ${namespace}/${podName} of the token lives no more` };
  const agentName = pod.metadata.labels?.[AGENT_LABEL] ?? '';
  if (!isDnsLabel(agentName))
    return { kind: 'no-agent', reason: `the pod ${namespace}/${podName} has no label ${AGENT_LABEL}` };
  const problem = sidecarProblem(pod.spec, agentName, sidecarImages);
  if (problem !== null) return { kind: 'no-agent', reason: `the pod ${namespace}/${podName} ${problem}` };
  return { kind: 'pod', namespace, pod: podName, uid: podUid, agentName };
}

/** What the API server would refuse too, at the price of a question. Only refuses: nothing here is verified. */
function obviousRefusal(token: string, now: Date): string | null {
  const claims = claimsOf(token);
  if (claims === null) return 'the token is no registration key and no ServiceAccount token';
  const audiences = [claims.aud ?? []].flat();
  if (!audiences.includes(TOKEN_AUDIENCE)) return `the token is not for the audience ${TOKEN_AUDIENCE}`;
  return expiryOf(token) <= now.getTime() ? 'the token has expired' : null;
}

function claimsOf(token: string): JWTPayload | null {
  try {
    return decodeJwt(token);
  } catch {
    return null;
  }
}

/** The pod that the token names as its own, unverified. */
function podUidOf(token: string): string | null {
  const { 'kubernetes.io': bound } = claimsOf(token) ?? {};
  const uid = (bound as { pod?: { uid?: unknown } | null } | null | undefined)?.pod?.uid;
  return typeof uid === 'string' ? uid : null;
}

/** When the token ends, in milliseconds. */
function expiryOf(token: string): number {
  const { exp } = claimsOf(token) ?? {};
  return typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY;
}
