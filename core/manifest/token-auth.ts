import type { Manifest } from './manifest.ts';
import { referenceOf } from './references.ts';

/** What a sidecar needs to verify the tokens of callers. */
export interface TokenAuth {
  jwksUri: string;
  issuer: string;
  audience: string;
  /** The claim that identifies the person. */
  claim: string;
  /** The header with the token, in lower case. */
  header: string;
}

/**
 * How the tokens of callers are verified; null: the manifest does not declare it. `missing`: the members that are absent, or
 * references, which a sidecar cannot resolve. Without one of them, a token of another issuer or for another audience would count.
 */
export function tokenAuthOf({ spec: { api } }: Manifest): { auth: TokenAuth | null; missing: string[] } {
  const { auth } = api ?? {};
  if (auth?.type !== 'jwt') return { auth: null, missing: [] };
  const [jwksUri, issuer, audience] = [plain(auth.jwksUri), plain(auth.issuer), plain(auth.audience)];
  if (jwksUri === null || issuer === null || audience === null) {
    const members = Object.entries({ jwksUri, issuer, audience });
    return { auth: null, missing: members.filter(([, value]) => value === null).map(([name]) => name) };
  }
  const { claim = 'sub', header = 'Authorization' } = auth;
  return { auth: { jwksUri, issuer, audience, claim, header: header.toLowerCase() }, missing: [] };
}

const plain = (value: string | undefined): string | null =>
  value === undefined || referenceOf(value) !== null ? null : value;
