import { createHmac } from 'node:crypto';
import { tokenAuthOf } from '../../core/manifest/token-auth.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { Identity } from '../../core/shapes/identity.ts';
import { createAddressGuard } from '../../probe/address-guard.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ClientRequest } from '../proxy/client-message.ts';
import type { SidecarConfig } from '../config.ts';
import { ownPortsOf } from '../own-ports.ts';
import { headerReader, parseProxies } from './proxy-header.ts';
import { NO_TOKEN, Tokens } from './tokens.ts';

type Caller = Pick<ClientRequest, 'rawHeaders' | 'socket'>;

export interface CallersOptions {
  config: SidecarConfig;
  manifest: () => Manifest;
  clock: Clock;
  logger: Logger;
  /** The result of a verification replaced the members of this object, which was `pending`. */
  onKnown: (identity: Identity) => void;
}

/**
 * Who makes the requests. Nothing here waits: a token that is not known yet is verified while its request goes on, and its identity is
 * `pending` until then. The request is forwarded in any case, because the agent authenticates its callers.
 */
export class Callers {
  readonly #options: CallersOptions;
  readonly #fromHeader: ((caller: Caller) => Identity) | null;
  #manifest: Manifest | null = null;
  /** The settings of `#tokens` as text. */
  #auth = '';
  /** null: the manifest does not declare how tokens are verified. */
  #tokens: Tokens | null = null;

  constructor(options: CallersOptions) {
    this.#options = options;
    this.#fromHeader = this.#createFromHeader();
  }

  /**
   * null: neither tokens nor a header are configured. A token decides; only a request without one is identified by its header.
   */
  identify(caller: Caller): Identity | null {
    const tokens = this.#tokensNow();
    const byToken = tokens?.identify(caller.rawHeaders) ?? null;
    if (byToken !== null || this.#fromHeader === null) return byToken ?? (tokens === null ? null : NO_TOKEN);
    return this.#fromHeader(caller);
  }

  #tokensNow(): Tokens | null {
    const manifest = this.#options.manifest();
    if (manifest === this.#manifest) return this.#tokens;
    this.#manifest = manifest;
    const { auth } = tokenAuthOf(manifest);
    const text = JSON.stringify(auth);
    if (text === this.#auth) return this.#tokens;
    this.#auth = text;
    const { clock, logger, onKnown, config } = this.#options;
    const guard = createAddressGuard(ownPortsOf(config));
    this.#tokens =
      auth === null ? null : new Tokens({ auth, clock, logger, guard, onKnown, recorded: this.#recorded });
    return this.#tokens;
  }

  #createFromHeader(): ((caller: Caller) => Identity) | null {
    const { IDENTITY_HEADER: name, IDENTITY_PROXIES: raw } = this.#options.config;
    const proxies = raw === null ? undefined : parseProxies(raw);
    if (name === null || proxies === undefined) return null;
    const read = headerReader(name, proxies);
    return ({ rawHeaders, socket }) => {
      const named = read(rawHeaders, socket.remoteAddress ?? '');
      if ('reason' in named) return { source: 'none', reason: named.reason };
      return { source: 'header', user: this.#recorded(named.user) };
    };
  }

  /** The name itself, or a code of it that only the owner of IDENTITY_HASH_KEY can compute. */
  readonly #recorded = (user: string): string => {
    const key = this.#options.config.IDENTITY_HASH_KEY;
    if (key === null) return user;
    return `h-${createHmac('sha256', key.reveal()).update(user).digest('hex').slice(0, 32)}`;
  };
}
