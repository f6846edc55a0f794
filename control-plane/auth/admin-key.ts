import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext } from '../context.ts';
import { setPrincipal } from './principal.ts';
import { oncePerSource, sourceOf } from './once-per-source.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Minimum time between two warnings about wrong admin keys from one source, in milliseconds. */
const WARN_MS = 60_000;

/**
 * Requires the admin key in `X-Admin-Key`: 401 if the header is missing, 403 if the key is wrong. Without a configured key
 * every admin route returns 503, because a default installation must be neither open nor look broken. Wrong keys are
 * counted, and logged at most once per minute and source.
 */
export function requireAdminKey({ adminKey, clock, logger, metrics }: ControlPlaneContext): RequestHandler {
  // Digests have equal length, so the comparison takes the same time for every input.
  const wanted = adminKey === null ? null : digest(adminKey.reveal());
  const wrongKeys = metrics.counter(
    'platform_control_plane_wrong_admin_keys_total',
    'Requests with a wrong X-Admin-Key.',
  );
  const isWarningDue = oncePerSource({ clock, everyMs: WARN_MS });
  return (request, response, next) => {
    if (wanted === null)
      throw new Problem(503, 'admin routes are disabled: PLATFORM_ADMIN_KEY is not set on the control plane');
    const given = request.get('x-admin-key');
    if (given === undefined || given === '')
      throw new Problem(401, 'header X-Admin-Key is required', {
        headers: { 'www-authenticate': 'X-Admin-Key' },
      });
    if (!timingSafeEqual(digest(given), wanted)) {
      wrongKeys.add();
      const source = sourceOf(request);
      if (isWarningDue(source)) logger.warn('wrong admin key', { source, path: request.path });
      throw new Problem(403, 'X-Admin-Key is wrong');
    }
    setPrincipal(response, { method: 'admin-key', groups: [], overage: false });
    next();
  };
}
