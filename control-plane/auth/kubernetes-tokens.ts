import type { Request } from 'express';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import type { KubeClient } from '../../kube/client.ts';
import { reviewUser, type UserReviewResult } from '../../kube/token-review.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ApiServerOutage } from '../outage-log.ts';
import { tryAgain } from '../try-again.ts';
import { bearerOf, parseToken, unauthorized, type UnverifiedToken } from './bearer.ts';
import { sourceOf } from './once-per-source.ts';
import type { Identifier, Principal } from './principal.ts';
import { ReviewBudget, type Limited } from './review-budget.ts';

/**
 * The audience of tokens for persons and programs. Not that of sidecars, so that no sidecar is a person, and not that of the API
 * server, so that a token that was sent here is worth nothing there.
 */
export const PERSON_AUDIENCE = 'agent-compliance';

/** How long a result is cached, in milliseconds. */
const POSITIVE_MS = 60_000;
const NEGATIVE_MS = 5_000;
/** While the API server is unavailable, a token that was valid counts for this time, in milliseconds. */
const OUTAGE_MS = 300_000;
const MAX_CACHED = 10_000;
const MAX_IN_FLIGHT = 100;
/** Maximum number of invalid tokens per minute from one address. */
const MAX_BAD = 20;

interface Cached {
  found: UserReviewResult;
  /** Milliseconds since the epoch. */
  atMs: number;
}

export interface KubernetesTokensOptions {
  client: KubeClient;
  clock: Clock;
  apiServer: Pick<ApiServerOutage, 'failed'>;
}

/** ServiceAccount tokens with the audience `agent-compliance`, such as of `kubectl create token`. */
export class KubernetesTokens implements Identifier {
  readonly #options: KubernetesTokensOptions;
  readonly #cache = new Map<string, Cached>();
  readonly #inFlight = new Map<string, Promise<UserReviewResult | Limited>>();
  readonly #bySource: ReviewBudget<UserReviewResult>;

  constructor(options: KubernetesTokensOptions) {
    this.#options = options;
    this.#bySource = new ReviewBudget(options.clock, MAX_BAD, 'user');
  }

  async identify(request: Request): Promise<Principal | null> {
    const text = bearerOf(request);
    if (text === undefined) return null;
    const token = parseToken(text);
    if (token?.audiences.includes(PERSON_AUDIENCE) !== true)
      throw unauthorized(`the token is not a token for the audience ${PERSON_AUDIENCE}`);
    if (token.expiresMs <= this.#nowMs()) throw unauthorized('the token has expired');
    const found = await this.#found(token, sourceOf(request));
    if (found.kind === 'limited')
      throw tryAgain('too many invalid tokens from this address; try again', found.retryAfterSeconds, {
        status: 429,
      });
    if (found.kind === 'rejected') throw unauthorized(`the token was rejected: ${found.reason}`);
    const { username, groups } = found;
    if (!username.startsWith('system:serviceaccount:'))
      throw unauthorized('the token is not the token of a ServiceAccount');
    const until = Number.isFinite(token.expiresMs) && { until: new Date(token.expiresMs).toISOString() };
    return { method: 'kubernetes', sub: username, user: username, groups, overage: false, ...until };
  }

  #found(token: UnverifiedToken, source: string): Promise<UserReviewResult | Limited> {
    const known = this.#cache.get(token.hash);
    if (known !== undefined) {
      const keptMs = known.found.kind === 'user' ? POSITIVE_MS : NEGATIVE_MS;
      if (this.#nowMs() - known.atMs < keptMs) return Promise.resolve(known.found);
    }
    const running = this.#inFlight.get(token.hash);
    if (running !== undefined) return running;
    if (this.#inFlight.size >= MAX_IN_FLIGHT)
      return Promise.reject(tryAgain('too many tokens are being verified; try again', 2));
    const review = (): Promise<UserReviewResult> => this.#review(token);
    // A token that was valid before costs no budget.
    const started = known?.found.kind === 'user' ? review() : this.#bySource.within(source, review);
    const result = started.finally(() => this.#inFlight.delete(token.hash));
    this.#inFlight.set(token.hash, result);
    return result;
  }

  async #review({ text, hash }: UnverifiedToken): Promise<UserReviewResult> {
    const { client, apiServer } = this.#options;
    try {
      const found = await reviewUser(client, { token: text, audience: PERSON_AUDIENCE });
      setNewest(this.#cache, [hash, { found, atMs: this.#nowMs() }], MAX_CACHED);
      return found;
    } catch (error) {
      apiServer.failed(error);
      const last = this.#cache.get(hash);
      if (last?.found.kind === 'user' && this.#nowMs() - last.atMs < OUTAGE_MS) return last.found;
      throw tryAgain('cannot verify the token: the API server is unavailable; try again', 2, {
        cause: error,
      });
    }
  }

  #nowMs(): number {
    return this.#options.clock.now().getTime();
  }
}
