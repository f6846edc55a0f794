import { send, type Endpoint } from './heartbeats.ts';

const NAME = 'platform_control_plane_token_review_seconds';
/** A review above this time counts as slow, in milliseconds. It is a bound of the histogram. */
const SLOW_MS = 50;

/** TokenReviews of all replicas, with the reads of the pods. */
interface Reviews {
  count: number;
  totalMs: number;
  slow: number;
}

/** By use: a heartbeat waited for the review, or the control plane renewed a result in the background. */
export type ReviewsByUse = Record<'request' | 'renewal', Reviews>;

const USES: readonly [use: keyof ReviewsByUse, text: string][] = [
  ['request', 'TokenReviews that heartbeats waited for'],
  ['renewal', 'TokenReviews in the background'],
];

/** Reads the reviews of all replicas since their start. All are 0 for a server without these metrics. */
export async function readReviews(endpoints: readonly Endpoint[]): Promise<ReviewsByUse> {
  const texts = await Promise.all(endpoints.map(async (each) => (await send(each, '/metrics')).body));
  return parseReviews(texts);
}

/** Sums the reviews in the metrics of all replicas. */
export function parseReviews(texts: readonly string[]): ReviewsByUse {
  const value = (sample: string): number =>
    texts
      .flatMap((text) => text.split('\n'))
      .filter((line) => line.startsWith(`${NAME}_${sample} `))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  const of = (use: keyof ReviewsByUse): Reviews => ({
    count: value(`count{use="${use}"}`),
    totalMs: 1_000 * value(`sum{use="${use}"}`),
    slow: value(`count{use="${use}"}`) - value(`bucket{use="${use}",le="${SLOW_MS / 1_000}"}`),
  });
  return { request: of('request'), renewal: of('renewal') };
}

/** The reviews from `before` to `after`. */
export function reviewsBetween(before: ReviewsByUse, after: ReviewsByUse): ReviewsByUse {
  const of = (use: keyof ReviewsByUse): Reviews => ({
    count: after[use].count - before[use].count,
    totalMs: after[use].totalMs - before[use].totalMs,
    slow: after[use].slow - before[use].slow,
  });
  return { request: of('request'), renewal: of('renewal') };
}

/** A line for each use, if there were any reviews. */
export function renderReviews(reviews: ReviewsByUse): string[] {
  if (USES.every(([use]) => reviews[use].count === 0)) return [];
  return USES.map(([use, text]) => {
    const { count, totalMs, slow } = reviews[use];
    if (count === 0) return `no ${text}`;
    return `${count} ${text}: mean ${(totalMs / count).toFixed(1)} ms, ${slow} above ${SLOW_MS} ms`;
  });
}
