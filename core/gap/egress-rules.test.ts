import { describe, expect, test } from '@jest/globals';
import { misbehavingEgress, someEgress } from '../../testing/fleet/egress-facts.ts';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
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

  test('counts what the agent itself reports and does not declare, once per item', () => {
    const reported = { tools: new Set(['drop', 'search']), models: new Set(['gpt-5', 'gpt-4o']) };
    const found = (facts: Partial<Facts>): string[] =>
      assess(manifest, someFacts({ reported, ...facts })).issues.map(
        ({ severity, property }) => `${severity} ${property}`,
      );
    const both = ['high tools.undeclared.drop', 'high model.undeclared.gpt-5'];
    expect(found({})).toEqual(both);
    expect(found({ egress: someEgress({ models: new Map([['gpt-4o', 1]]) }) })).toEqual(both);
    const toolsCalled = new Map([['drop', 1]]);
    expect(found({ egress: someEgress({ models: new Map([['gpt-5', 1]]), toolsCalled }) })).toEqual([
      'critical tools.undeclared.drop',
      'high model.undeclared.gpt-5',
    ]);
  });

  test('counts a model once that a lane observes, and that reports name with its date', () => {
    const models = new Set(['gpt-5-2025-08-07', 'gpt-5-2025-10-01']);
    const facts = someFacts({
      reported: { tools: null, models },
      egress: someEgress({ models: new Map([['gpt-5', 1]]) }),
    });
    expect(assess(manifest, facts).issues.map(({ property }) => property)).toEqual([
      'model.undeclared.gpt-5',
    ]);
  });

  test('does not change for a response that repeats the model of its request', () => {
    const reported = { tools: null, models: null, requestedModels: new Set(['gpt-5']) };
    expect(assess(manifest, someFacts({ reported })).score).toBe(100);
  });

  test('does not change for a reported tool that an MCP server with an unknown list may have', () => {
    const withServer = aManifest({
      guardrails: { input: [{ type: 'pii-detector' }] },
      mcp: { servers: [{ name: 'files', transport: 'stdio', command: 'files' }] },
    });
    const facts = someFacts({ reported: { tools: new Set(['read']), models: null } });
    expect(assess(withServer, facts).score).toBe(100);
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

describe('an agent that does not use its lane', () => {
  const reported = { tools: null, models: new Set(['gpt-4o']), calls: new Map([['gpt-4o', 3]]) };
  const found = (egress: EgressFacts, calls = reported.calls): string[] =>
    assess(manifest, someFacts({ egress, reported: { ...reported, calls } })).issues.map(
      ({ severity, property, description, recommendation }) =>
        [severity, property, description, recommendation].join('; '),
    );

  test('has an issue that says what to do', () => {
    expect(found(someEgress())).toEqual([
      'medium; egress.lane-unused.openai; The agent reports 3 calls of the model gpt-4o, and its egress lane openai had no call since the sidecar started.; Let the client use the lane openai: remove a base URL from the code, or set it from OPENAI_BASE_URL or OPENAI_API_BASE. For a client that reads no variable, remove the lane and use platform.io/egress-connect.',
    ]);
    expect(found(someEgress({ lanes: ['compatible:gw'] }))).toEqual([
      expect.stringContaining('or set it from the variable of the annotation platform.io/egress-lanes'),
    ]);
  });

  test('has none after a call on the lane, below three reported calls, and without a lane of the vendor', () => {
    expect(found(someEgress({ usedLanes: new Set(['openai']) }))).toEqual([]);
    expect(found(someEgress(), new Map([['gpt-4o', 2]]))).toEqual([]);
    expect(found(someEgress({ lanes: ['anthropic'] }))).toEqual([]);
  });

  test('names the lane that its connections bypass', () => {
    const [unseen] = misbehavingEgress().census?.unseenEgress ?? [];
    if (unseen === undefined) throw new Error('there is no address');
    const past = { ...unseen, name: 'api.openai.com', lanes: ['openai'] };
    const census = { unseenEgress: [past], unexplainedOpens: 0 };
    expect(found(someEgress({ usedLanes: new Set(['openai']), census }))).toEqual([
      'low; egress.unseen; The agent has connections that no lane, no declared host and no socket of the sidecar explains: 203.0.113.7:443 (api.openai.com, past lane openai).; Send the calls through the lane: let the client read the base URL from its variable, and remove a base URL from the code. Declare a host in spec.egress.hosts if the pod must connect to it directly.',
    ]);
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
