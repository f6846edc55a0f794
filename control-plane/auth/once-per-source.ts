import type { Clock } from '../../runtime/clock.ts';

/** Sources that are remembered; further ones stay silent until one of these is forgotten. */
const MAX_SOURCES = 1_000;

/**
 * Tells whether a source is due, at most once per `everyMs` each. What a stranger can repeat must not fill the log, and
 * neither may many strangers.
 */
export function oncePerSource(options: { clock: Clock; everyMs: number }): (source: string) => boolean {
  const { clock, everyMs } = options;
  // In the order of their times, so that the oldest come first.
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
