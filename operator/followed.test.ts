import { expect, test } from '@jest/globals';
import { createMetrics } from '../runtime/metrics.ts';
import { createFollowed } from './followed.ts';

const STATES = {
  fresh: { isFresh: () => true, isForbidden: () => false },
  away: { isFresh: () => false, isForbidden: () => false },
  forbidden: { isFresh: () => false, isForbidden: () => true },
};

type State = keyof typeof STATES;

test.each<[pods: State, refusals: State, unready: string | null]>([
  ['fresh', 'fresh', null],
  ['away', 'fresh', 'the API server is not heard: pods'],
  ['fresh', 'away', 'the API server is not heard: refusals'],
  ['away', 'away', 'the API server is not heard: pods, refusals'],
  // Nothing works without pods; without Events only their owners are told nothing.
  ['forbidden', 'fresh', 'the API server is not heard: pods'],
  ['fresh', 'forbidden', null],
])('pods %s, refusals %s: %p', (pods, refusals, unready) => {
  const metrics = createMetrics();
  const followed = createFollowed({ pods: STATES[pods], refusals: STATES[refusals] }, metrics);
  expect(followed.unready()).toBe(unready);
  const value = (state: State) => (state === 'fresh' ? 1 : 0);
  expect(metrics.render()).toContain(`platform_operator_followed{informer="pods"} ${value(pods)}\n`);
  expect(metrics.render()).toContain(`platform_operator_followed{informer="refusals"} ${value(refusals)}\n`);
});
