import type { Principal } from '../../control-plane/auth/principal.ts';
import { bearerOf, unauthorized } from '../../control-plane/auth/bearer.ts';
import type { Identifier } from '../../control-plane/auth/principal.ts';

export const ISSUER = 'https://id.example';

/** A person of an identity provider with this subject. */
export const aPerson = (sub: string, groups: readonly string[] = []): Principal => ({
  ...{ method: 'oidc', iss: ISSUER, sub, name: `Name of ${sub}`, user: `oidc:${sub}` },
  ...{ groups, overage: false },
});

/** Persons by their bearer tokens: `person-<subject>`. The token `expired` is of no person any more. */
export function personsOf(persons: readonly Principal[]): Identifier {
  return {
    identify: (request) => {
      const token = bearerOf(request);
      if (token === 'expired') return Promise.reject(unauthorized('the token has expired'));
      return Promise.resolve(persons.find(({ sub }) => token === `person-${sub}`) ?? null);
    },
  };
}
