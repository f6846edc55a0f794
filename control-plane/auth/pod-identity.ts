import { createHash } from 'node:crypto';
import { decodeJwt, type JWTPayload } from 'jose';
import type { KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import { hasEnded } from '../../kube/pods.ts';
import { PODS } from '../../kube/resources.ts';
import { reviewToken } from '../../kube/token-review.ts';
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

export interface PodIdentityOptions {
  client: KubeClient;
  clock: Clock;
  /** Allowed images of the pod's sidecar; null: any. */
  sidecarImages: SidecarImages | null;
}

/** Reviews tokens with the API server, and reads the agent's name from the pod. */
export class PodIdentity {
  readonly #options: PodIdentityOptions;
  readonly #cache = new Map<string, { found: PodIdentification; until: number }>();
  readonly #inFlight = new Map<string, Promise<PodIdentification>>();
  /**
   * Times of the last valid token by UID of the pod, oldest first. The next token of such a pod, from kubelet rotation, is
   * probably valid.
   */
  readonly #proven = new Map<string, number>();
  readonly #bySource: ReviewBudget<PodIdentification>;
  readonly #byPod: ReviewBudget<PodIdentification>;

  constructor(options: PodIdentityOptions) {
    this.#options = options;
    this.#bySource = new ReviewBudget(options.clock, MAX_BAD_OF_SOURCE);
    this.#byPod = new ReviewBudget(options.clock, MAX_BAD_OF_POD);
  }

  /**
   * Rejects if the API server is unavailable.
   * @param source the sender's address: each address has a budget of reviews for invalid tokens
   */
  identify(text: string, source: string): Promise<PodIdentification> {
    const now = this.#options.clock.now();
    const token = parseToken(text);
    if (token === null)
      return unauthenticated('the token is neither a registration key nor a ServiceAccount token');
    if (!token.audiences.includes(TOKEN_AUDIENCE))
      return unauthenticated(`the token is not for the audience ${TOKEN_AUDIENCE}`);
    if (token.expiresMs <= now.getTime()) return unauthenticated('the token has expired');
    const known = this.#cache.get(token.hash);
    if (known !== undefined && known.until > now.getTime()) return Promise.resolve(known.found);
    // Concurrent requests with one token share one review.
    const running = this.#inFlight.get(token.hash);
    if (running !== undefined) return running;
    if (this.#inFlight.size >= MAX_IN_FLIGHT)
      return Promise.reject(new Error('too many TokenReviews in flight'));
    const result = this.#reviewWithinBudget(token, source).finally(() => this.#inFlight.delete(token.hash));
    this.#inFlight.set(token.hash, result);
    return result;
  }

  /**
   * The invalid tokens of an address must not block a pod that already reports. A token that was valid before costs no budget.
   * A token that names a reporting pod, such as the next token from the kubelet, uses that pod's budget first. The UID in the
   * token is not verified, so this budget is small.
   */
  async #reviewWithinBudget(token: Token, source: string): Promise<PodIdentification> {
    const review = () => this.#reviewToCache(token);
    if (this.#cache.get(token.hash)?.found.kind === 'pod') return review();
    if (token.podUid !== null && this.#isProven(token.podUid)) {
      const found = await this.#byPod.within(token.podUid, review);
      if (found.kind !== 'limited') return found;
    }
    return this.#bySource.within(source, review);
  }

  async #reviewToCache({ text, hash, expiresMs }: Token): Promise<PodIdentification> {
    const found = await reviewed(text, this.#options);
    const now = this.#options.clock.now().getTime();
    const until = found.kind === 'pod' ? Math.min(now + POSITIVE_MS, expiresMs) : now + NEGATIVE_MS;
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

const unauthenticated = (reason: string): Promise<PodIdentification> =>
  Promise.resolve({ kind: 'unauthenticated', reason });

/** Compares the UID, because a StatefulSet reuses pod names. Checks the sidecar too, because any pod can have the label. */
async function reviewed(
  token: string,
  { client, sidecarImages }: PodIdentityOptions,
): Promise<PodIdentification> {
  const verdict = await reviewToken(client, { token, audience: TOKEN_AUDIENCE }).catch((error: Error) => {
    throw new Error(`TokenReview failed: ${error.message}`);
  });
  if (verdict.kind === 'rejected')
    return { kind: 'unauthenticated', reason: `the token was rejected: ${verdict.reason}` };
  if (verdict.kind === 'unbound')
    return { kind: 'no-agent', reason: 'the token is not bound to a pod, so it identifies no agent' };
  const { namespace, podName, podUid } = verdict;
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

/** A token with its claims, none of which is verified here. */
interface Token {
  text: string;
  hash: string;
  audiences: readonly string[];
  /** The UID of the pod that the token names. */
  podUid: string | null;
  /** Milliseconds since the epoch. */
  expiresMs: number;
}

/** null: not a JWT. */
function parseToken(text: string): Token | null {
  let claims: JWTPayload;
  try {
    claims = decodeJwt(text);
  } catch {
    return null;
  }
  const { aud = [], exp, 'kubernetes.io': bound } = claims;
  const uid = (bound as { pod?: { uid?: unknown } | null } | null | undefined)?.pod?.uid;
  return {
    text,
    hash: createHash('sha256').update(text).digest('base64url'),
    audiences: [aud].flat(),
    podUid: typeof uid === 'string' ? uid : null,
    expiresMs: typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY,
  };
}
