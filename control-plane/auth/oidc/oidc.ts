import { decodeJwt, errors } from 'jose';
import type { Secret } from '../../../runtime/secret.ts';
import { Problem } from '../../../runtime/problem.ts';
import { bearerOf } from '../bearer.ts';
import type { Identifier } from '../principal.ts';
import { createCookies } from './cookies.ts';
import { refuseCrossSite } from './cross-site.ts';
import { createIssuer, type IssuerParts } from './issuer.ts';
import type { OidcConfig } from './oidc-config.ts';
import { personOf, principalFrom, type Person } from './person.ts';
import { createSignIn, type SignIn, type SignInParts } from './sign-in.ts';

export interface OidcOptions extends Pick<IssuerParts, 'clock' | 'logger'>, Pick<SignInParts, 'isNamed'> {
  /** null: no provider is configured. */
  config: OidcConfig | null;
  adminKey: Secret | null;
}

export interface Oidc {
  /** By a bearer token of the provider. Tokens of other issuers are not of this kind. */
  bearer: Identifier;
  /** By the cookie of the dashboard. */
  session: Identifier;
  /** null: no provider is configured. */
  signIn: SignIn | null;
}

const NONE: Identifier = { identify: () => Promise.resolve(null) };

/** Sign-in with an OpenID Connect provider. */
export function createOidc({ config, adminKey, ...parts }: OidcOptions): Oidc {
  if (config === null) return { bearer: NONE, session: NONE, signIn: null };
  const { secret, previousSecret, publicUrl } = config;
  const issuer = createIssuer({ config, ...parts });
  const cookies = createCookies({ secret, previousSecret, adminKey, clock: parts.clock });
  return {
    signIn: createSignIn({ config, issuer, cookies, ...parts }),
    bearer: {
      identify: async (request) => {
        const token = bearerOf(request);
        if (token === undefined || issuerOf(token) !== config.issuer) return null;
        const person = personOf(await issuer.verify(token, config.audiences), config);
        return principalFrom(person, { method: 'oidc', config });
      },
    },
    session: {
      identify: async (request) => {
        const claims = await cookies.read(request, 'session');
        if (claims === undefined) return null;
        // A session of another provider than that of the configuration is over.
        if (claims === null || claims.iss !== config.issuer)
          throw new Problem(401, 'the session has ended; sign in again');
        refuseCrossSite(request, publicUrl);
        const person = claims as unknown as Person;
        const until = new Date((claims.exp ?? 0) * 1000).toISOString();
        return { ...principalFrom(person, { method: 'session', config }), until };
      },
    },
  };
}

/** What the token says without proof; it only selects the verifier. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
