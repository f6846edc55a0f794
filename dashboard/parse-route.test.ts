import { describe, expect, test } from '@jest/globals';
import { hrefOf, parseRoute, type Route } from './parse-route.ts';

describe('a route', () => {
  test.each<[string, Route]>([
    ['#/agents/default/support', { page: 'agent', namespace: 'default', name: 'support', tab: null }],
    [
      '#/agents/default/support/proofs',
      { page: 'agent', namespace: 'default', name: 'support', tab: 'proofs' },
    ],
    ['#/agents/a%2Fb/c%20d', { page: 'agent', namespace: 'a/b', name: 'c d', tab: null }],
    ['#/coverage', { page: 'coverage' }],
    ['#/organisation', { page: 'organisation' }],
    ['#/stops', { page: 'stops' }],
    ['#/rules', { page: 'rules', id: null }],
    ['#/rules/SEC-01', { page: 'rules', id: 'SEC-01' }],
  ])('%s is read and written', (hash, route) => {
    expect(parseRoute(hash)).toEqual(route);
    expect(hrefOf(route)).toBe(hash);
  });

  test.each(['', '#', '#/'])('%j is the fleet without filters', (hash) => {
    const route = parseRoute(hash);
    expect(route.page).toBe('fleet');
    expect(hrefOf(route)).toBe('#/');
  });

  test('the fleet keeps its filters', () => {
    const route = parseRoute('#/?q=a%3Fb&grade=D,F');
    expect(route.page === 'fleet' && [...route.query]).toEqual([
      ['q', 'a?b'],
      ['grade', 'D,F'],
    ]);
    expect(hrefOf(route)).toBe('#/?q=a%3Fb&grade=D,F');
  });

  test('the events keep their filters', () => {
    const route = parseRoute('#/events?user=a%7Cb&kind=tool');
    expect(route.page === 'events' && route.query.get('user')).toBe('a|b');
    expect(hrefOf(route)).toBe('#/events?user=a%7Cb&kind=tool');
  });

  test.each([
    '#/nothing',
    '#/events/more',
    '#/agents',
    '#/agents/default',
    '#/agents/a/b/c/d',
    '#/coverage/x',
    '#/stops/x',
    '#/rules/a/b',
    '#/%E0%A4%A',
  ])('%s is unknown', (hash) => expect(parseRoute(hash)).toEqual({ page: 'unknown' }));

  test('a link to an unknown page leads to the fleet', () => expect(hrefOf({ page: 'unknown' })).toBe('#/'));
});
