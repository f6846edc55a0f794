import type { RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { TestServers } from '../http/sockets.ts';

export const ISSUER = 'https://login.example.com/';
export const AUDIENCE = 'shop-agent';

type SigningAlgorithm = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA';

export interface IssuerKey {
  kid: string;
  alg: SigningAlgorithm;
  privateKey: CryptoKey;
  jwk: JWK;
}

export async function issuerKey(kid: string, alg: SigningAlgorithm = 'ES256'): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** A server with the keys of an issuer of tokens, on loopback. */
export class TokenIssuer {
  url = '';
  /** Number of requests for the keys. */
  requests = 0;
  /** Responds instead of the server; null: the server responds with `keys`. */
  respond: RequestListener | null = null;
  keys: readonly IssuerKey[];
  readonly #servers = new TestServers();

  constructor(keys: readonly IssuerKey[]) {
    this.keys = keys;
  }

  async open(): Promise<void> {
    const port = await this.#servers.http((request, response) => {
      this.requests += 1;
      if (this.respond !== null) this.respond(request, response);
      else response.end(JSON.stringify({ keys: this.keys.map(({ jwk }) => jwk) }));
    });
    this.url = `http://127.0.0.1:${port}/jwks`;
  }

  /** A token of alice for the audience, valid for five minutes from `now`. Claims of undefined are left out. */
  sign(now: Date, claims: Record<string, unknown> = {}, key = this.keys[0]!): Promise<string> {
    const seconds = Math.floor(now.getTime() / 1000);
    const all = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', exp: seconds + 300, ...claims };
    return new SignJWT(all).setProtectedHeader({ alg: key.alg, kid: key.kid }).sign(key.privateKey);
  }

  async close(): Promise<void> {
    await this.#servers.close();
  }
}
