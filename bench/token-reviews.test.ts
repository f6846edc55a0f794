import { expect, test } from '@jest/globals';
import { createMetrics } from '../runtime/metrics.ts';
import { parseReviews, renderReviews, reviewsBetween } from './token-reviews.ts';

function exposed(reviews: readonly ['request' | 'renewal', number][]): string {
  const metrics = createMetrics();
  const name = 'platform_control_plane_token_review_seconds';
  const seconds = metrics.histogram(name, 'Time.', [0.01, 0.05, 0.1]);
  for (const [use, each] of reviews) seconds.observe(each, { use });
  return metrics.render();
}

const NONE = { count: 0, totalMs: 0, slow: 0 };

test('the reviews of all replicas are added', () => {
  const texts = [
    exposed([
      ['request', 0.02],
      ['renewal', 0.005],
      ['renewal', 0.2],
    ]),
    exposed([['renewal', 0.075]]),
  ];
  expect(parseReviews(texts)).toEqual({
    request: { count: 1, totalMs: 20, slow: 0 },
    renewal: { count: 3, totalMs: expect.closeTo(280), slow: 2 },
  });
});

test('a server without these metrics has none', () => {
  const none = parseReviews(['{"title":"no route /metrics"}', exposed([])]);
  expect(none).toEqual({ request: NONE, renewal: NONE });
  expect(renderReviews(none)).toEqual([]);
});

test('the report has the reviews of the measurement, by use', () => {
  const before = parseReviews([exposed([['request', 0.2]])]);
  const after = parseReviews([
    exposed([
      ['request', 0.2],
      ['renewal', 0.02],
      ['renewal', 0.06],
    ]),
  ]);
  expect(renderReviews(reviewsBetween(before, after))).toEqual([
    'no TokenReviews that heartbeats waited for',
    '2 TokenReviews in the background: mean 40.0 ms, 1 above 50 ms',
  ]);
});
