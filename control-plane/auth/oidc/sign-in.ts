import type { Request, Response } from 'express';
import {
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  ClientError,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  ResponseBodyError,
} from 'openid-client';
import { matchesAny } from '../../../core/organisation/pattern.ts';
import { describeError } from '../../../runtime/logger.ts';
import { Problem } from '../../../runtime/problem.ts';
import { oncePerSource, sourceOf } from '../once-per-source.ts';
import type { Cookies } from './cookies.ts';
import { refuseCrossSite } from './cross-site.ts';
import type { Issuer, IssuerParts } from './issuer.ts';
import { groupsOf, personOf, type Person } from './person.ts';

/** How long a person may take to sign in at the provider. */
const LOGIN_MS = 10 * 60_000;
/** Minimum time between two warnings about failed sign-ins from one source, in milliseconds. */
const WARN_MS = 60_000;

export const LOGIN_PATH = '/auth/login';
export const CALLBACK_PATH = '/auth/callback';
const TOO_MANY_GROUPS =
  'your identity provider sent too many groups; ask for groups assigned to the application';
const EXPIRED = 'sign-in expired or started in another browser; start again';

export interface SignInParts extends IssuerParts {
  issuer: Issuer;
  cookies: Cookies;
  /** Whether a role names the group, which has the prefix. A session keeps such groups. */
  isNamed: ((group: string) => boolean) | null;
}

interface Tokens {
  idToken: string;
  accessToken: string;
}

/** The sign-in of the dashboard: authorization code with PKCE. Nothing is stored but two encrypted cookies. */
export function createSignIn(parts: SignInParts) {
  const { config, clock, logger, issuer, cookies } = parts;
  const isWarningDue = oncePerSource({ clock, everyMs: WARN_MS });
  return {
    /** The address of the provider, where the person signs in. */
    async begin(request: Request, response: Response): Promise<string> {
      const client = await issuer.client();
      const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
      const to = localPath(request.query['to'], config.publicUrl);
      const payload = { state, nonce, verifier, to };
      const until = new Date(clock.now().getTime() + LOGIN_MS);
      if (!(await cookies.set(response, 'login', { payload, until })))
        throw new Problem(400, 'the parameter to is too long');
      return buildAuthorizationUrl(client, {
        ...{ redirect_uri: config.publicUrl + CALLBACK_PATH, scope: config.scopes, state, nonce },
        ...{ code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      }).href;
    },

    /** Starts the session. Returns the address that the person came from. */
    async finish(request: Request, response: Response): Promise<string> {
      try {
        const login = await cookies.read(request, 'login');
        cookies.clear(response, 'login');
        if (login === undefined || login === null) throw new Problem(400, EXPIRED);
        const person = await personFrom(await tokensOf(request, login, parts), parts);
        const until = new Date(clock.now().getTime() + config.sessionHours * 3_600_000);
        if (!(await cookies.set(response, 'session', { payload: { ...person, iss: config.issuer }, until })))
          throw new Problem(403, TOO_MANY_GROUPS);
        logger.info('signed in', { sub: person.sub, groups: person.groups.length });
        return login['to'] as string;
      } catch (error) {
        const source = sourceOf(request);
        if (isWarningDue(source)) logger.warn('sign-in failed', { source, error: describeError(error) });
        throw error;
      }
    },

    /** Ends the session. Returns the address where the session of the provider ends, else the dashboard. */
    async end(request: Request, response: Response): Promise<string> {
      refuseCrossSite(request, config.publicUrl);
      cookies.clear(response, 'session');
      const dashboard = `${config.publicUrl}/`;
      // Without the provider, the session of the dashboard ends nevertheless.
      const client = await issuer.client().catch(() => null);
      if (client?.serverMetadata().end_session_endpoint === undefined) return dashboard;
      return buildEndSessionUrl(client, { post_logout_redirect_uri: dashboard }).href;
    },
  };
}

export type SignIn = ReturnType<typeof createSignIn>;

/** An absolute address of the dashboard: a path such as `/.//evil.example` alone would lead to another host. */
function localPath(given: unknown, publicUrl: string): string {
  const url = typeof given === 'string' && given.startsWith('/') ? URL.parse(given, publicUrl) : null;
  return url?.origin === publicUrl ? url.href : `${publicUrl}/`;
}

async function tokensOf(
  request: Request,
  login: Readonly<Record<string, unknown>>,
  { config, issuer }: SignInParts,
): Promise<Tokens> {
  const client = await issuer.client();
  const url = new URL(CALLBACK_PATH, config.publicUrl);
  url.search = new URL(request.originalUrl, config.publicUrl).search;
  const tokens = await authorizationCodeGrant(client, url, {
    pkceCodeVerifier: login['verifier'] as string,
    expectedState: login['state'] as string,
    expectedNonce: login['nonce'] as string,
    idTokenExpected: true,
  }).catch((error: unknown) => {
    throw problemOf(error) ?? issuer.unavailable(error);
  });
  return { idToken: tokens.id_token ?? '', accessToken: tokens.access_token };
}

/** null: the provider cannot be reached, or its response is not one of a provider. */
function problemOf(error: unknown): Problem | null {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const code = /^[\w.-]{1,50}$/.exec(error.error)?.[0] ?? 'error';
    const status = error instanceof AuthorizationResponseError ? 403 : 400;
    return new Problem(status, `the identity provider rejected the sign-in: ${code}`);
  }
  if (!(error instanceof ClientError) || error.code !== 'OAUTH_INVALID_RESPONSE') return null;
  // The cause names the parameter.
  const { message } = error.cause instanceof Error ? error.cause : error;
  return new Problem(400, `the response of the identity provider is not valid: ${message}`);
}

/** The groups are in the ID token, else in the response of the userinfo endpoint. */
async function personFrom(tokens: Tokens, parts: SignInParts): Promise<Person> {
  const { config, issuer, isNamed } = parts;
  const claims = await issuer.verify(tokens.idToken, [config.clientId], { isFromProvider: true });
  const missing = groupsOf(claims, config.groupsClaim) === null;
  const more = missing ? await userInfo(tokens.accessToken, claims.sub ?? '', parts) : {};
  // The signed claims take precedence.
  const person = personOf({ ...more, ...claims }, config);
  const { keptGroups, prefix } = config;
  const isKept = (group: string): boolean =>
    (keptGroups === null && isNamed === null) ||
    matchesAny(keptGroups ?? [], group) ||
    isNamed?.(prefix + group) === true;
  const groups = person.groups.filter(isKept);
  return { ...person, groups, overage: person.overage && person.groups.length === 0 };
}

/** A failure leaves the person without groups: a right less, never a right more. */
async function userInfo(accessToken: string, sub: string, parts: SignInParts): Promise<object> {
  const client = await parts.issuer.client();
  if (client.serverMetadata().userinfo_endpoint === undefined) return {};
  return fetchUserInfo(client, accessToken, sub).catch((error: unknown) => {
    parts.logger.warn('userinfo request failed', { error: describeError(error) });
    return {};
  });
}
