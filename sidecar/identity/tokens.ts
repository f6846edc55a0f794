import { createHash, hash } from 'node:crypto';
import type { Identity } from '../../core/shapes/identity.ts';
import { own } from '../../core/untrusted/fields.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { valuesOf, type HeaderList } from '../proxy/headers.ts';
import { printableText } from './printable-text.ts';
import type { Verified, VerifyOptions } from './verify-token.ts';

/** Tokens whose result is remembered. */
const MAX_TOKENS = 10_000;
/** How long a token that was rejected, or whose keys cannot be read, is not verified again. */
const REJECTED_MS = 30_000;
const UNREACHABLE_MS = 5_000;
/** Verifications that begin in one second. Each costs as much as some hundred requests. */
const MAX_PER_SECOND = 50;
/** Characters of a token. */
const MAX_TOKEN = 8192;
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const BEARER = /^bearer +/i;

export const NO_TOKEN: Identity = Object.freeze<Identity>({ source: 'none', reason: 'no-token' });
const BUSY: Identity = Object.freeze<Identity>({ source: 'none', reason: 'busy' });
const INVALID: Identity = Object.freeze<Identity>({ source: 'none', reason: 'invalid-token' });

export interface TokensOptions extends VerifyOptions {
  /** The name that is recorded for a person. */
  recorded: (user: string) => string;
  /** A verification has ended, and its result is in the object that `identify` returned. */
  onKnown: (identity: Identity) => void;
}

interface Known {
  identity: Identity;
  /** Epoch milliseconds until which the result is used; Infinity: the verification has not ended. */
  untilMs: number;
}

/** The tokens of requests. Each is verified once, after its request has gone on. */
export class Tokens {
  readonly #options: TokensOptions;
  /** By the SHA-256 of the token: a token is in memory only while it is verified. */
  readonly #known = new Map<string, Known>();
  #second = { startMs: -Infinity, begun: 0 };
  #verify: Promise<(token: string) => Promise<Verified>> | null = null;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** The identity in these headers: final, or `pending` and changed later. null: there is no token. */
  identify(rawHeaders: HeaderList): Identity | null {
    const values = valuesOf(rawHeaders, this.#options.auth.header);
    const [value] = values;
    if (value === undefined) return null;
    if (values.length > 1) return INVALID;
    // The header Authorization has tokens only with its scheme. Other headers have the bare token, or the scheme.
    if (this.#options.auth.header === 'authorization' && !BEARER.test(value)) return null;
    const token = value.replace(BEARER, '');
    return token.length <= MAX_TOKEN && COMPACT.test(token) ? this.#identityOf(token) : INVALID;
  }

  #identityOf(token: string): Identity {
    const key = hash('sha256', token, 'base64');
    const known = this.#known.get(key);
    if (known !== undefined && known.untilMs > this.#options.clock.now().getTime()) return known.identity;
    if (!this.#mayBegin()) return BUSY;
    const identity: Identity = { source: 'none', reason: 'pending' };
    setNewest(this.#known, [key, { identity, untilMs: Infinity }], MAX_TOKENS);
    void this.#settle(key, token, identity);
    return identity;
  }

  #mayBegin(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#second.startMs >= 1000) this.#second = { startMs: nowMs, begun: 0 };
    this.#second.begun += 1;
    return this.#second.begun <= MAX_PER_SECOND;
  }

  async #settle(key: string, token: string, identity: Identity): Promise<void> {
    const { clock, onKnown } = this.#options;
    const verify = await (this.#verify ??= this.#load());
    const verified = await verify(token);
    const { result, untilMs } = this.#resultOf(verified, clock.now().getTime());
    delete identity.reason;
    Object.assign(identity, result);
    if (this.#known.get(key)?.identity === identity)
      setNewest(this.#known, [key, { identity, untilMs }], MAX_TOKENS);
    onKnown(identity);
  }

  /** The library of tokens is loaded with the first token: most sidecars get none. */
  async #load(): Promise<(token: string) => Promise<Verified>> {
    const { createVerify } = await import('./verify-token.ts');
    return createVerify(this.#options);
  }

  #resultOf(verified: Verified, nowMs: number): { result: Identity; untilMs: number } {
    const none = (reason: Identity['reason']): { result: Identity; untilMs: number } => ({
      result: { source: 'none', ...(reason !== undefined && { reason }) },
      untilMs: nowMs + (reason === 'jwks-unreachable' ? UNREACHABLE_MS : REJECTED_MS),
    });
    if ('reason' in verified) return none(verified.reason);
    const { claims } = verified;
    const user = printableText(own(claims, this.#options.auth.claim));
    if (user === null) return none('no-claim');
    const session = sessionOf(claims.jti) ?? sessionOf(claims['sid']);
    return {
      result: { source: 'jwt', user: this.#options.recorded(user), ...(session !== null && { session }) },
      untilMs: (claims.exp ?? 0) * 1000,
    };
  }
}

/** A session cannot be continued with the hash of its id. */
function sessionOf(id: unknown): string | null {
  if (typeof id !== 'string' || id === '') return null;
  return `s-${createHash('sha256').update(id).digest('hex').slice(0, 16)}`;
}
