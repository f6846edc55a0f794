import type { KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import { hasEnded } from '../../kube/pods.ts';
import { PODS } from '../../kube/resources.ts';
import { Semaphore } from '../../kube/semaphore.ts';
import { reviewToken } from '../../kube/token-review.ts';
import { AGENT_LABEL, CA_ANNOTATION, isDnsLabel, TOKEN_AUDIENCE } from '../../core/injection/names.ts';
import { sidecarProblem, type SidecarImages } from '../../core/injection/is-our-sidecar.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { KnownCas } from '../../runtime/known-cas.ts';
import type { Histogram, Metrics } from '../../runtime/metrics.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { parseToken, type UnverifiedToken } from './bearer.ts';
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
 * Age at which the successful result of a sender is renewed in the background, in milliseconds. Random, so that the renewals of a
 * fleet that reported at once spread out. After the latest start, the longest review (5 s and POD_MS) ends before the result does.
 */
const RENEWAL_MS = { earliest: 30_000, latest: 50_000 };
/** Maximum number of renewals in flight. Most connections to the API server stay free for requests that wait. */
const MAX_RENEWALS = 8;
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

/** Upper bounds in seconds. A review takes at most nine seconds. */
const REVIEW_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface PodIdentityOptions {
  client: KubeClient;
  clock: Clock;
  metrics: Metrics;
  /** Allowed images of the pod's sidecar; null: any. */
  sidecarImages: SidecarImages | null;
  /** The CAs that the pod may trust; null: any. */
  knownCas: KnownCas | null;
}

/** The result of a review. Times are milliseconds since the epoch. */
interface Cached {
  found: PodIdentification;
  until: number;
  /** When the result is renewed if a request uses it; null: the renewal is scheduled, or there is none. */
  renewAt: number | null;
}

/**
 * Reviews tokens with the API server, and reads the agent's name from the pod. The result of a token in use is renewed in the
 * background before it ends, so that only the first request of a pod waits for the API server.
 */
export class PodIdentity {
  readonly #options: PodIdentityOptions;
  readonly #cache = new Map<string, Cached>();
  readonly #inFlight = new Map<string, Promise<PodIdentification>>();
  /**
   * Times of the last valid token by UID of the pod, oldest first. The next token of such a pod, from kubelet rotation, is
   * probably valid.
   */
  readonly #proven = new Map<string, number>();
  readonly #bySource: ReviewBudget<PodIdentification>;
  readonly #byPod: ReviewBudget<PodIdentification>;
  readonly #renewals = new Semaphore(MAX_RENEWALS);
  readonly #seconds: Histogram;

  constructor(options: PodIdentityOptions) {
    this.#options = options;
    this.#seconds = options.metrics.histogram(
      'platform_control_plane_token_review_seconds',
      'Time of a TokenReview and the read of its pod, for a request that waits (request) or for a cached result (renewal).',
      REVIEW_SECONDS,
    );
    this.#bySource = new ReviewBudget(options.clock, MAX_BAD_OF_SOURCE, 'pod');
    this.#byPod = new ReviewBudget(options.clock, MAX_BAD_OF_POD, 'pod');
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
    if (known !== undefined && known.until > now.getTime()) {
      this.#renewLater(token, known);
      return Promise.resolve(known.found);
    }
    const running = this.#inFlight.get(token.hash);
    if (running !== undefined) return running;
    if (this.#inFlight.size >= MAX_IN_FLIGHT)
      return Promise.reject(new Error('too many TokenReviews in flight'));
    return this.#share(token, this.#reviewForRequest(token, source));
  }

  /** Concurrent requests with the token wait for this review. */
  #share({ hash }: UnverifiedToken, review: Promise<PodIdentification>): Promise<PodIdentification> {
    const result = review.finally(() => this.#inFlight.delete(hash));
    this.#inFlight.set(hash, result);
    return result;
  }

  async #reviewForRequest(token: UnverifiedToken, source: string): Promise<PodIdentification> {
    const found = await this.#reviewWithinBudget(token, source);
    const cached = this.#cache.get(token.hash);
    if (cached !== undefined) this.#renewLater(token, cached);
    return found;
  }

  /**
   * The invalid tokens of an address must not block a pod that already reports. A token that was valid before costs no budget.
   * A token that names a reporting pod, such as the next token from the kubelet, uses that pod's budget first. The UID in the
   * token is not verified, so this budget is small.
   */
  async #reviewWithinBudget(token: UnverifiedToken, source: string): Promise<PodIdentification> {
    const review = () => this.#reviewToCache(token, 'request');
    if (this.#cache.get(token.hash)?.found.kind === 'pod') return review();
    if (token.podUid !== null && this.#isProven(token.podUid)) {
      const found = await this.#byPod.within(token.podUid, review);
      if (found.kind !== 'limited') return found;
    }
    return this.#bySource.within(source, review);
  }

  async #reviewToCache(
    { text, hash, expiresMs }: UnverifiedToken,
    use: 'request' | 'renewal',
  ): Promise<PodIdentification> {
    const { clock } = this.#options;
    const beganMs = clock.monotonicMs();
    const found = await reviewed(text, this.#options).finally(() =>
      this.#seconds.observe((clock.monotonicMs() - beganMs) / 1000, { use }),
    );
    const now = clock.now().getTime();
    const until = found.kind === 'pod' ? Math.min(now + POSITIVE_MS, expiresMs) : now + NEGATIVE_MS;
    // A renewal cannot extend the life of the token.
    const isRenewable = found.kind === 'pod' && until < expiresMs;
    const renewAt = isRenewable ? now + randomBetween(RENEWAL_MS) : null;
    // Failures may evict successful results; an evicted result costs one more review.
    setNewest(this.#cache, [hash, { found, until, renewAt }], MAX_CACHED);
    if (found.kind === 'pod') setNewest(this.#proven, [found.uid, clock.monotonicMs()], MAX_CACHED);
    return found;
  }

  /** Schedules the renewal of a result that a request has used. A result that no request uses is not renewed, and ends. */
  #renewLater(token: UnverifiedToken, cached: Cached): void {
    if (cached.renewAt === null) return;
    const { clock } = this.#options;
    const waitMs = Math.max(0, cached.renewAt - clock.now().getTime());
    cached.renewAt = null;
    void clock
      .sleep(waitMs)
      .then(() => this.#renewals.run(() => this.#renew(token, cached)))
      // The result stays valid until its end. Then a request waits for a review, and reports its error.
      .catch(() => undefined);
  }

  async #renew(token: UnverifiedToken, cached: Cached): Promise<void> {
    // It may have ended or have been evicted while it waited for its turn.
    const isCurrent = this.#cache.get(token.hash) === cached;
    if (!isCurrent || cached.until <= this.#options.clock.now().getTime()) return;
    await this.#share(token, this.#reviewToCache(token, 'renewal'));
  }

  #isProven(uid: string): boolean {
    const atMs = this.#proven.get(uid) ?? -Infinity;
    return this.#options.clock.monotonicMs() - atMs < PROVEN_MS;
  }
}

