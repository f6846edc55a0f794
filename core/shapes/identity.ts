import { oneOf, text, type Field } from './field.ts';
import { namedObject, type TypeOf } from './object.ts';

/** Where the identity is from. */
export const IDENTITY_SOURCES = ['jwt', 'header', 'none'] as const;

/** Why the person is not known. */
export const IDENTITY_REASONS = [
  'pending',
  'no-token',
  'invalid-token',
  'expired-token',
  'no-claim',
  'jwks-unreachable',
  'busy',
  'no-header',
  'invalid-header',
  'foreign-address',
] as const;
export type IdentityReason = (typeof IDENTITY_REASONS)[number];

const members = namedObject('Identity', 'The person who made the request, as far as it is verified.', {
  source: oneOf(
    'jwt: a token that `spec.api.auth` of the manifest verifies. header: IDENTITY_HEADER from one of IDENTITY_PROXIES. none: the person is not known.',
    IDENTITY_SOURCES,
  ),
  'reason?': oneOf(
    'Only with `none`. pending: the token is still being verified. invalid-token: the signature, the issuer, the audience or the form is wrong, or the token is not valid yet. no-claim: the token does not have the declared claim as a text of 1 to 256 printable characters. jwks-unreachable: the keys of the issuer cannot be read. busy: too many tokens to verify. invalid-header: the header is repeated, or its value is not a text of 1 to 256 printable characters. foreign-address: the header is not from one of IDENTITY_PROXIES.',
    IDENTITY_REASONS,
  ),
  'user?': text(
    'The person: personal data. With IDENTITY_HASH_KEY: `h-` and 32 hexadecimal digits of the HMAC-SHA256.',
  ),
  'session?': text(
    '`s-` and 16 hexadecimal digits of the SHA-256 of the claim `jti`, else `sid`. Absent: the token has neither.',
  ),
});

/**
 * The person who made a request. Requests with the same token share one object. While a token is being verified its object is
 * `{source: 'none', reason: 'pending'}`, and the result replaces the members of that object.
 */
export interface Identity extends TypeOf<typeof members> {}
export const identity: Field<Identity> = members;
