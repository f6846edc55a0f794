import type { Request, Response } from 'express';
import type { Me, Right } from '../../core/shapes/actor.ts';
import { RIGHTS } from '../../core/shapes/actor.ts';
import { namespacesWith } from '../auth/access/access.ts';
import { actorOf, principalOf } from '../auth/principal.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import { readRoute } from './read-route.ts';

/** Who the caller is. */
export function meRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const { access, remoteNamespace } = context;
  return [
    readRoute('/api/v1/me', {
      access: 'person',
      summary:
        '`{method, iss, sub, name, overage, can: {read, stop, resume, prove, admin}, until}`: the caller, and where it has which right: `"*"` or a list of the namespaces that have agents. `admin` is true if the caller may register and delete remote agents and read the log of admin actions. `until` is the end of a session, else null. Each request is decided again.',
      operation: {
        id: 'getCaller',
        responses: { 200: { description: 'The caller.', schema: 'Me' } },
      },
      read: me,
    }),
  ];

  async function me(_request: Request, response: Response): Promise<Me> {
    const principal = principalOf(response);
    const { method, overage, until = null } = principal;
    const where = async (right: Right): Promise<readonly [Right, '*' | string[]]> => {
      const namespaces = await namespacesWith(context, principal, right);
      return [right, namespaces === null ? '*' : [...namespaces]];
    };
    const admin = await Promise.all([
      access.can(principal, 'register', remoteNamespace),
      access.can(principal, 'remove', remoteNamespace),
      access.can(principal, 'actions', null),
    ]);
    const can = Object.fromEntries(await Promise.all(RIGHTS.map(where)));
    return {
      ...actorOf(response),
      overage,
      can: { ...(can as Record<Right, '*' | string[]>), admin: admin.every(Boolean) },
      until: method === 'session' ? until : null,
    };
  }
}
