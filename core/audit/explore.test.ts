import { describe, expect, test } from '@jest/globals';
import { someEgress } from '../../testing/fleet/egress-facts.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import type { ExploreReport } from '../shapes/explore.ts';
import type { HealthReport, Check } from '../shapes/health.ts';
import type { Manifest, ManifestSpec } from '../manifest/manifest.ts';
import { FULL_MANIFEST } from '../../testing/manifests/manifest-text.ts';
import { parseManifest } from '../manifest/parse-manifest.ts';
import { declaredNotChecked } from './declared-not-checked.ts';
import { exploreOf as explore } from './explore.ts';

const manifestOf = (spec: Partial<ManifestSpec> = {}): Manifest => ({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
  spec: { model: { provider: 'openai', id: 'gpt-5', apiKey: 'k' }, ...spec },
});
const healthOf = (...found: [id: string, status: Check['status'], latencyMs?: number][]): HealthReport => ({
  agentName: 'shop',
  timestamp: '2026-03-01T10:00:00.000Z',
  status: 'healthy',
  summary: { passed: 0, failed: 0, warnings: 0, skipped: 0 },
  checks: found.map(([id, status, latencyMs]) => ({
    id,
    category: id.split(':')[0] as Check['category'],
    status,
    severity: 'info',
    ...(latencyMs === undefined ? {} : { latencyMs }),
  })),
});

const NOT_PROBED = { health: null, capabilities: null };
const exploreOf = (
  manifest: Manifest,
  health: HealthReport,
  source: ExploreReport['source'],
): ReturnType<typeof explore> => explore(manifest, health, source, NOT_PROBED);

test('unknown states are null, not false', () => {
  expect(exploreOf(manifestOf({ tools: [{ name: 'pay' }] }), healthOf(), 'manifest-static')).toEqual({
    source: 'manifest-static',
    model: { provider: 'openai', id: 'gpt-5', reachable: null, latencyMs: null },
    tools: [{ name: 'pay', declared: true, registered: null }],
    memory: { backend: null, reachable: null },
    services: [],
    mcpServers: [],
    endpoints: { health: null, capabilities: null, agentCard: null },
    guardrails: { input: 0, output: 0 },
    declaredNotChecked: [],
  });
});

describe('endpoints', () => {
  const ok = { answered: true, status: 200, latencyMs: 3 } as const;
  const none = { answered: false, reason: 'connection refused' } as const;
  const of = (facts: Parameters<typeof explore>[3]): ExploreReport['endpoints'] =>
    explore(manifestOf(), healthOf(), 'manifest-static', facts).endpoints;

  test('have their default paths', () => {
    expect(
      of({ health: ok, capabilities: none, agentCard: { ...ok, status: 404, isCard: false, tools: null } }),
    ).toEqual({
      health: { path: '/health', status: 200, latencyMs: 3 },
      capabilities: { path: '/capabilities', status: null, latencyMs: null },
      agentCard: { path: '/.well-known/agent-card.json', status: 404, latencyMs: 3 },
    });
  });

  test('have the declared paths, and a note why a declared path was not probed', () => {
    const { health, capabilities } = of({
      health: { ...ok, path: '/livez?full=1' },
      capabilities: { ...ok, path: '/capabilities', unresolved: 'CARD cannot be read', isHtml: true },
    });
    expect(health).toEqual({ path: '/livez?full=1', status: 200, latencyMs: 3 });
    expect(capabilities).toEqual({
      path: '/capabilities',
      status: 200,
      latencyMs: 3,
      note: 'the declared path was not probed: CARD cannot be read; the response is an HTML page',
    });
  });
});

describe('model', () => {
  test.each([
    ['pass', true],
    ['fail', false],
    ['skip', null],
  ] as const)('with a check of status %s has reachable %s', (status, reachable) => {
    const { model } = exploreOf(manifestOf(), healthOf(['model:openai/gpt-5', status, 7]), 'agent-sdk');
    expect(model).toEqual({ provider: 'openai', id: 'gpt-5', reachable, latencyMs: 7 });
  });
});

