import type { JWTPayload } from 'jose';
import { cut } from '../../../core/untrusted/fields.ts';
import { onOneLine } from '../../../core/untrusted/on-one-line.ts';
import { Problem } from '../../../runtime/problem.ts';
import type { Principal } from '../principal.ts';
import { RESERVED_PREFIX, type OidcConfig } from './oidc-config.ts';

/** Maximum length of `sub` and of the user's name, in characters: that of `sub` in records. */
const MAX_NAME = 512;

/** What a token says about a person, without the prefix. */
export interface Person {
  sub: string;
  /** The value of the username claim. */
  user: string;
  /** For display; not an identity. */
  name?: string;
  groups: readonly string[];
  /** The provider left the groups out, because there are too many. */
  overage: boolean;
}

type Claims = Readonly<Record<string, unknown>>;

/** Throws a Problem (403) if the claims do not name a person. */
export function personOf(claims: JWTPayload, config: OidcConfig): Person {
  const name = nameOf(claims);
  return {
    sub: textOf(claims, 'sub', 'which identifies a person'),
    user: userOf(claims, config.usernameClaim),
    ...(name !== undefined && { name }),
    groups: groupsOf(claims, config.groupsClaim) ?? [],
    overage: hasOverage(claims, config.groupsClaim),
  };
}

/** The groups of a claim; null: the claim is absent. A group of the API server never comes from a claim. */
export function groupsOf(claims: Claims, claim: string): string[] | null {
  const value = claims[claim];
  const groups = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(groups)) return null;
  return groups.filter(
    (group): group is string =>
      typeof group === 'string' && group !== '' && !group.startsWith(RESERVED_PREFIX),
  );
}

export function principalFrom(
  person: Person,
  { method, config }: { method: 'oidc' | 'session'; config: OidcConfig },
): Principal {
  const { sub, user, name, groups, overage } = person;
  const { issuer: iss, prefix } = config;
  return {
    ...{ method, iss, sub, overage },
    ...(name !== undefined && { name }),
    user: prefix + user,
    groups: groups.map((group) => prefix + group),
  };
}

/** As the API server does, an e-mail address that the provider did not verify is rejected. */
function userOf(claims: Claims, claim: string): string {
  if (claim === 'email' && claims['email_verified'] !== undefined && claims['email_verified'] !== true)
    throw new Problem(403, 'the e-mail address of the token is not verified');
  const user = textOf(claims, claim, 'which OIDC_USERNAME_CLAIM names');
  if (user.startsWith(RESERVED_PREFIX))
    throw new Problem(
      403,
      `the claim "${claim}" of the token begins with ${RESERVED_PREFIX}, which is reserved`,
    );
  return user;
}

function textOf(claims: Claims, claim: string, why: string): string {
  const value = claims[claim];
  if (typeof value === 'string' && value !== '' && value.length <= MAX_NAME) return value;
  throw new Problem(
    403,
    `the token has no text of 1 to ${MAX_NAME} characters in the claim "${claim}", ${why}`,
  );
}

function nameOf({ name, preferred_username: username }: Claims): string | undefined {
  const shown = [name, username].find((value): value is string => typeof value === 'string' && value !== '');
  return shown === undefined ? undefined : cut(onOneLine(shown), 200);
}

/** Microsoft Entra ID replaces the groups by `_claim_names`, or by `hasgroups` in an implicit flow. */
function hasOverage(claims: Claims, claim: string): boolean {
  const names = claims['_claim_names'];
  const isElsewhere = typeof names === 'object' && names !== null && claim in names;
  return isElsewhere || claims['hasgroups'] === true;
}
