import { expect, test } from '@jest/globals';
import { misbehavingEgress, someEgress } from '../../testing/fleet/egress-facts.ts';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import { parseWith } from '../shapes/field.ts';
import { matrixOf } from './matrix.ts';
import { egressSummaryOf } from './summary.ts';
import { type EgressSummary, egressReport } from '../shapes/egress.ts';

const manifest = aManifest({ tools: [{ name: 'search' }] });

const summaryOf = (egress: EgressFacts | null): EgressSummary => {
  const facts = someFacts({ egress });
  return egressSummaryOf(facts, matrixOf(manifest, facts).rows);
};

test('has no counts of a census without lanes and census', () => {
  expect(summaryOf(null)).toEqual({
    ...{ lanes: [], calls: 0, models: [], tools: [], undeclared: 0, undeclaredNames: [] },
    ...{ neverSeen: 0, misreported: 0 },
  });
});

test('names what was observed and what is not declared', () => {
  expect(summaryOf(misbehavingEgress())).toEqual({
    lanes: ['openai'],
    calls: 5,
    models: ['gpt-4o-2024-08-06', 'gpt-5'],
    tools: ['delete_all_orders'],
    undeclared: 3,
    undeclaredNames: ['model gpt-5', 'tool delete_all_orders', 'host 203.0.113.7:443'],
    neverSeen: 0,
    misreported: 1,
    unseenEgress: 1,
    unexplainedOpens: 4,
  });
});

test('sums calls by models and on MCP servers, largest first, and has no census without one', () => {
  const files = { toolsListed: [], hasListed: false, toolsCalled: new Map([['read', 3]]) };
  const mcpServers = new Map([['files', files]]);
  const toolsCalled = new Map([
    ['search', 4],
    ['read', 2],
  ]);
  const summary = summaryOf(someEgress({ mcpServers, toolsCalled }));
  expect(summary.tools).toEqual(['read', 'search']);
  expect(summary).not.toHaveProperty('unseenEgress');
});

test('has limits, and a heartbeat with it is accepted', () => {
  const many = new Map(Array.from({ length: 100 }, (_, index) => [`${index}${'x'.repeat(300)}`, 1]));
  const lanes = [...many.keys()];
  const summary = summaryOf(someEgress({ lanes, models: many, toolsCalled: many }));
  const lists = [summary.lanes, summary.models, summary.tools, summary.undeclaredNames];
  expect(lists.map((list) => list.length)).toEqual([32, 10, 20, 5]);
  expect(lists.flat().every((name) => name.length <= 200)).toBe(true);
  expect(parseWith(egressReport, summary)).toEqual({ ok: true, value: summary });
});
