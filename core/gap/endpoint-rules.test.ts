import { describe, expect, test } from '@jest/globals';
import { aManifest, someFacts } from '../../testing/facts.ts';
import type { AgentCardAnswer, Facts } from '../facts/facts.ts';
import type { Api } from '../manifest/manifest.ts';
import { align } from './align.ts';
import { assess } from './assess.ts';

const PII = { guardrails: { input: [{ type: 'pii-detector' as const }] } };
const ok = { answered: true, status: 200, latencyMs: 1 } as const;
const gone = { answered: true, status: 404, latencyMs: 1 } as const;
const none = { answered: false, reason: 'connection refused' } as const;
const aCard = (tools: string[] | null = null): AgentCardAnswer => ({ ...ok, isCard: true, tools });
const noCard: AgentCardAnswer = { ...gone, isCard: false, tools: null };

const found = (facts: Partial<Facts>, api: Api = {}): { texts: string[]; gaps: unknown[] } => {
  const manifest = aManifest({ ...PII, api });
  const both = someFacts(facts);
  return {
    texts: assess(manifest, both).issues.map(({ description }) => description),
    gaps: align(manifest, both).gaps.map(({ field, declared, observed }) => [field, declared, observed]),
  };
};

describe('healthcheckable', () => {
  test.each<[string, Facts['health'], Api, string, unknown[]]>([
    [
      'names the default path',
      gone,
      {},
      'GET /health of the agent answers 404.',
      ['spec.api.healthEndpoint', 'GET /health', 'HTTP 404'],
    ],
    [
      'names the declared path that was probed',
      { ...none, path: '/livez' },
      { healthEndpoint: '/livez' },
      'GET /livez of the agent gives no answer (connection refused).',
      ['spec.api.healthEndpoint', 'GET /livez', null],
    ],
    [
      'names the path behind a reference',
      { ...gone, path: '/ready' },
      { healthEndpoint: '$env:READY' },
      'GET /ready of the agent answers 404.',
      ['spec.api.healthEndpoint', 'GET $env:READY', 'HTTP 404'],
    ],
    [
      'names the path that was probed in place of a declared one, and why',
      { ...gone, path: '/health', unresolved: 'the variable READY is not set' },
      { healthEndpoint: '$env:READY' },
      'GET /health of the agent answers 404. The path that spec.api.healthEndpoint declares was not probed: the variable READY is not set.',
      ['spec.api.healthEndpoint', 'GET $env:READY', 'HTTP 404'],
    ],
  ])('%s', (_title, health, api, ...[text, gap]) => {
    expect(found({ health }, api)).toEqual({ texts: [text], gaps: [gap] });
  });

  test('says which path to answer', () => {
    const manifest = aManifest({ ...PII, api: { healthEndpoint: '/livez' } });
    const { issues } = assess(manifest, someFacts({ health: { ...gone, path: '/livez' } }));
    expect(issues[0]?.recommendation).toBe(
      "Answer GET /livez on the agent's port with a 2xx status while the agent can serve.",
    );
  });

  test('is not found where the declared path answers', () => {
    expect(found({ health: { ...ok, path: '/livez' } }, { healthEndpoint: '/livez' }).texts).toEqual([]);
  });
});

describe('discoverable', () => {
  const NO_CARD = 'and GET /.well-known/agent-card.json gives no agent card.';
  const FIELD = 'spec.api.capabilitiesEndpoint';
  test.each<[string, Partial<Facts>, Api, string, unknown[]]>([
    [
      'names the default path',
      { capabilities: gone, agentCard: noCard },
      {},
      `GET /capabilities of the agent answers 404, ${NO_CARD}`,
      [FIELD, 'GET /capabilities', 'HTTP 404'],
    ],
    [
      'names the declared path',
      { capabilities: { ...none, path: '/api/tools' }, agentCard: noCard },
      { capabilitiesEndpoint: '/api/tools' },
      `GET /api/tools of the agent gives no answer (connection refused), ${NO_CARD}`,
      [FIELD, 'GET /api/tools', null],
    ],
    [
      'names the reason why the declared path was not probed',
      { capabilities: { ...gone, path: '/capabilities', unresolved: 'CARD is not set' }, agentCard: noCard },
      { capabilitiesEndpoint: '$env:CARD' },
      `GET /capabilities of the agent answers 404, ${NO_CARD} The path that ${FIELD} declares was not probed: CARD is not set.`,
      [FIELD, 'GET $env:CARD', 'HTTP 404'],
    ],
    [
      'is found for an HTML page',
      { capabilities: { ...ok, isHtml: true, tools: null }, agentCard: noCard },
      {},
      `GET /capabilities of the agent answers with an HTML page, not with a card, ${NO_CARD}`,
      [FIELD, 'GET /capabilities', 'HTML page'],
    ],
  ])('%s', (_title, facts, api, ...[text, gap]) => {
    expect(found(facts, api)).toEqual({ texts: [text], gaps: [gap] });
  });

  test.each<[string, Partial<Facts>]>([
    ['404, and a card', { capabilities: gone, agentCard: aCard() }],
    ['an HTML page, and a card', { capabilities: { ...ok, isHtml: true }, agentCard: aCard() }],
    ['no answer, and a card', { capabilities: none, agentCard: aCard() }],
    ['2xx, and no card', { capabilities: ok, agentCard: noCard }],
  ])('is not found with %s', (_title, facts) => {
    expect(found(facts).texts).toEqual([]);
  });
});

describe('discoverable.<tool>', () => {
  const missing = (facts: Partial<Facts>): string[] =>
    assess(aManifest({ ...PII, tools: [{ name: 'search' }, { name: 'pay' }] }), someFacts(facts)).issues.map(
      ({ property, description }) => `${property}: ${description}`,
    );
  const PAY_AT = (path: string): string =>
    `discoverable.pay: The tool pay is declared, but GET ${path} does not list it.`;

  test.each<[string, Partial<Facts>, string[]]>([
    [
      'the list of /capabilities counts, also next to a card',
      { capabilities: { ...ok, tools: ['search'] }, agentCard: aCard(['search', 'pay']) },
      [PAY_AT('/capabilities')],
    ],
    [
      'the declared path is named',
      { capabilities: { ...ok, path: '/api/tools', tools: ['search'] } },
      [PAY_AT('/api/tools')],
    ],
    [
      'the skills of the card count where /capabilities has no list',
      { capabilities: { ...ok, tools: null }, agentCard: aCard(['search']) },
      [PAY_AT('/.well-known/agent-card.json')],
    ],
    [
      'and where /capabilities is missing',
      { capabilities: gone, agentCard: aCard(['search']) },
      [PAY_AT('/.well-known/agent-card.json')],
    ],
    ['all skills are there', { capabilities: gone, agentCard: aCard(['pay', 'search']) }, []],
    ['a card without skills is not a list', { capabilities: gone, agentCard: aCard(null) }, []],
    ['what is not a card has no list', { capabilities: ok, agentCard: { ...noCard, tools: ['x'] } }, []],
  ])('%s', (_title, facts, expected) => {
    expect(missing(facts)).toEqual(expected);
  });
});
