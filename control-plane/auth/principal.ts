import type { Request, Response } from 'express';
import type { Actor } from '../../core/shapes/actor.ts';

/** Who made a request. */
export interface Principal extends Actor {
  /** The name for Kubernetes: that of a ServiceAccount, or a claim with the configured prefix. Empty for a key. */
  user: string;
  /** Groups of the token, with the configured prefix. Empty for a key. */
  groups: readonly string[];
  /** The identity provider left the groups out, because there are too many. */
  overage: boolean;
  /** When the credential ends, ISO 8601; absent: it does not, or that is not known. */
  until?: string;
}

/** One kind of credential of persons and programs. */
export interface Identifier {
  /** null: the request has no credential of this kind. Throws a Problem if the credential is not valid or cannot be verified. */
  identify(request: Request): Promise<Principal | null>;
}

export function setPrincipal(response: Response, principal: Principal): void {
  response.locals['principal'] = principal;
}

/** The caller of a route that requires a person. */
export function principalOf(response: Response): Principal {
  return response.locals['principal'] as Principal;
}

export const isIdentified = (response: Response): boolean => 'principal' in response.locals;

/** What records keep of a caller. */
export const actorOf = (response: Response): Actor => {
  const { user: _user, groups: _groups, overage: _overage, until: _until, ...actor } = principalOf(response);
  return actor;
};

/** What identifies an actor in a log message. */
export const actorText = ({ method, iss, sub }: Actor): string =>
  [iss, sub ?? method].filter((part) => part !== undefined).join('#');
