import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { Problem } from '../../runtime/problem.ts';
import type { Secret } from '../../runtime/secret.ts';
import { oncePerSource } from './once-per-source.ts';
import { sourceOf } from './source-of.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** How often the log names a source of wrong admin keys, in milliseconds. */
const WARN_MS = 60_000;

export interface AdminKeyOptions {
  /** null: none is configured. */
  adminKey: Secret | null;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/**
 * Lets a request pass that carries the admin key in `X-Admin-Key`. Without a configured key every admin route is 503:
 * a default installation must not be open, and must not look broken either. Missing 401, wrong 403. Wrong keys are counted,
 * and logged once per minute and source.
 */
export function requireAdminKey({ adminKey, clock, logger, metrics }: AdminKeyOptions): RequestHandler {
  // Digests have one length, so that the comparison takes the same time whatever was sent.
  const wanted = adminKey === null ? null : digest(adminKey.reveal());
  const wrongKeys = metrics.counter(
    'platform_control_plane_wrong_admin_keys_total',
    'Requests with a wrong X-Admin-Key.',
  );
  const isWarningDue = oncePerSource({ clock, everyMs: WARN_MS });
  return (request, _response, next) => {
    if (wanted === null)
      throw new Problem(503, 'admin routes are off: PLATFORM_ADMIN_KEY of the control plane is not set');
    const given = request.get('x-admin-key');
    if (given === undefined || given === '')
      throw new Problem(401, 'this route needs the header X-Admin-Key', {
        headers: { 'www-authenticate': 'X-Admin-Key' },
      });
    if (!timingSafeEqual(digest(given), wanted)) {
      wrongKeys.add();
      const source = sourceOf(request);
      if (isWarningDue(source)) logger.warn('wrong admin key', { source, path: request.path });
      throw new Problem(403, 'X-Admin-Key is wrong');
    }
    next();
  };
}
