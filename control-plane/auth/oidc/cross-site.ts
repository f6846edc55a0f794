import type { Request } from 'express';
import { Problem } from '../../../runtime/problem.ts';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses a request with a cookie that a page of another origin sent. `SameSite=Strict` is not enough: another port of the same
 * host is the same site. A browser without `Sec-Fetch-Site` sends `Origin`.
 */
export function refuseCrossSite(request: Request, publicUrl: string): void {
  if (SAFE_METHODS.has(request.method)) return;
  const site = request.get('sec-fetch-site');
  const isOwn = site === undefined ? request.get('origin') === publicUrl : site === 'same-origin';
  if (!isOwn)
    throw new Problem(403, 'a page of another site sent the request', { title: 'cross-site request' });
}
