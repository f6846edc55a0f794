import { describe, expect, test } from '@jest/globals';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import type { AgentCardResult, Facts } from '../facts/facts.ts';
import type { Api } from '../manifest/manifest.ts';
import { align } from './align.ts';
import { assess } from './assess.ts';

const PII = { guardrails: { input: [{ type: 'pii-detector' as const }] } };
const ok = { answered: true, status: 200, latencyMs: 1 } as const;
const gone = { answered: true, status: 404, latencyMs: 1 } as const;
const none = { answered: false, reason: 'connection refused' } as const;
const aCard = (tools: string[] | null = null): AgentCardResult => ({ ...ok, isCard: true, tools });
const noCard: AgentCardResult = { ...gone, isCard: false, tools: null };

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
      'GET /health on the agent returned 404.',
      ['spec.api.healthEndpoint', 'GET /health', 'HTTP 404'],
    ],
    [
      'names the declared path that was probed',
      { ...none, path: '/livez' },
      { healthEndpoint: '/livez' },
      'GET /livez on the agent failed (connection refused).',
      ['spec.api.healthEndpoint', 'GET /livez', null],
    ],
    [
      'names the path behind a reference',
      { ...gone, path: '/ready' },
      { healthEndpoint: '$env:READY' },
      'GET /ready on the agent returned 404.',
      ['spec.api.healthEndpoint', 'GET $env:READY', 'HTTP 404'],
    ],
    [
      'names the default path that was probed instead of the declared one, with the reason',
      { ...gone, path: '/health', unresolved: 'the variable READY is not set' },
      { healthEndpoint: '$env:READY' },
      'GET /health on the agent returned 404. The path that spec.api.healthEndpoint declares was not probed: the variable READY is not set.',
      ['spec.api.healthEndpoint', 'GET $env:READY', 'HTTP 404'],
    ],
  ])('%s', (_title, health, api, ...[text, gap]) => {
    expect(found({ health }, api)).toEqual({ texts: [text], gaps: [gap] });
  });

  test('recommends a 2xx response on the declared path', () => {
    const manifest = aManifest({ ...PII, api: { healthEndpoint: '/livez' } });
    const { issues } = assess(manifest, someFacts({ health: { ...gone, path: '/livez' } }));
    expect(issues[0]?.recommendation).toBe(
      "Return a 2xx status for GET /livez on the agent's port while the agent can serve requests.",
    );
  });

  test('is not found when the declared path returns 2xx', () => {
    expect(found({ health: { ...ok, path: '/livez' } }, { healthEndpoint: '/livez' }).texts).toEqual([]);
  });
});

describe('discoverable', () => {
  const NO_CARD = 'and GET /.well-known/agent-card.json returned no agent card.';
  const FIELD = 'spec.api.capabilitiesEndpoint';
  test.each<[string, Partial<Facts>, Api, string, unknown[]]>([
    [
      'names the default path',
      { capabilities: gone, agentCard: noCard },
      {},
      `GET /capabilities on the agent returned 404, ${NO_CARD}`,
      [FIELD, 'GET /capabilities', 'HTTP 404'],
    ],
    [
      'names the declared path',
      { capabilities: { ...none, path: '/api/tools' }, agentCard: noCard },
      { capabilitiesEndpoint: '/api/tools' },
      `GET /api/tools on the agent failed (connection refused), ${NO_CARD}`,
      [FIELD, 'GET /api/tools', null],
    ],
    [
      'names the reason why the declared path was not probed',
      { capabilities: { ...gone, path: '/capabilities', unresolved: 'CARD is not set' }, agentCard: noCard },
      { capabilitiesEndpoint: '$env:CARD' },
      `GET /capabilities on the agent returned 404, ${NO_CARD} The path that ${FIELD} declares was not probed: CARD is not set.`,
      [FIELD, 'GET $env:CARD', 'HTTP 404'],
    ],
    [
      'is found for an HTML page',
      { capabilities: { ...ok, isHtml: true, tools: null }, agentCard: noCard },
      {},
      `GET /capabilities on the agent returned an HTML page instead of JSON, ${NO_CARD}`,
      [FIELD, 'GET /capabilities', 'HTML page'],
    ],
  ])('%s', (_title, facts, api, ...[text, gap]) => {
    expect(found(facts, api)).toEqual({ texts: [text], gaps: [gap] });
  });

  test.each<[string, Partial<Facts>]>([
    ['404 and a card', { capabilities: gone, agentCard: aCard() }],
    ['an HTML page and a card', { capabilities: { ...ok, isHtml: true }, agentCard: aCard() }],
    ['no response and a card', { capabilities: none, agentCard: aCard() }],
    ['2xx and no card', { capabilities: ok, agentCard: noCard }],
  ])('is not found with %s', (_title, facts) => {
    expect(found(facts).texts).toEqual([]);
  });
});

describe('discoverable.<tool>', () => {
  const missingTools = (facts: Partial<Facts>): string[] =>
    assess(aManifest({ ...PII, tools: [{ name: 'search' }, { name: 'pay' }] }), someFacts(facts)).issues.map(
      ({ property, description }) => `${property}: ${description}`,
    );
  const PAY_AT = (path: string): string =>
    `discoverable.pay: The tool pay is declared, but GET ${path} does not list it.`;

  test.each<[string, Partial<Facts>, string[]]>([
    [
      'uses the list of /capabilities, even if there is a card',
      { capabilities: { ...ok, tools: ['search'] }, agentCard: aCard(['search', 'pay']) },
      [PAY_AT('/capabilities')],
    ],
    [
      'names the declared path',
      { capabilities: { ...ok, path: '/api/tools', tools: ['search'] } },
      [PAY_AT('/api/tools')],
    ],
    [
      'uses the skills of the card when /capabilities has no list',
      { capabilities: { ...ok, tools: null }, agentCard: aCard(['search']) },
      [PAY_AT('/.well-known/agent-card.json')],
    ],
    [
      'uses the skills of the card when /capabilities is missing',
      { capabilities: gone, agentCard: aCard(['search']) },
      [PAY_AT('/.well-known/agent-card.json')],
    ],
    [
      'finds nothing when the card lists all tools',
      { capabilities: gone, agentCard: aCard(['pay', 'search']) },
      [],
    ],
    ['finds nothing for a card without skills', { capabilities: gone, agentCard: aCard(null) }, []],
    [
      'ignores tools of a response that is not a card',
      { capabilities: ok, agentCard: { ...noCard, tools: ['x'] } },
      [],
    ],
  ])('%s', (_title, facts, expected) => {
    expect(missingTools(facts)).toEqual(expected);
  });
});
