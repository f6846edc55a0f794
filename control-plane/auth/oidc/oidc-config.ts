import {
  headerSecret,
  integer,
  optional,
  optionalNames,
  optionalSecret,
  optionalText,
  parseHttpUrl,
  withDefault,
  type ConfigOf,
  type Environment,
  type Summaries,
} from '../../../runtime/env.ts';
import type { Secret } from '../../../runtime/secret.ts';

/** Minimum length of SESSION_SECRET, in characters. */
const SECRET_MINIMUM = 32;
/** Only the API server gives out names that begin with it. */
export const RESERVED_PREFIX = 'system:';
/** `http:` to these hosts does not leave the machine, and browsers keep secure cookies for them. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

const secureUrl = (raw: string): URL | undefined => {
  const url = parseHttpUrl(raw);
  const isSecure = url !== undefined && (url.protocol === 'https:' || LOOPBACK.has(url.hostname));
  return isSecure && url.search + url.hash === '' ? url : undefined;
};

/** A prefix such as `sys` would make the reserved `system:masters` out of the claim `tem:masters`. */
const isPrefix = (raw: string): boolean =>
  /^[\x21-\x7e]{1,100}$/.test(raw) && !raw.startsWith(RESERVED_PREFIX) && !RESERVED_PREFIX.startsWith(raw);

const claim = (fallback: string) =>
  withDefault('the name of a claim', fallback, (raw) => (/^[\x21-\x7e]+$/.test(raw) ? raw : undefined));

const isVisible = (raw: string): boolean => /^[\x21-\x7e]+$/.test(raw);

/** Variables of the sign-in with an OpenID Connect provider. */
export const OIDC_FIELDS = {
  OIDC_ISSUER: optional('an https: URL without query (http: only for a loopback host)', (raw) =>
    secureUrl(raw) === undefined ? undefined : raw,
  ),
  OIDC_CLIENT_ID: optionalText,
  OIDC_CLIENT_SECRET: headerSecret(1),
  OIDC_AUDIENCES: optionalNames('audiences', isVisible),
  OIDC_SCOPES: withDefault('scopes separated by spaces, with openid', 'openid profile groups', (raw) =>
    raw.split(' ').includes('openid') ? raw : undefined,
  ),
  OIDC_USERNAME_CLAIM: claim('sub'),
  OIDC_GROUPS_CLAIM: claim('groups'),
  OIDC_PREFIX: withDefault(
    `a prefix of visible ASCII characters that does not lead to names with ${RESERVED_PREFIX}`,
    'oidc:',
    (raw) => (isPrefix(raw) ? raw : undefined),
  ),
  OIDC_GROUPS_KEEP: optionalNames('names of groups with * for any characters,', (raw) => raw !== ''),
  PUBLIC_URL: optional('an https: URL without path (http: only for a loopback host)', (raw) => {
    const url = secureUrl(raw);
    return url?.pathname === '/' ? url.origin : undefined;
  }),
  SESSION_HOURS: integer({ min: 1, max: 12, default: 1 }),
  SESSION_SECRET: optionalSecret(SECRET_MINIMUM),
  SESSION_SECRET_PREVIOUS: optionalSecret(SECRET_MINIMUM),
} as const;

export const OIDC_SUMMARIES: Summaries<typeof OIDC_FIELDS> = {
  OIDC_ISSUER:
    'Issuer of the OpenID Connect provider, exactly as in its tokens. Unset: only keys and tokens of the cluster are accepted.',
  OIDC_CLIENT_ID: 'Client id of the dashboard at the provider. Required with OIDC_ISSUER.',
  OIDC_CLIENT_SECRET:
    'Client secret, sent in the body (`client_secret_post`). Unset: a public client with PKCE.',
  OIDC_AUDIENCES: 'Accepted audiences of bearer tokens, separated by commas. Unset: the client id.',
  OIDC_SCOPES: 'Scopes that the sign-in asks for. Providers reject scopes that they do not know.',
  OIDC_USERNAME_CLAIM:
    'Claim with the name for the API server. Use the claim of its `--oidc-username-claim`.',
  OIDC_GROUPS_CLAIM: 'Claim with the groups.',
  OIDC_PREFIX:
    'Prefix of names and groups. Use that of the API server, so that the same RoleBindings apply as for kubectl.',
  OIDC_GROUPS_KEEP:
    'Patterns of the groups that a session keeps, without the prefix, separated by commas. Unset: all groups, which can be too many for a cookie.',
  PUBLIC_URL:
    'Address of the dashboard in the browser, without path. `<PUBLIC_URL>/auth/callback` is the redirect URI. Required with OIDC_ISSUER.',
  SESSION_HOURS: 'Lifetime of a session of the dashboard, in hours.',
  SESSION_SECRET: 'Encrypts the cookies of sessions. Unset: derived from the admin key with scrypt.',
  SESSION_SECRET_PREVIOUS:
    'The SESSION_SECRET before a change: its sessions stay valid until they end. Remove it after SESSION_HOURS.',
};

