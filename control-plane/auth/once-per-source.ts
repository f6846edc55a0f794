import type { Request } from 'express';
import type { Clock } from '../../runtime/clock.ts';

/** Maximum number of remembered sources. A further source is not due until a remembered source expires. */
const MAX_SOURCES = 1_000;

/**
 * Returns whether a source is due: at most once per `everyMs` for each source. Neither one repeating client nor many
 * clients can fill the log.
 */
export function oncePerSource(options: { clock: Clock; everyMs: number }): (source: string) => boolean {
  const { clock, everyMs } = options;
  // In order of time, oldest first.
  const sources = new Map<string, number>();
  return (source) => {
    const nowMs = clock.monotonicMs();
    for (const [known, atMs] of sources) {
      if (nowMs - atMs < everyMs) break;
      sources.delete(known);
    }
    if (sources.has(source) || sources.size >= MAX_SOURCES) return false;
    sources.set(source, nowMs);
    return true;
  };
}

/** The remote address of a request. An IPv4 address has the same form on a dual-stack and on an IPv4-only listener. */
export function sourceOf(request: Request): string {
  return (request.socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '');
}