describe('memory', () => {
  test.each<[string, [string, Check['status']][], boolean | null]>([
    [
      'all checks passing',
      [
        ['memory:backend', 'pass'],
        ['memory:vector', 'pass'],
      ],
      true,
    ],
    [
      'one check failing',
      [
        ['memory:backend', 'pass'],
        ['memory:vector', 'fail'],
      ],
      false,
    ],
    [
      'one check failing and one unknown',
      [
        ['memory:backend', 'skip'],
        ['memory:vector', 'fail'],
      ],
      false,
    ],
    [
      'one check unknown',
      [
        ['memory:backend', 'pass'],
        ['memory:vector', 'skip'],
      ],
      null,
    ],
  ])('with %s', (_title, checks, reachable) => {
    const manifest = manifestOf({ memory: { longTerm: { backend: 'postgres' } } });
    expect(exploreOf(manifest, healthOf(...checks), 'agent-sdk').memory).toEqual({
      backend: 'postgres',
      reachable,
    });
  });
});

test('lists declared parts without a reported check as unknown', () => {
  const manifest = manifestOf({
    requires: { services: [{ type: 'redis', address: 'a:1' }, { name: 'db' }] },
    mcp: { servers: [{ name: 'files', url: 'http://files/mcp' }] },
    memory: { vector: { backend: 'qdrant' } },
  });
  const health = healthOf(['service:db', 'pass', 3], ['service:extra', 'fail']);
  expect(exploreOf(manifest, health, 'agent-sdk')).toMatchObject({
    services: [
      { name: 'redis', reachable: null, latencyMs: null },
      { name: 'db', reachable: true, latencyMs: 3 },
      { name: 'extra', reachable: false, latencyMs: null },
    ],
    mcpServers: [{ name: 'files', reachable: null, latencyMs: null }],
    memory: { backend: 'qdrant', reachable: null },
  });
});

test('lists services and MCP servers by their checks, without agent:upstream', () => {
  const health = healthOf(['service:redis', 'pass', 2], ['mcp:files', 'fail'], ['agent:upstream', 'pass', 1]);
  const { services, mcpServers } = exploreOf(manifestOf(), health, 'manifest-static');
  expect(services).toEqual([{ name: 'redis', reachable: true, latencyMs: 2 }]);
  expect(mcpServers).toEqual([{ name: 'files', reachable: false, latencyMs: null }]);
});

test.each<[string, ManifestSpec['model']['costControls'], string[]]>([
  ['', { usdPerMillionTokens: { input: 1, output: 2 } }, []],
  [', including a limit without prices', {}, ['spec.model.costControls.maxMonthlyUSD']],
  [
    ', including a limit with only one price',
    { usdPerMillionTokens: { output: 2 } },
    ['spec.model.costControls.maxMonthlyUSD'],
  ],
])('lists the paths that are declared but cannot be checked%s', (_what, price, added) => {
  const manifest = manifestOf({
    model: {
      provider: 'o',
      id: 'm',
      apiKey: 'k',
      fallback: { provider: 'o', id: 'n', apiKey: 'k' },
      costControls: { maxMonthlyUSD: 5, ...price },
    },
    compliance: { packs: ['observability'], auditSchedule: 'daily' },
    humanInTheLoop: { enabled: true },
  });
  expect(declaredNotChecked(manifest)).toEqual([
    'spec.model.fallback',
    ...added,
    'spec.compliance.auditSchedule',
    'spec.humanInTheLoop',
  ]);
});

test('lists only paths that a full manifest has', () => {
  const parsed = parseManifest(FULL_MANIFEST);
  if (!parsed.ok) throw new Error('the manifest is not valid');
  const paths = declaredNotChecked(parsed.manifest);
  expect(paths).toHaveLength(27);
  expect(paths).not.toContain('spec.api.healthEndpoint');
  expect(paths).not.toContain('spec.api.capabilitiesEndpoint');
});

test('lists spec.egress unless lanes or a census observe the agent', () => {
  const manifest = manifestOf({ egress: { hosts: ['api.example.com'] } });
  const listed = (egress: EgressFacts | null): string[] =>
    explore(manifest, healthOf(), 'agent-sdk', { ...NOT_PROBED, egress }).declaredNotChecked;
  expect(listed(null)).toEqual(['spec.egress']);
  expect(listed(someEgress())).toEqual([]);
  expect(declaredNotChecked(manifest)).toEqual([]);
});