type Row = readonly [holds: boolean, name: string, value: string, wanted: string];

const UNSET = '(unset)';

/** Variables of the sign-in that contradict each other. */
export function oidcRows(env: Environment): Row[] {
  const has = (name: string): boolean => (env[name] ?? '') !== '';
  const hasIssuer = has('OIDC_ISSUER');
  const without = (name: string): Row => [
    !hasIssuer && has(name),
    name,
    OIDC_FIELDS[name as keyof typeof OIDC_FIELDS].secret === true ? '[secret]' : (env[name] ?? ''),
    'unset, because OIDC_ISSUER is unset',
  ];
  const required = (name: string): Row => [
    hasIssuer && !has(name),
    name,
    UNSET,
    'set, because OIDC_ISSUER is set',
  ];
  const hasKey = has('SESSION_SECRET') || has('PLATFORM_ADMIN_KEY');
  return [
    ...['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_AUDIENCES', 'OIDC_GROUPS_KEEP', 'PUBLIC_URL'].map(
      without,
    ),
    ...['OIDC_CLIENT_ID', 'PUBLIC_URL'].map(required),
    [
      hasIssuer && !hasKey,
      'SESSION_SECRET',
      UNSET,
      'set, because OIDC_ISSUER is set and PLATFORM_ADMIN_KEY is unset',
    ],
    [
      has('SESSION_SECRET_PREVIOUS') && !has('SESSION_SECRET'),
      'SESSION_SECRET',
      UNSET,
      'set, because SESSION_SECRET_PREVIOUS is set',
    ],
  ];
}

/** Takes the variables of the sign-in out of the values of the process. `oidc` null: there is no provider. */
export function takeOidc<T extends ConfigOf<typeof OIDC_FIELDS>>(values: T) {
  const {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_AUDIENCES: audiences,
    OIDC_SCOPES: scopes,
    OIDC_USERNAME_CLAIM: usernameClaim,
    OIDC_GROUPS_CLAIM: groupsClaim,
    OIDC_PREFIX: prefix,
    OIDC_GROUPS_KEEP: keptGroups,
    PUBLIC_URL: publicUrl,
    SESSION_HOURS: sessionHours,
    SESSION_SECRET: secret,
    SESSION_SECRET_PREVIOUS: previousSecret,
    ...rest
  } = values;
  if (issuer === null || clientId === null || publicUrl === null) return { oidc: null, rest };
  const oidc: OidcConfig = {
    ...{ issuer, clientId, clientSecret, audiences: audiences ?? [clientId], scopes },
    ...{ usernameClaim, groupsClaim, prefix, keptGroups },
    ...{ publicUrl, sessionHours, secret, previousSecret },
  };
  return { oidc, rest };
}

/** An OpenID Connect provider, and the sessions of the dashboard. */
export interface OidcConfig {
  /** Exactly as in tokens. */
  issuer: string;
  clientId: string;
  clientSecret: Secret | null;
  audiences: string[];
  scopes: string;
  usernameClaim: string;
  groupsClaim: string;
  prefix: string;
  /** Patterns of groups, without the prefix; null: all groups. */
  keptGroups: string[] | null;
  /** The origin of the dashboard. */
  publicUrl: string;
  sessionHours: number;
  /** null: derived from the admin key. */
  secret: Secret | null;
  previousSecret: Secret | null;
}