const randomBetween = ({ earliest, latest }: typeof RENEWAL_MS): number =>
  earliest + Math.random() * (latest - earliest);

const unauthenticated = (reason: string): Promise<PodIdentification> =>
  Promise.resolve({ kind: 'unauthenticated', reason });

/**
 * Compares the UID, because a StatefulSet reuses pod names. Checks the sidecar too, because any pod can have the label. Checks
 * the CA, because a sidecar that trusts another CA may have sent its token to another server.
 */
async function reviewed(
  token: string,
  { client, sidecarImages, knownCas }: PodIdentityOptions,
): Promise<PodIdentification> {
  const result = await reviewToken(client, { token, audience: TOKEN_AUDIENCE }).catch((error: Error) => {
    throw new Error(`TokenReview failed: ${error.message}`);
  });
  if (result.kind === 'rejected')
    return { kind: 'unauthenticated', reason: `the token was rejected: ${result.reason}` };
  if (result.kind === 'unbound')
    return { kind: 'no-agent', reason: 'the token is not bound to a pod, so it identifies no agent' };
  const { namespace, podName, podUid } = result;
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
  await knownCas?.read().catch(() => undefined);
  if (knownCas?.has(pod.metadata.annotations?.[CA_ANNOTATION] ?? '') === false)
    return {
      kind: 'no-agent',
      reason: `the annotation ${CA_ANNOTATION} of the pod ${namespace}/${podName} is not the CA of this control plane: restart its workload; a manifest of "platform inject" needs the current CA`,
    };
  return { kind: 'pod', namespace, pod: podName, uid: podUid, agentName };
}
