import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import type { Metrics } from '../../runtime/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Problem } from '../../runtime/problem.ts';
import type { Secret } from '../../runtime/secret.ts';
import { oncePerSource, sourceOf } from './once-per-source.ts';
import type { Identifier, Principal } from './principal.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Minimum time between two log messages about keys from one source, in milliseconds. */
const LOG_MS = 60_000;

export interface KeyOptions {
  /** null: not configured. */
  adminKey: Secret | null;
  readKey: Secret | null;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/** Without a configured key, a default installation must be neither open nor look broken. */
export const keysDisabled = (): Problem =>
  new Problem(503, 'admin routes are disabled: PLATFORM_ADMIN_KEY is not set on the control plane');

/**
 * The admin key or the read key in `X-Admin-Key`: 403 if it is neither. Wrong keys are counted, and logged at most once per minute
 * and source.
 */
export function keyIdentifier({ adminKey, readKey, clock, logger, metrics }: KeyOptions): Identifier {
  // Digests have equal length, so the comparison takes the same time for every input.
  const keys = (
    [
      ['admin-key', adminKey],
      ['read-key', readKey],
    ] as const
  ).flatMap(([method, key]) => (key === null ? [] : [{ method, wanted: digest(key.reveal()) }]));
  const wrongKeys = metrics.counter(
    'platform_control_plane_wrong_admin_keys_total',
    'Requests with a wrong X-Admin-Key.',
  );
  const isWarningDue = oncePerSource({ clock, everyMs: LOG_MS });
  const ownerOf = (request: Request): Principal | null => {
    const given = request.get('x-admin-key');
    if (given === undefined || given === '') return null;
    if (keys.length === 0) throw keysDisabled();
    const hash = digest(given);
    const [found] = keys.filter(({ wanted }) => timingSafeEqual(hash, wanted));
    if (found !== undefined) return { method: found.method, user: '', groups: [], overage: false };
    wrongKeys.add();
    const source = sourceOf(request);
    if (isWarningDue(source)) logger.warn('wrong admin key', { source, path: request.path });
    throw new Problem(403, 'X-Admin-Key is wrong');
  };
  return { identify: (request) => new Promise((resolve) => resolve(ownerOf(request))) };
}

/**
 * Counts the requests with the admin key, and logs them at most once per minute and source: where people sign in, it is for
 * emergencies.
 */
export function adminKeyUse({
  clock,
  logger,
  metrics,
}: KeyOptions): (request: Request, who: Principal) => void {
  const uses = metrics.counter(
    'platform_control_plane_admin_key_requests_total',
    'Requests with the admin key.',
  );
  const isDue = oncePerSource({ clock, everyMs: LOG_MS });
  return (request, { method }) => {
    if (method !== 'admin-key') return;
    uses.add();
    const source = sourceOf(request);
    if (isDue(source)) logger.info('admin key used', { source, path: request.path });
  };
}
