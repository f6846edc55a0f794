import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import { memoryAdapter } from './memory-adapter.ts';

export const CLIENT_ID = 'dashboard';
export const CLIENT_SECRET = 'client-secret-of-a-test';

type SigningAlgorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA';

/** A key pair of the provider. */
export interface ProviderKey {
  kid: string;
  alg: SigningAlgorithm;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
}

export async function createKey(kid: string, alg: SigningAlgorithm = 'RS256'): Promise<ProviderKey> {
  return { kid, alg, ...(await generateKeyPair(alg, { extractable: true })) };
}

let firstKey: Promise<ProviderKey> | null = null;

/** The person who signs in: claims by name, with `sub`. */
export type Account = Record<string, unknown> & { sub: string };

export interface ProviderOptions {
  /** Addresses of the dashboard. */
  publicUrl: string;
  /** true: as the standard says, the claims of scopes are not in the ID token but at the userinfo endpoint. */
  hasThinTokens?: boolean;
}

/** A real OpenID Connect provider (`oidc-provider`) on a socket. Every browser is signed in at once as `account`. */
export class IdentityProvider {
  readonly url: string;
  account: Account = { sub: 'alice' };
  /** The keys that the provider publishes; the first one signs. */
  keys: readonly ProviderKey[];
  /** Paths of the requests, in their order. */
  readonly requests: string[] = [];
  /** Responds instead of the provider; false: the provider responds. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #server: Server;
  readonly #options: ProviderOptions;
  #handler: ReturnType<Provider['callback']> | null = null;

  private constructor(server: Server, keys: readonly ProviderKey[], options: ProviderOptions) {
    this.#server = server;
    this.#options = options;
    this.keys = keys;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(options: ProviderOptions): Promise<IdentityProvider> {
    let provider: IdentityProvider | null = null;
    const server = createServer((request, response) => provider?.serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    provider = new IdentityProvider(server, [await (firstKey ??= createKey('first'))], options);
    await provider.restart();
    return provider;
  }

  /** Makes the changed `keys` effective. */
  async restart(): Promise<void> {
    const jwks = await Promise.all(
      this.keys.map(async ({ kid, alg, privateKey }) => ({
        ...(await exportJWK(privateKey)),
        ...{ kid, alg, use: 'sig' },
      })),
    );
    const provider = new Provider(this.url, this.#configurationOf({ keys: jwks }));
    const callback = provider.callback();
    this.#handler = async (request, response) => {
      if (!(request.url ?? '').startsWith('/interaction/')) await callback(request, response);
      else
        await provider.interactionFinished(
          request,
          response,
          { login: { accountId: this.account.sub } },
          { mergeWithLastSubmission: false },
        );
    };
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(new URL(request.url ?? '', this.url).pathname);
    if (!this.intercept(request, response)) void this.#handler?.(request, response);
  }

  /** A token that the first key signs. `claims` of undefined are left out. */
  sign(claims: Record<string, unknown>, { key = this.keys[0]!, header = {} } = {}): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
      .sign(key.privateKey);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #configurationOf(jwks: Configuration['jwks']): Configuration {
    const { publicUrl, hasThinTokens = false } = this.#options;
    return {
      jwks,
      adapter: memoryAdapter(),
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          token_endpoint_auth_method: 'client_secret_post',
          redirect_uris: [`${publicUrl}/auth/callback`],
          post_logout_redirect_uris: [`${publicUrl}/`],
        },
      ],
      claims: {
        openid: ['sub'],
        profile: ['name', 'email', 'email_verified', '_claim_names'],
        groups: ['groups'],
      },
      conformIdTokenClaims: hasThinTokens,
      cookies: { keys: ['key of the cookies of a test'] },
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 60,
        Grant: 600,
        IdToken: 600,
        Interaction: 600,
        Session: 600,
      },
      features: {
        devInteractions: { enabled: false },
        rpInitiatedLogout: { logoutSource: (ctx, form) => void (ctx.body = form) },
      },
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      findAccount: (_ctx, accountId) => ({ accountId, claims: () => this.account }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client?.clientId ?? '',
          accountId: oidc.session?.accountId ?? '',
        });
        grant.addOIDCScope('openid profile groups');
        await grant.save();
        return grant;
      },
    };
  }
}
