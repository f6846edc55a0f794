import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { Problem } from '../../runtime/problem.ts';
import type { Secret } from '../../runtime/secret.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Lets a request pass that carries the admin key in `X-Admin-Key`. Without a configured key every admin route is 503:
 * a default installation must not be open, and must not look broken either. Missing 401, wrong 403.
 */
export function requireAdminKey(adminKey: Secret | null): RequestHandler {
  // Digests have one length, so that the comparison takes the same time whatever was sent.
  const wanted = adminKey === null ? null : digest(adminKey.reveal());
  return (request, _response, next) => {
    if (wanted === null)
      throw new Problem(503, 'admin routes are off: PLATFORM_ADMIN_KEY of the control plane is not set');
    const given = request.get('x-admin-key');
    if (given === undefined || given === '')
      throw new Problem(401, 'this route needs the header X-Admin-Key', {
        headers: { 'www-authenticate': 'X-Admin-Key' },
      });
    if (!timingSafeEqual(digest(given), wanted)) throw new Problem(403, 'X-Admin-Key is wrong');
    next();
  };
}
