import { expect, test } from '@jest/globals';
import type { EgressReport } from '../../../core/shapes/egress.ts';
import { EgressReports } from './egress-reports.ts';

const report = (lane: string): EgressReport => ({
  ...{ lanes: [lane], calls: 0, models: [], tools: [], undeclared: 0, undeclaredNames: [] },
  ...{ neverSeen: 0, misreported: 0, rows: [], census: { state: 'off', reason: null } },
});

test('has the last report of one instance of each agent', () => {
  const reports = new EgressReports();
  reports.put('team/shop', 'a', report('openai'));
  reports.put('team/shop', 'b', report('ollama'));
  expect(reports.of('team/shop', 'b')).toEqual(report('ollama'));
  expect(reports.of('team/shop', 'a')).toBeNull();
  expect(reports.of('team/other', 'b')).toBeNull();
  reports.put('team/shop', 'b', null);
  expect(reports.of('team/shop', 'b')).toBeNull();
});

test('removes the report that was not renewed for the longest time', () => {
  const length = JSON.stringify(report('openai')).length;
  const reports = new EgressReports(2 * length);
  for (const agent of ['a', 'b', 'a', 'c']) reports.put(agent, 'i', report('openai'));
  expect(['a', 'b', 'c'].filter((agent) => reports.of(agent, 'i') !== null)).toEqual(['a', 'c']);
  reports.put('d', 'i', { ...report('openai'), tools: ['x'.repeat(2 * length)] });
  expect(['a', 'b', 'c', 'd'].filter((agent) => reports.of(agent, 'i') !== null)).toEqual([]);
});
