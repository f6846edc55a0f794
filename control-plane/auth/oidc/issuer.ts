import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { allowInsecureRequests, discovery, type Configuration } from 'openid-client';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { Problem } from '../../../runtime/problem.ts';
import { createOutageLog } from '../../outage-log.ts';
import { tryAgain } from '../../try-again.ts';
import type { OidcConfig } from './oidc-config.ts';

/** Only signatures by a key pair: with a shared secret, everybody who can verify a token can also sign one. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
/** Accepted difference between the clocks, in seconds. */
const TOLERANCE_SECONDS = 30;
/** A token with an unknown key leads to at most one request for the keys in this time. */
const COOLDOWN_MS = 30_000;
/** How long keys are used without a new request, also while the provider is unavailable. */
const KEYS_MAX_AGE_MS = 3_600_000;
/** Time between two attempts to read the metadata of the provider, in milliseconds. */
const RETRY_MS = 5_000;
/** Time limit of a request to the provider. */
const TIMEOUT_SECONDS = 5;

/** The token is not valid. Every other error is one of the provider or of the way to it. */
const REFUSED =
  /^ERR_(JWT_|JWS_|JOSE_ALG_NOT_ALLOWED$|JOSE_NOT_SUPPORTED$|JWKS_NO_MATCHING_KEY$|JWKS_MULTIPLE_MATCHING_KEYS$)/;

interface Found {
  client: Configuration;
  keys: ReturnType<typeof createRemoteJWKSet>;
}

export interface IssuerParts {
  config: OidcConfig;
  clock: Clock;
  logger: Logger;
}

/** The OpenID Connect provider. Its metadata are read when they are first needed, so that a process starts without it. */
export function createIssuer({ config, clock, logger }: IssuerParts) {
  const outage = createOutageLog(clock, {
    begin: (error) => logger.error('identity provider requests failing', { error }),
    end: (failures) => logger.info('identity provider requests succeed again', { failures }),
  });
  let current: Promise<Found> | null = null;
  let failedMs = -Infinity;

  /** For an error of the provider, or of the way to it. */
  function unavailable(error: unknown): Problem {
    outage.failed(error);
    return tryAgain('the identity provider is unavailable; try again, or use the admin key', 5);
  }

  function find(): Promise<Found> {
    if (current !== null) return current;
    if (clock.monotonicMs() - failedMs < RETRY_MS)
      return Promise.reject(unavailable(new Error('the last attempt failed')));
    current = discover(config).catch((error: unknown) => {
      current = null;
      failedMs = clock.monotonicMs();
      throw unavailable(error);
    });
    return current;
  }

  return {
    unavailable,

    /** For requests of openid-client. Rejects with a Problem (503). */
    client: async (): Promise<Configuration> => (await find()).client,

    /**
     * The claims of a valid token for one of the audiences. Rejects with a Problem: 401, or 503 if it cannot be verified.
     * @param options.isFromProvider the provider sent the token itself, so that it may have a new key before the cooldown ends
     */
    async verify(token: string, audience: string[], { isFromProvider = false } = {}): Promise<JWTPayload> {
      const found = await find();
      const keys = isFromProvider ? withNewKeys(found.keys) : found.keys;
      const options = {
        ...{ issuer: config.issuer, audience, algorithms: ALGORITHMS, currentDate: clock.now() },
        clockTolerance: TOLERANCE_SECONDS,
        requiredClaims: ['sub', 'exp', 'iat'],
      };
      const { payload } = await jwtVerify(token, keys, options).catch((error: unknown) => {
        throw error instanceof errors.JOSEError && REFUSED.test(error.code)
          ? new Problem(401, `the token was rejected: ${error.message}`, {
              headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
            })
          : unavailable(error);
      });
      outage.succeeded();
      return payload;
    },
  };
}

/** Reads the keys again for a token with an unknown key. */
const withNewKeys =
  (keys: Found['keys']): JWTVerifyGetKey =>
  (header, token) =>
    keys(header, token).catch(async (error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await keys.reload();
      return keys(header, token);
    });

export type Issuer = ReturnType<typeof createIssuer>;

async function discover({ issuer, clientId, clientSecret }: OidcConfig): Promise<Found> {
  const url = new URL(issuer);
  const client = await discovery(url, clientId, clientSecret?.reveal(), undefined, {
    timeout: TIMEOUT_SECONDS,
    // The configuration accepts http: only for loopback hosts.
    execute: url.protocol === 'http:' ? [allowInsecureRequests] : [],
  });
  const { issuer: named, jwks_uri: keysUrl } = client.serverMetadata();
  // Tokens are compared character by character, as the API server does.
  if (named !== issuer) throw new Error(`OIDC_ISSUER is not ${named}, the issuer in the tokens`);
  if (keysUrl === undefined) throw new Error('the metadata of the identity provider have no jwks_uri');
  const keys = createRemoteJWKSet(new URL(keysUrl), {
    timeoutDuration: TIMEOUT_SECONDS * 1000,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: KEYS_MAX_AGE_MS,
  });
  return { client, keys };
}
