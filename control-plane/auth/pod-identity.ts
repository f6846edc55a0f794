import { createHash } from 'node:crypto';
import { decodeJwt, type JWTPayload } from 'jose';
import type { KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import { hasEnded } from '../../kube/pods.ts';
import { PODS } from '../../kube/resources.ts';
import { reviewToken, type TokenVerdict } from '../../kube/token-review.ts';
import { AGENT_LABEL, isDnsLabel, TOKEN_AUDIENCE } from '../../core/injection/names.ts';
import { sidecarProblem, type SidecarImages } from '../../core/injection/true-sidecar.ts';
import type { Clock } from '../../runtime/clock.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { ReviewBudget, type Limited } from './review-budget.ts';

/** The pod that a projected token is bound to, and the agent that runs in this pod. */
export type PodIdentification =
  | { kind: 'pod'; namespace: string; pod: string; uid: string; agentName: string }
  /** Not a valid token of this cluster for this audience: 401. */
  | { kind: 'unauthenticated'; reason: string }
  /** A valid token that does not identify an agent: 403. */
  | { kind: 'no-agent'; reason: string }
  /** Not reviewed, because the sender has sent too many invalid tokens: 429. */
  | Limited;

/** How long a successful result is cached, in milliseconds. A deleted pod can report for at most this time. */
const POSITIVE_MS = 60_000;
/**
 * How long a failure is cached, in milliseconds. Short, because the label or object of a new pod may appear late. An invalid
 * token still costs only one review in this time.
 */
const NEGATIVE_MS = 5_000;
/** Timeout for reading the pod, in milliseconds. A sender waits ten seconds; the TokenReview takes at most five of them. */
const POD_MS = 4_000;
/** A pod counts as reporting for this time after a valid token. Longer than one hour, the lifetime of an injected pod's token. */
const PROVEN_MS = 2 * 3600_000;
/** Maximum number of cached results and of reporting pods. With more pods than this, each request costs a review. */
const MAX_CACHED = 10_000;
/** Maximum number of reviews in flight. Further requests must retry, so a flood of tokens does not reach the API server. */
const MAX_IN_FLIGHT = 100;
/** Maximum number of invalid tokens per minute from one address. */
const MAX_BAD_OF_SOURCE = 20;
/** Maximum number of invalid tokens per minute that name one pod which already reports. */
const MAX_BAD_OF_POD = 5;

interface CachedResult {
  found: PodIdentification;
  until: number;
}

export interface PodIdentityOptions {
  client: KubeClient;
  clock: Clock;
  /** Allowed images of the pod's sidecar; null: any. */
  sidecarImages: SidecarImages | null;
}

/** Reviews tokens with the API server, and reads the agent's name from the pod. */
export class PodIdentity {
  readonly #options: PodIdentityOptions;
  readonly #cache = new Map<string, CachedResult>();
  readonly #inFlight = new Map<string, Promise<PodIdentification>>();
  /**
   * Times of the last valid token by UID of the pod, oldest first. The next token of such a pod, from kubelet rotation, is
   * probably valid.
   */
  readonly #proven = new Map<string, number>();
  readonly #bySource: ReviewBudget<PodIdentification>;
  readonly #byPod: ReviewBudget<PodIdentification>;

  constructor(options: PodIdentityOptions) {
    const { clock } = options;
    const isBad = ({ kind }: PodIdentification) => kind !== 'pod';
    this.#options = options;
    this.#bySource = new ReviewBudget({ clock, isBad, maxBad: MAX_BAD_OF_SOURCE });
    this.#byPod = new ReviewBudget({ clock, isBad, maxBad: MAX_BAD_OF_POD });
  }

  /**
   * Rejects if the API server is unavailable.
   * @param source the sender's address: each address has a budget of reviews for invalid tokens
   */
  identify(token: string, source: string): Promise<PodIdentification> {
    const now = this.#options.clock.now();
    const reason = localRejection(token, now);
    if (reason !== null) return Promise.resolve({ kind: 'unauthenticated', reason });
    const hash = createHash('sha256').update(token).digest('base64url');
    const known = this.#cache.get(hash);
    if (known !== undefined && known.until > now.getTime()) return Promise.resolve(known.found);
    // Concurrent requests with one token share one review.
    const running = this.#inFlight.get(hash);
    if (running !== undefined) return running;
    if (this.#inFlight.size >= MAX_IN_FLIGHT)
      return Promise.reject(new Error('too many TokenReviews in flight'));
    const result = this.#reviewWithinBudget(token, hash, source).finally(() => this.#inFlight.delete(hash));
    this.#inFlight.set(hash, result);
    return result;
  }

  /**
   * The invalid tokens of an address must not block a pod that already reports. A token that was valid before costs no budget.
   * A token that names a reporting pod, such as the next token from the kubelet, uses that pod's budget first. The UID in the
   * token is not verified, so this budget is small.
   */
  async #reviewWithinBudget(token: string, hash: string, source: string): Promise<PodIdentification> {
    const review = () => this.#reviewToCache(token, hash);
    if (this.#cache.get(hash)?.found.kind === 'pod') return review();
    const uid = podUidOf(token);
    if (uid !== null && this.#isProven(uid)) {
      const found = await this.#byPod.within(uid, review);
      if (found.kind !== 'limited') return found;
    }
    return this.#bySource.within(source, review);
  }

  async #reviewToCache(token: string, hash: string): Promise<PodIdentification> {
    const verdict = await reviewToken(this.#options.client, { token, audience: TOKEN_AUDIENCE });
    const found = await podOf(this.#options, verdict);
    const now = this.#options.clock.now().getTime();
    const until = found.kind === 'pod' ? Math.min(now + POSITIVE_MS, expiryOf(token)) : now + NEGATIVE_MS;
    // Failures may evict successful results; an evicted result costs one more review.
    setNewest(this.#cache, [hash, { found, until }], MAX_CACHED);
    if (found.kind === 'pod')
      setNewest(this.#proven, [found.uid, this.#options.clock.monotonicMs()], MAX_CACHED);
    return found;
  }

  #isProven(uid: string): boolean {
    const atMs = this.#proven.get(uid) ?? -Infinity;
    return this.#options.clock.monotonicMs() - atMs < PROVEN_MS;
  }
}

type Lookup = Pick<PodIdentityOptions, 'client' | 'sidecarImages'>;

async function podOf(lookup: Lookup, verdict: TokenVerdict): Promise<PodIdentification> {
  switch (verdict.kind) {
    case 'rejected':
      return { kind: 'unauthenticated', reason: `the token was rejected: ${verdict.reason}` };
    case 'unbound':
      return { kind: 'no-agent', reason: 'the token is not bound to a pod, so it identifies no agent' };
    case 'unavailable':
      throw new Error(`TokenReview failed: ${verdict.reason}`);
    case 'pod':
      return agentOf(lookup, verdict);
  }
}

/** Compares the UID, because a StatefulSet reuses pod names. Checks the sidecar too, because any pod can have the label. */
async function agentOf(
  { client, sidecarImages }: Lookup,
  { namespace, podName, podUid }: Extract<TokenVerdict, { kind: 'pod' }>,
): Promise<PodIdentification> {
  const inTime = AbortSignal.timeout(POD_MS);
  const pod = await getObject(client, PODS, { namespace, name: podName }, inTime);
  if (pod?.metadata.uid !== podUid || hasEnded(pod))
    return {
      kind: 'unauthenticated',
      reason: `the pod ${namespace}/${podName} of the token is no longer running`,
    };
  const agentName = pod.metadata.labels?.[AGENT_LABEL] ?? '';
  if (!isDnsLabel(agentName))
    return { kind: 'no-agent', reason: `the pod ${namespace}/${podName} has no valid label ${AGENT_LABEL}` };
  const problem = sidecarProblem(pod.spec, agentName, sidecarImages);
  if (problem !== null) return { kind: 'no-agent', reason: `the pod ${namespace}/${podName} ${problem}` };
  return { kind: 'pod', namespace, pod: podName, uid: podUid, agentName };
}

/** The reason to reject a token without a TokenReview; null: review the token. Nothing in the token is verified here. */
function localRejection(token: string, now: Date): string | null {
  const claims = claimsOf(token);
  if (claims === null) return 'the token is neither a registration key nor a ServiceAccount token';
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

/** The UID of the pod that the token names, unverified. */
function podUidOf(token: string): string | null {
  const { 'kubernetes.io': bound } = claimsOf(token) ?? {};
  const uid = (bound as { pod?: { uid?: unknown } | null } | null | undefined)?.pod?.uid;
  return typeof uid === 'string' ? uid : null;
}

/** Expiry of the token, in milliseconds since the epoch. */
function expiryOf(token: string): number {
  const { exp } = claimsOf(token) ?? {};
  return typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY;
}
