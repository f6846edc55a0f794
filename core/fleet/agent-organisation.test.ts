import { describe, expect, test } from '@jest/globals';
import type { AgentPolicy } from '../organisation/finding.ts';
import { parsePolicy } from '../organisation/parse-policy.ts';
import { parseManifest } from '../manifest/parse-manifest.ts';
import type { MatrixRow } from '../shapes/egress.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { agentOrganisationOf, type AgentRules } from './agent-organisation.ts';

const AT = new Date('2026-03-01T10:00:00.000Z');
const POLICY = parsePolicy({
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentPolicy', metadata: { name: 'production' } },
  spec: {
    rules: [
      { id: 'tools', action: 'Deny', tools: { forbidden: ['shell*'] } },
      { id: 'models', action: 'Deny', models: { allowed: ['openai/*'] } },
    ],
    exceptions: [{ namespace: 'shop', rules: ['models'], reason: 'trial', expires: '2026-04-01T00:00:00Z' }],
  },
});
const MANIFEST = parseManifest(
  manifestText(`    fallback: { provider: anthropic, id: claude-sonnet-4-5, apiKey: $env:KEY }
    costControls: { maxMonthlyUSD: 900 }
  tools: [{ name: search }, { name: shell_exec }]
  egress: { tools: [files_list, search], hosts: [api.example.com] }
`),
);
if (!MANIFEST.ok || !POLICY.ok) throw new Error('the examples are not valid');

const rulesOf = (
  policies: readonly AgentPolicy[] | null = [POLICY.ok ? POLICY.value : null!],
): AgentRules => ({
  about: { namespace: 'shop', labels: {}, names: ['bot'], at: AT },
  ...{ policies, directive: null, manifest: MANIFEST.ok ? MANIFEST.manifest : null },
});

const finding = (rule: string, path: string) => ({
  ...({ policy: 'production', rule, severity: 'high', action: 'Deny', path, message: 'why' } as const),
});
const STATUS: ObservationStatus = {
  phase: 'Healthy',
  egress: {
    ...{ lanes: ['openai'], calls: 3, models: ['gpt-4.1'], tools: ['search', 'rm', 'shell_exec'] },
    ...{ undeclared: 1, undeclaredNames: ['tool rm'], neverSeen: 0, misreported: 0 },
  },
  organisation: {
    ...{ judgedAt: '2026-02-20T10:00:00Z', manifestHash: 'a', brokenTotal: 3, notJudged: [] },
    broken: [
      finding('tools', 'spec.tools[1].name'),
      finding('tools', 'status.egress.tools[2]'),
      finding('guardrails', ''),
    ],
  },
};
const host = (name: string, verdict: MatrixRow['verdict'], observed: boolean | null): MatrixRow => ({
  ...{ kind: 'host', name, verdict, declared: null, reported: null, observed },
});
const pictureOf = (status = STATUS, rows?: readonly MatrixRow[], rules = rulesOf()) =>
  agentOrganisationOf({ namespace: 'shop', name: 'bot', status, rows }, rules);

const plain = (name: string) => ({ name, breaks: [], undeclared: false });
const BREAKS = { breaks: ['production/tools'] };

describe('the picture of an agent', () => {
  test('marks what breaks a rule in the manifest, first, and lists each name once', () => {
    expect(pictureOf().declared).toEqual({
      models: { items: [plain('openai/gpt-4.1'), plain('anthropic/claude-sonnet-4-5')], total: 2 },
      tools: {
        items: [{ ...plain('shell_exec'), ...BREAKS }, plain('search'), plain('files_list')],
        total: 3,
      },
      hosts: { items: [plain('api.example.com')], total: 1 },
      ...{ maxMonthlyUSD: 900, maxTokensPerDay: null },
    });
  });

  test('marks what was observed and is forbidden or not declared', () => {
    expect(pictureOf().observed).toMatchObject({
      models: { items: [plain('gpt-4.1')], total: 1 },
      tools: {
        items: [{ ...plain('rm'), undeclared: true }, { ...plain('shell_exec'), ...BREAKS }, plain('search')],
      },
      hosts: null,
    });
  });

  test('has the hosts of the rows that were observed', () => {
    const rows = [host('api.example.com', 'never-seen', false), host('evil.example.org', 'undeclared', true)];
    expect(pictureOf(STATUS, rows).observed.hosts).toEqual({
      items: [{ ...plain('evil.example.org'), undeclared: true }],
      total: 1,
    });
  });

  test('has the policies that select the agent, with its exceptions', () => {
    expect(pictureOf().policies).toEqual([{ name: 'production', rules: 2, excepted: ['models'] }]);
  });

  test('shows nothing as empty that is not known', () => {
    const picture = pictureOf({ phase: 'Pending' }, undefined, { ...rulesOf(null), manifest: null });
    expect(picture).toEqual({
      ...{ namespace: 'shop', agentName: 'bot', allowed: null, compliant: null, organisation: null },
      ...{ policies: null, allows: null, declared: null },
      observed: { models: null, tools: null, hosts: null, tokensToday: null, costTodayUsd: null },
    });
  });

  test('lists 50 items, and the number of all', () => {
    const names = Array.from({ length: 60 }, (_, index) => `t${index}`);
    const manifest = parseManifest(manifestText(`  egress: { tools: [${names.join(', ')}] }\n`));
    const { declared } = pictureOf(STATUS, undefined, {
      ...rulesOf(),
      manifest: manifest.ok ? manifest.manifest : null,
    });
    expect([declared?.tools.items.length, declared?.tools.total]).toEqual([50, 60]);
  });
});
