import { describe, expect, test } from '@jest/globals';
import { eventsPath, filtersIn, fromInput, queryOf, toInput } from './event-filters.ts';

describe('the filters of events', () => {
  test('are read from the address and written to it', () => {
    const query =
      'namespace=retail&agent=shop&user=auth0%7C5f7c&tool=a%26b&outcome=deny&kind=tool&since=2026-03-01T00%3A00%3A00.000Z';
    expect(filtersIn(new URLSearchParams(`${query}&until=&other=1`))).toEqual({
      ...{
        namespace: 'retail',
        agent: 'shop',
        user: 'auth0|5f7c',
        tool: 'a&b',
        outcome: 'deny',
        kind: 'tool',
      },
      since: '2026-03-01T00:00:00.000Z',
    });
    expect(queryOf(filtersIn(new URLSearchParams(query))).toString()).toBe(query);
  });

  test('that are empty are left out of the request', () => {
    expect(eventsPath({ user: '', tool: 'x' })).toBe('/api/v1/audit-events?tool=x&limit=100');
    expect(eventsPath({})).toBe('/api/v1/audit-events?limit=100');
  });

  test('have local times in inputs', () => {
    const iso = new Date(2026, 2, 1, 9, 30).toISOString();
    expect(toInput(iso)).toBe('2026-03-01T09:30');
    expect(fromInput('2026-03-01T09:30')).toBe(iso);
    expect([toInput(undefined), toInput('soon'), fromInput('')]).toEqual(['', '', '']);
  });
});
