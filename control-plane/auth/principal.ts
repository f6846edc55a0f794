import type { Response } from 'express';
import type { Actor } from '../../core/shapes/actor.ts';

/** Who made a request. */
export interface Principal extends Actor {
  /** Groups of the token, with the configured prefix. Empty for a key. */
  groups: readonly string[];
  /** The identity provider left the groups out, because there are too many. */
  overage: boolean;
}

export function setPrincipal(response: Response, principal: Principal): void {
  response.locals['principal'] = principal;
}

/** The caller of a route that requires a person. */
export function principalOf(response: Response): Principal {
  return response.locals['principal'] as Principal;
}

/** What records keep of a caller. */
export const actorOf = (response: Response): Actor => {
  const { groups: _groups, overage: _overage, ...actor } = principalOf(response);
  return actor;
};
