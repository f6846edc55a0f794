import type { EgressFacts } from '../../core/facts/egress-facts.ts';

/** The facts of lanes that observed nothing. */
export function someEgress(overrides: Partial<EgressFacts> = {}): EgressFacts {
  return {
    lanes: ['openai'],
    usedLanes: new Set(),
    models: new Map(),
    toolsOffered: new Map(),
    toolsCalled: new Map(),
    toolsExecuted: new Map(),
    mcpServers: new Map(),
    tokens: { prompt: 0, completion: 0, unknownCalls: 0 },
    reportedTokens: null,
    hosts: new Map(),
    census: null,
    ...overrides,
  };
}

/** The facts of an agent that calls an undeclared model and an undeclared tool, and reports too few tokens. */
export function misbehavingEgress(): EgressFacts {
  return someEgress({
    usedLanes: new Set(['openai']),
    models: new Map([
      ['gpt-4o-2024-08-06', 3],
      ['gpt-5', 2],
    ]),
    toolsOffered: new Map([
      ['search', 5],
      ['delete_all_orders', 5],
    ]),
    toolsCalled: new Map([['delete_all_orders', 1]]),
    tokens: { prompt: 1000, completion: 100, unknownCalls: 0 },
    reportedTokens: { prompt: 500, completion: 100 },
    hosts: new Map([['api.openai.com', 5]]),
    census: {
      unseenEgress: [
        {
          ...{ address: '203.0.113.7', port: 443, name: null, verdict: 'undeclared' as const, count: 2 },
          ...{ firstSeen: '2026-03-01T11:00:00.000Z', lastSeen: '2026-03-01T11:30:00.000Z' },
        },
      ],
      unexplainedOpens: 4,
    },
  });
}
