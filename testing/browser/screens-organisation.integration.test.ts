// The page of the organisation rules and the card of an agent in a real Chromium, on the results of a control plane with rules.
import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { Organisation } from '../../control-plane/organisation/organisation.ts';
import type { AgentPolicy } from '../../core/organisation/finding.ts';
import { parsePolicy } from '../../core/organisation/parse-policy.ts';
import type { NotJudged } from '../../core/shapes/organisation.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { aHeartbeat } from '../fleet/heartbeat.ts';
import { whyNoBrowser } from '../machine/debian-server.ts';
import { manifestText } from '../manifests/manifest-text.ts';
import { violationsOf } from './accessibility.ts';
import { TestBrowser, type Visit, type VisitOptions } from './chromium.ts';
import { ADMIN_KEY, DashboardPlane, NOW } from './dashboard-plane.ts';
import { DESKTOP, expectAccessible, expectScreenshot, isLoaded, overflow, shown } from './screen.ts';

const HOUR_MS = 3_600_000;

function policyOf(name: string, spec: object): AgentPolicy {
  const parsed = parsePolicy({
    ...{ apiVersion: 'platform.io/v1', kind: 'AgentPolicy', metadata: { name } },
    spec,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
}

const POLICIES = [
  policyOf('production', {
    namespaceSelector: { matchLabels: { env: 'production' } },
    rules: [
      { id: 'models', action: 'Deny', models: { allowed: ['openai/gpt-4*', 'anthropic/*'] } },
      { id: 'tools', action: 'Deny', severity: 'critical', tools: { forbidden: ['shell*', 'delete_all_*'] } },
      { id: 'budget', action: 'Deny', budget: { maxMonthlyUSD: 500 } },
      { id: 'partners', action: 'Warn', severity: 'medium', hosts: { allowed: ['*.example.com'] } },
      { id: 'grade', action: 'Audit', severity: 'low', result: { minimumGrade: 'B' } },
    ],
    exceptions: [
      {
        ...{ namespace: 'shop', agents: ['trial-*'], rules: ['models'] },
        ...{ reason: 'trial of a vendor', expires: '2026-03-20T00:00:00Z' },
      },
      { namespace: 'shop', rules: ['budget'], reason: 'migration', expires: '2026-02-01T00:00:00Z' },
    ],
  }),
];
const LABELS = { shop: { env: 'production' }, lab: {} } as Record<string, Record<string, string>>;

const TOOLS = Array.from({ length: 60 }, (_, index) => `lookup_${index}`);
const CHAT = manifestText(`    costControls: { maxMonthlyUSD: 900 }
  tools: [{ name: search_orders }, { name: shell_exec }]
  egress: { hosts: [api.example.com, tracker.example.org] }
`);
const BOT = manifestText(`    costControls: { maxMonthlyUSD: 100 }
  tools: [${TOOLS.map((name) => `{ name: ${name} }`).join(', ')}]
  egress: { hosts: [tracker.example.org] }
`);

let invalid: NotJudged[] = [];
let worker: ManifestWorker;
let browser: TestBrowser;
let plane: DashboardPlane;

/** Agents that send their manifests, and then heartbeats. */
async function addAgents(): Promise<void> {
  plane.setNow(new Date(NOW.getTime() - 30 * HOUR_MS));
  await beat('shop', 'chat', CHAT);
  plane.setNow(NOW);
  await beat('shop', 'chat', CHAT, {
    egress: {
      ...{ lanes: ['openai', 'mcp:orders'], calls: 390, models: ['gpt-4.1'], undeclared: 1 },
      ...{ tools: ['search_orders', 'shell_exec', 'refund'], undeclaredNames: ['tool refund'] },
      ...{ neverSeen: 0, misreported: 0 },
    },
    totals: { tokensToday: 120_400, costTodayUsd: 12.5 },
  });
  await beat('shop', 'bot', BOT);
  await beat('lab', 'free', BOT);
}

let seq = 0;
async function beat(
  namespace: string,
  name: string,
  manifest: string,
  facts: Parameters<typeof aHeartbeat>[0] = {},
): Promise<void> {
  await plane.manifest({ namespace, name }, manifest);
  const manifestHash = createHash('sha256').update(manifest).digest('hex');
  const more = { seq: ++seq, manifestHash, sidecarVersion: '0.2.0', startedAt: '2026-03-01T00:00:00.000Z' };
  await plane.heartbeat({ namespace, name }, aHeartbeat({ ...more, instance: `${name}-1`, ...facts }));
}

const visit = (hash: string, options: Partial<VisitOptions> = {}): Promise<Visit> =>
  browser.visit({ url: plane.url, hash, key: ADMIN_KEY, now: NOW, viewport: DESKTOP, ...options });

/** The texts of the cells of a row of a table. */
const cellsOf = (page: Page, table: string, row: string): Promise<string[]> =>
  page
    .getByRole('table', { name: table })
    .getByRole('row')
    .filter({ has: page.getByRole('cell', { name: row, exact: true }) })
    .getByRole('cell')
    .allInnerTexts();

const PAGE = '#/organisation';
const CARD = '#/agents/shop/chat';

(whyNoBrowser() ? describe.skip : describe)('the organisation rules of the dashboard', () => {
  beforeAll(async () => {
    worker = new ManifestWorker();
    const organisation = new Organisation(
      {
        policies: () => POLICIES,
        problem: () => null,
        invalid: () => invalid,
        labelsOf: (namespace) => LABELS[namespace] ?? null,
      },
      worker,
    );
    [browser, plane] = await Promise.all([TestBrowser.launch(), DashboardPlane.open({ organisation })]);
    await addAgents();
    // Later, because it would make the result of every agent unknown.
    invalid = [{ policy: 'draft', reason: 'the policy is not valid: spec.rules: must be a list' }];
  });
  afterEach(() => browser.endTest());
  afterAll(async () => {
    await browser.close();
    await plane.close();
    await worker.close();
  });

  test('the page shows who breaks a rule since when, the dry run, exceptions and invalid policies', async () => {
    const { page } = await visit(PAGE);
    await shown(page, '2 of 2 agents break a rule');
    const rows = await page
      .getByRole('table', { name: 'Rules of production' })
      .getByRole('row')
      .allInnerTexts();
    const texts = rows.map((text) => text.replaceAll(/\s+/g, ' '));
    expect(texts).toEqual([
      'Rule Action Broken by',
      expect.stringMatching(/^models high Deny at ci, manifest, start, runtime, lanes no agent$/),
      expect.stringMatching(/^tools critical Deny .* 1 agent shop\/chat found yesterday$/),
      expect.stringMatching(/^budget high Deny .* 1 agent shop\/chat found yesterday$/),
      expect.stringMatching(
        /^partners medium check hosts Warn at ci, runtime Would be blocked by Deny: 2 2 agents /,
      ),
      expect.stringMatching(/^grade low check result Audit at runtime no agent$/),
    ]);
    await shown(page, 'ends soon models for shop/trial-* until 20 Mar 2026, 00:00:00 UTC: trial of a vendor');
    await shown(page, 'expired budget for shop/*');
    await shown(page, 'The policy is not valid: spec.rules: must be a list');
    await page.getByRole('link', { name: 'shop/chat' }).first().click();
    await page.getByRole('heading', { name: 'chat', exact: true }).waitFor();
  });

  test('the card marks what is declared and not allowed, and what is observed and not declared', async () => {
    const { page } = await visit(CARD);
    await shown(page, 'What is declared must be allowed');
    const table = 'Allowed, declared, observed';
    await page.getByRole('table', { name: table }).waitFor();
    expect(await cellsOf(page, table, 'models')).toEqual([
      ...['models', 'openai/gpt-4*, anthropic/*', 'openai/gpt-4.1', 'gpt-4.1'],
    ]);
    const [, allowed, declared, observed] = await cellsOf(page, table, 'tools');
    expect(allowed).toBe('not shell*, delete_all_*');
    expect(declared).toBe('shell_exec production/tools\nsearch_orders');
    expect(observed).toBe('shell_exec production/tools\nrefund not declared\nsearch_orders');
    expect((await cellsOf(page, table, 'cost')).slice(1)).toEqual([
      ...['US$500.00 per month', 'US$900.00 per month production/budget', 'US$12.50 today'],
    ]);
    await shown(page, 'host tracker.example.org is not one of *.example.com');
    await page.goto(`${plane.url}/#/agents/shop/bot`);
    await shown(page, '50 of 60');
  });

  test('an agent without rules has one line', async () => {
    const { page } = await visit('#/agents/lab/free');
    await shown(page, 'No organisation rule selects this agent.');
    expect(await page.getByRole('heading', { name: 'Organisation rules' }).count()).toBe(0);
  });

  test.each([PAGE, CARD])('no violation of WCAG 2.2 AA at %s, also on a phone', async (hash) => {
    const { page } = await visit(hash);
    await shown(page, hash === PAGE ? 'Rules of production' : 'What is declared must be allowed');
    await isLoaded(page);
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
  });

  test('screenshots: docs/images/dashboard-organisation.png shows the present page', async () => {
    const { page } = await visit(PAGE, { viewport: { width: 1440, height: 900 } });
    await shown(page, '2 of 2 agents break a rule');
    await isLoaded(page);
    await expectScreenshot(page, 'organisation');
  });
});
