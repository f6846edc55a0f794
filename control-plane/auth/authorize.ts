import type { Request, RequestHandler, Response } from 'express';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext } from '../context.ts';
import { ABOUT, namespacesWith, type AccessRight } from './access/access.ts';
import { adminKeyUse, keysDisabled } from './admin-key.ts';
import { bearerOf, unauthorized } from './bearer.ts';
import { LOGIN_PATH } from './oidc/sign-in.ts';
import { principalOf, setPrincipal, type Principal } from './principal.ts';

/** Access to a route of persons: with a right, or `person`: every caller with a valid credential. */
export type PersonAccess = AccessRight | 'person';

type Rights = Pick<ControlPlaneContext, 'access' | 'namespaces' | 'remoteNamespace'>;

/**
 * Where the guard checks the right of a route. The handlers of the other routes know the namespace: `findAgent`, `readableBy` and
 * `requireRight` check it there.
 */
const CHECKED_HERE: Partial<Record<PersonAccess, (rights: Rights) => string | null>> = {
  register: ({ remoteNamespace }) => remoteNamespace,
  actions: () => null,
};

/** Requires a valid credential of a person or program, and the right where the guard can check it. */
export function personGuard(context: ControlPlaneContext): (access: PersonAccess) => RequestHandler {
  const noteKey = adminKeyUse(context);
  return (access) => async (request, response, next) => {
    const principal = await identify(request, context);
    setPrincipal(response, principal);
    noteKey(request, principal);
    if (principal.method === 'read-key' && request.method !== 'GET' && request.method !== 'HEAD')
      throw new Problem(403, 'this key can only read');
    const placeOf = CHECKED_HERE[access];
    if (placeOf !== undefined && access !== 'person')
      await requireRight(response, context, { right: access, namespace: placeOf(context) });
    next();
  };
}

async function identify(request: Request, context: ControlPlaneContext): Promise<Principal> {
  const { identifiers, adminKey, readKey, hasSignOn } = context;
  for (const identifier of identifiers) {
    const principal = await identifier.identify(request);
    if (principal !== null) return principal;
  }
  if (bearerOf(request) !== undefined) throw unauthorized('the token is of no issuer that is trusted here');
  if (adminKey === null && readKey === null && !hasSignOn) throw keysDisabled();
  throw hasSignOn
    ? new Problem(401, 'header X-Admin-Key, or Authorization: Bearer <token>, is required', {
        headers: { 'www-authenticate': 'X-Admin-Key, Bearer' },
        // The dashboard offers the sign-in where it is.
        extra: { signIn: LOGIN_PATH },
      })
    : new Problem(401, 'header X-Admin-Key is required', { headers: { 'www-authenticate': 'X-Admin-Key' } });
}

/** The namespaces that the caller may read; null: every namespace. */
export function readableBy(response: Response, rights: Rights): Promise<readonly string[] | null> {
  return namespacesWith(rights, principalOf(response), 'read');
}

/**
 * The namespaces of a list: `namespace`, or all that the caller may read; null: every namespace. Throws a 403 for a namespace that
 * the caller may not read, which reveals nothing about it: it need not exist.
 */
export async function wantedNamespaces(
  response: Response,
  rights: Rights,
  namespace: string | undefined,
): Promise<readonly string[] | null> {
  if (namespace === undefined) return readableBy(response, rights);
  await requireRight(response, rights, { right: 'read', namespace });
  return [namespace];
}

/** Verifies the credential of a request again, and returns what its caller may read now. Rejects if it is not valid any more. */
export async function readableStill(
  request: Request,
  context: ControlPlaneContext,
): Promise<readonly string[] | null> {
  return namespacesWith(context, await identify(request, context), 'read');
}

/** Throws a 403 if the caller does not have the right. `namespace` null: in every namespace. */
export async function requireRight(
  response: Response,
  { access }: Pick<ControlPlaneContext, 'access'>,
  { right, namespace }: { right: AccessRight; namespace: string | null },
): Promise<void> {
  if (await access.can(principalOf(response), right, namespace)) return;
  const where = namespace === null ? 'in all namespaces' : `in namespace ${namespace}`;
  throw new Problem(403, `the caller has no right to ${ABOUT[right]} ${where}`);
}
