import { describe, expect, test } from '@jest/globals';
import { misbehavingEgress, someEgress } from '../../testing/egress-facts.ts';
import { aManifest, someFacts } from '../../testing/facts.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import type { Facts } from '../facts/facts.ts';
import { align } from './align.ts';
import { assess } from './assess.ts';

const manifest = aManifest({
  tools: [{ name: 'search' }],
  guardrails: { input: [{ type: 'pii-detector' }] },
});
const factsOf = (egress: EgressFacts | null): Facts => someFacts({ egress });
const issuesOf = (egress: EgressFacts | null): string[] => {
  const { score, issues } = assess(manifest, factsOf(egress));
  return [String(score), ...issues.map(({ severity, property }) => `${severity} ${property}`)];
};

describe('the score', () => {
  test('of an agent that does what it does not declare', () => {
    expect(issuesOf(misbehavingEgress())).toEqual([
      '35',
      'critical tools.undeclared.delete_all_orders',
      'high model.undeclared.gpt-5',
      'medium tokens.misreported',
      'low egress.unseen',
    ]);
  });

  test('does not change without lanes and census', () => {
    const { egress: _, ...without } = someFacts();
    expect(assess(manifest, factsOf(null))).toEqual(assess(manifest, without));
    expect(issuesOf(null)).toEqual(['100']);
  });

  test('does not change for reports: only observations count', () => {
    const reported = { tools: new Set(['drop']), models: new Set(['gpt-5']) };
    expect(assess(manifest, someFacts({ reported })).score).toBe(100);
    expect(
      assess(manifest, someFacts({ reported, egress: someEgress({ models: new Map([['gpt-4o', 1]]) }) }))
        .score,
    ).toBe(100);
  });

  test('does not change for declared items that were never seen', () => {
    expect(issuesOf(someEgress({ models: new Map([['gpt-4o', 1]]) }))).toEqual(['100']);
    expect(issuesOf(someEgress())).toEqual(['100']);
  });

  test('does not change for addresses that are not known, and for unexplained connections', () => {
    const [unseen] = misbehavingEgress().census?.unseenEgress ?? [];
    const unseenEgress = unseen === undefined ? [] : [{ ...unseen, verdict: 'unknown' as const }];
    expect(unseenEgress).toHaveLength(1);
    expect(issuesOf(someEgress({ census: { unseenEgress, unexplainedOpens: 99 } }))).toEqual(['100']);
  });
});

test('shape B has the three columns', () => {
  const egress = { ...misbehavingEgress(), toolsExecuted: new Map([['delete_all_orders', 1]]) };
  const reported = { tools: new Set<string>(), models: new Set(['gpt-5']) };
  const { gaps } = align(manifest, someFacts({ egress, reported }));
  expect(
    gaps.map(({ field, declared, reported: said, observed }) => [field, declared, said, observed]),
  ).toEqual([
    ['spec.tools', 'not declared', 'not reported', 'offered 5 times, called once, executed once'],
    ['spec.model.id', 'gpt-4o', 'reported', 'gpt-5, requested 2 times'],
    [
      'spec.model',
      'the usage of the vendor',
      '500 prompt and 100 completion tokens',
      '1000 prompt and 100 completion tokens',
    ],
    ['spec.egress.hosts', 'not declared', null, '203.0.113.7:443'],
  ]);
});

test('the other issues have no third column', () => {
  const { gaps } = align(aManifest(), someFacts());
  expect(gaps).toHaveLength(1);
  expect(gaps[0]).not.toHaveProperty('reported');
});

test('unseen addresses are listed with their names, at most five', () => {
  const [unseen] = misbehavingEgress().census?.unseenEgress ?? [];
  if (unseen === undefined) throw new Error('there is no address');
  const named = { ...unseen, address: '2001:db8::1', name: 'evil.example' };
  const unseenEgress = [named, ...Array.from({ length: 6 }, () => unseen)];
  const { gaps } = align(manifest, factsOf(someEgress({ census: { unseenEgress, unexplainedOpens: 0 } })));
  expect(gaps[0]?.observed).toBe(
    '[2001:db8::1]:443 (evil.example), 203.0.113.7:443, 203.0.113.7:443, 203.0.113.7:443, 203.0.113.7:443 and 2 more',
  );
});

test('a tool that was called on an MCP server names the calls', () => {
  const mcpServers = new Map([
    ['evil', { toolsListed: ['drop'], hasListed: true, toolsCalled: new Map([['drop', 2]]) }],
  ]);
  const { gaps } = align(manifest, factsOf(someEgress({ lanes: ['mcp:evil'], mcpServers })));
  expect(gaps.map(({ observed }) => observed)).toEqual(['called on an MCP server 2 times']);
});
