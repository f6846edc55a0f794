import { expect, test } from '@jest/globals';
import { createMetrics } from '../runtime/metrics.ts';
import { createFollowed } from './followed.ts';

const fullNamespaces = new Set<string>();
const STATES = {
  fresh: { isFresh: () => true, isForbidden: () => false, fullNamespaces },
  stale: { isFresh: () => false, isForbidden: () => false, fullNamespaces },
  forbidden: { isFresh: () => false, isForbidden: () => true, fullNamespaces },
};

type State = keyof typeof STATES;

test.each<[pods: State, rejections: State, unready: string | null]>([
  ['fresh', 'fresh', null],
  ['stale', 'fresh', 'caches not up to date: pods'],
  ['fresh', 'stale', 'caches not up to date: rejections'],
  ['stale', 'stale', 'caches not up to date: pods, rejections'],
  // The operator cannot work without pods; without Events it only cannot report rejections.
  ['forbidden', 'fresh', 'caches not up to date: pods'],
  ['fresh', 'forbidden', null],
])('pods %s, rejections %s: %p', (pods, rejections, unready) => {
  const metrics = createMetrics();
  const followed = createFollowed({ pods: STATES[pods], rejections: STATES[rejections] }, metrics);
  expect(followed.unready()).toBe(unready);
  const value = (state: State) => (state === 'fresh' ? 1 : 0);
  expect(metrics.render()).toContain(`platform_operator_followed{informer="pods"} ${value(pods)}\n`);
  expect(metrics.render()).toContain(
    `platform_operator_followed{informer="rejections"} ${value(rejections)}\n`,
  );
});

test('counts the namespaces that an informer has no memory for', () => {
  const metrics = createMetrics();
  createFollowed({ pods: { ...STATES.fresh, fullNamespaces: new Set(['a', 'b']) } }, metrics);
  expect(metrics.render()).toContain('platform_operator_incomplete_namespaces{informer="pods"} 2\n');
});
