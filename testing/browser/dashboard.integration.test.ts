// The dashboard in a real Chromium, against a control plane in this process. A test fails on any message on the console, uncaught
// error, violation of the Content-Security-Policy or request to another address (chromium.ts). screens.integration.test.ts has
// accessibility and layouts.
import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { formatsFor, withLocalTimes } from '../../dashboard/format.ts';
import { Problem } from '../../runtime/problem.ts';
import { whyNoBrowser } from '../machine/debian-server.ts';
import { aHeartbeat } from '../fleet/heartbeat.ts';
import { TestServers } from '../http/sockets.ts';
import { eventually, TestBrowser, type Visit, type VisitOptions } from './chromium.ts';
import { ADMIN_KEY, DashboardPlane, NOW, type PlaneOptions } from './dashboard-plane.ts';

let browser: TestBrowser;
/** With the example fleet, which no test changes. */
let plane: DashboardPlane;
/** Control planes of single tests. */
const others: DashboardPlane[] = [];
const servers = new TestServers();

const { formatTime } = formatsFor('en-GB', 'UTC');
/** High, so that all rows of the example fleet are in the window. */
const TALL = { width: 1280, height: 1800 };

/** Without a key, the dashboard asks whether the cookie of a session signs in. */
const NO_SESSION = /status of 401/;

const suite = whyNoBrowser() ? describe.skip : describe;

async function otherPlane(options?: PlaneOptions): Promise<DashboardPlane> {
  const opened = await DashboardPlane.open(options);
  others.push(opened);
  return opened;
}

/** Opens the dashboard, signed in. */
const visit = (hash = '#/', options: Partial<VisitOptions> = {}): Promise<Visit> =>
  browser.visit({ url: plane.url, hash, key: ADMIN_KEY, now: NOW, viewport: TALL, ...options });

const heading = (page: Page, name: string | RegExp): Locator =>
  page.getByRole('heading', { name, exact: true });

/** Names of the agents of the table, from top to bottom. */
const namesIn = (page: Page): Promise<string[]> => page.locator('.grid-body .col-name').allInnerTexts();

const rowOf = (page: Page, name: string): Locator =>
  page.locator('.grid-body [role="row"]').filter({ has: page.getByRole('link', { name, exact: true }) });

/** Runs an expression in the page. */
const inPage = <T>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression);

const WORST_FIRST = [
  'web-researcher',
  'laptop-agent',
  'invoice-reader',
  'refund-helper',
  'expense-auditor',
  'summarizer',
  'faq-bot',
  'order-assistant',
  'new-agent',
];

suite('the dashboard', () => {
  beforeAll(async () => {
    [browser, plane] = await Promise.all([TestBrowser.launch(), DashboardPlane.open()]);
    await plane.addFleet();
  });
  afterEach(async () => {
    await browser.endTest();
    plane.intercept = () => null;
    await Promise.all(others.splice(0).map((each) => each.close()));
  });
  afterAll(async () => {
    await browser.close();
    await servers.close();
    await plane.close();
  });

  test('fails on messages, errors, violations of the policy and requests to other addresses', async () => {
    const port = await servers.http((request, response) => {
      const isScript = request.url === '/script.js';
      response.setHeader('content-security-policy', "default-src 'self'; img-src *");
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(
        isScript
          ? `console.info('a message'); document.body.dataset.ran = 'yes'; throw new Error('a defect');`
          : `<body><img src="http://127.0.0.2:12345/x"><script>document.title = 'inline';</script><script src="script.js"></script>`,
      );
    });
    const { page } = await browser.visit({ url: `http://127.0.0.1:${port}`, hash: '' });
    await page.locator('[data-ran]').waitFor({ state: 'attached' });
    const failure = await browser.endTest().catch((error: unknown) => String(error));
    for (const fault of [
      'console.info: a message',
      'uncaught: a defect',
      'CSP: script-src-elem blocks inline',
      'request to http://127.0.0.2:12345/x',
    ])
      expect(failure).toContain(fault);
  });

  describe('signing in', () => {
    const storage = (page: Page): Promise<unknown> =>
      inPage(
        page,
        `({ session: Object.values(sessionStorage), local: localStorage.length, cookies: document.cookie })`,
      );

    test('needs the key once per tab, which stores nothing else', async () => {
      const { page } = await browser.visit({ url: plane.url, now: NOW, expected: [NO_SESSION] });
      await page.getByLabel('Admin key or read key').fill(ADMIN_KEY);
      expect(await storage(page)).toEqual({ session: [], local: 0, cookies: '' });
      await page.keyboard.press('Enter');
      await heading(page, 'Fleet').waitFor();
      expect(await storage(page)).toEqual({ session: [ADMIN_KEY], local: 0, cookies: '' });
      await page.reload();
      await heading(page, 'Fleet').waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await heading(page, 'Sign in').waitFor();
      expect(await storage(page)).toEqual({ session: [], local: 0, cookies: '' });
    });

    test('with a wrong key says so and stores nothing', async () => {
      const { page } = await browser.visit({
        url: plane.url,
        expected: [NO_SESSION, /status of 403/],
      });
      await page.getByLabel('Admin key or read key').fill('not-the-admin-key');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('This key is wrong.').waitFor();
      expect(await storage(page)).toEqual({ session: [], local: 0, cookies: '' });
      expect(await page.getByLabel('Admin key or read key').getAttribute('aria-invalid')).toBe('true');
    });

    test('is needed again when the key of the control plane has changed', async () => {
      const own = await otherPlane();
      const { page } = await visit('#/', { url: own.url, expected: [/status of 403/] });
      await page.getByText('No agents yet').waitFor();
      own.intercept = () => Promise.resolve(new Problem(403, 'X-Admin-Key is wrong'));
      await page.getByRole('link', { name: 'Coverage' }).click();
      await page.getByText('The key of the control plane has changed.').waitFor();
      expect(await storage(page)).toEqual({ session: [], local: 0, cookies: '' });
    });

    test('is not possible on a control plane without a key, which is explained', async () => {
      const own = await otherPlane({ adminKey: null });
      const { page } = await visit('#/', { url: own.url, expected: [/status of 503/] });
      await heading(page, 'The control plane has no admin key').waitFor();
      await page.getByText('PLATFORM_ADMIN_KEY').first().waitFor();
    });
  });

  describe('the fleet', () => {
    test('lists all agents, the worst first, with their values', async () => {
      const { page } = await visit();
      await eventually(async () => expect(await namesIn(page)).toEqual(WORST_FIRST));
      const rows = await plane.admin<AgentRow[]>('GET', '/api/v1/agents');
      const [found] = rows.filter(({ agentName }) => agentName === 'order-assistant');
      const row = rowOf(page, 'order-assistant');
      const cell = (column: string): Promise<string> => row.locator(`.col-${column}`).innerText();
      expect([await cell('grade'), await cell('namespace'), await cell('phase')]).toEqual([
        'A',
        'support',
        'Healthy',
      ]);
      expect(await cell('score')).toBe('100');
      expect(await cell('tokens')).toBe((found?.tokens ?? 0).toLocaleString('en-GB'));
      expect(await cell('cost')).toMatch(/\$\d/);
      expect(await cell('evidence')).toBe(`${found?.evidence?.percent}%`);
      expect(await cell('compliant')).toMatch(/^Yes\s+grade B or better/);
      expect(await cell('lastSeen')).toMatch(/^12 sec/);
      expect(await rowOf(page, 'laptop-agent').locator('.col-failOpen').innerText()).toMatch(/^42\.9%$/);
      const spark = row.getByRole('img', { name: 'Score in 24 hours: from 85 to 100' });
      expect(await spark.count()).toBe(1);
    });

    test('has the totals of the agents that it shows', async () => {
      const { page } = await visit('#/?namespace=support');
      await eventually(async () => expect(await namesIn(page)).toHaveLength(3));
      const figures = page.locator('.summary .figure-value');
      expect((await figures.allInnerTexts()).slice(0, 1)).toEqual(['3']);
      await page.getByText('of 9', { exact: true }).waitFor();
    });

    test('changes while it is shown: values, new agents and removed agents', async () => {
      const own = await otherPlane();
      const shop = { namespace: 'shop', name: 'seller' };
      await own.heartbeat(shop, aHeartbeat({ instance: 'seller-1' }));
      const { page } = await visit('#/', { url: own.url });
      await page.locator('.live-live').waitFor();
      await eventually(async () => expect(await namesIn(page)).toEqual(['seller']));
      expect(await rowOf(page, 'seller').locator('.col-score').innerText()).toBe('100');

      const issues = [
        { severity: 'high' as const, property: 'service:db', description: 'd', recommendation: 'r' },
      ];
      const gap = { score: 80, grade: 'B' as const, source: 'agent-sdk' as const, issues };
      await own.heartbeat(shop, aHeartbeat({ instance: 'seller-1', seq: 2, gap }));
      await eventually(async () =>
        expect(await rowOf(page, 'seller').locator('.col-score').innerText()).toBe('80'),
      );

      const remote = { namespace: 'platform-remote', name: 'buyer', isRegistered: true as const };
      await own.heartbeat(remote, aHeartbeat({ instance: 'buyer-1' }));
      await eventually(async () => expect(await namesIn(page)).toEqual(['seller', 'buyer']));
      await own.admin('DELETE', '/api/v1/agents/buyer');
      await eventually(async () => expect(await namesIn(page)).toEqual(['seller']));
    });

    test('keeps its filters in the address, also after a reload and on the way back', async () => {
      const { page } = await visit();
      const hash = (): Promise<string> => inPage(page, 'location.hash');
      await page.getByRole('searchbox').fill('support');
      await eventually(async () => expect(await hash()).toBe('#/?q=support'));
      await page.getByRole('button', { name: /^A \d/ }).click();
      await eventually(async () => expect(await hash()).toBe('#/?q=support&grade=A'));
      const shown = ['faq-bot', 'order-assistant'];
      await eventually(async () => expect(await namesIn(page)).toEqual(shown));
      await page.reload();
      await eventually(async () => expect(await namesIn(page)).toEqual(shown));
      expect(await page.getByRole('searchbox').inputValue()).toBe('support');
      await page.getByRole('link', { name: 'faq-bot' }).click();
      await heading(page, 'faq-bot').waitFor();
      await page.goBack();
      await eventually(async () => expect(await namesIn(page)).toEqual(shown));
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await eventually(async () => expect(await namesIn(page)).toHaveLength(9));
      expect(await hash()).toBe('#/');
    });

    test('shows failures only, one phase, or nothing with a way out', async () => {
      const { page } = await visit();
      await page.getByRole('button', { name: 'Failures only' }).click();
      const silent = ['summarizer', 'new-agent'];
      const failing = ['web-researcher', 'laptop-agent', 'invoice-reader', 'refund-helper', ...silent];
      await eventually(async () => expect(await namesIn(page)).toEqual(failing));
      await page.getByRole('button', { name: /^Unknown \d/ }).click();
      await eventually(async () => expect(await namesIn(page)).toEqual(silent));
      await page.getByRole('searchbox').fill('no such agent');
      await page.getByText('No agent matches the filters').waitFor();
      await page.getByRole('button', { name: 'Clear filters' }).first().click();
      await eventually(async () => expect(await namesIn(page)).toHaveLength(9));
    });

    test('sorts by each heading, in both directions', async () => {
      const { page } = await visit();
      const tokens = page.getByRole('columnheader', { name: 'Tokens today' });
      await tokens.getByRole('button').click();
      await eventually(async () => expect((await namesIn(page))[0]).toBe('web-researcher'));
      expect(await tokens.getAttribute('aria-sort')).toBe('descending');
      expect(await inPage(page, 'location.hash')).toBe('#/?sort=-tokens');
      await tokens.getByRole('button').click();
      await eventually(async () => expect((await namesIn(page))[0]).toBe('laptop-agent'));
      await page.getByRole('columnheader', { name: 'Agent', exact: true }).getByRole('button').click();
      await eventually(async () => expect(await namesIn(page)).toEqual(WORST_FIRST.toSorted()));
    });

    test('groups by namespace, and a group can be closed', async () => {
      const { page } = await visit('#/?group=namespace');
      const groups = page.locator('.group-toggle');
      await eventually(async () =>
        expect(await groups.allInnerTexts()).toEqual(['finance', 'platform-remote', 'research', 'support']),
      );
      expect(await namesIn(page)).toEqual([
        ...['invoice-reader', 'expense-auditor'],
        ...['laptop-agent', 'new-agent'],
        ...['web-researcher', 'summarizer'],
        ...['refund-helper', 'faq-bot', 'order-assistant'],
      ]);
      await page.getByRole('button', { name: 'research' }).click();
      await eventually(async () => expect(await namesIn(page)).not.toContain('web-researcher'));
      expect(await page.getByRole('button', { name: 'research' }).getAttribute('aria-expanded')).toBe(
        'false',
      );
    });

    test('exports the shown agents as CSV in the order of the table', async () => {
      const { page } = await visit('#/?namespace=support&sort=name');
      await eventually(async () => expect(await namesIn(page)).toHaveLength(3));
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export CSV' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('agents-2026-03-02.csv');
      const [header, ...lines] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
      expect(header).toMatch(/^namespace,agentName,agentId,grade,score,phase,tokens,costUsd,/);
      expect(lines.map((line) => line.split(',').slice(0, 2).join('/'))).toEqual([
        'support/faq-bot',
        'support/order-assistant',
        'support/refund-helper',
      ]);
      expect(lines[1]).toMatch(/^support,order-assistant,agt_\w+,A,100,Healthy,\d+,[\d.]+,0,/);
    });

    test('has the history of the last day as charts, with the same values as tables', async () => {
      const { page } = await visit();
      await page.getByRole('slider', { name: 'Mean score over time' }).waitFor();
      await page.getByRole('button', { name: 'Show Mean score as table' }).click();
      const table = page.getByRole('table', { name: /^Mean score in points/ });
      await eventually(async () => expect(await table.getByRole('row').count()).toBeGreaterThan(20));
      expect(await table.getByRole('rowheader').first().innerText()).toMatch(/2 Mar 2026/);
    });

    test('shows 10,000 agents in pages, each of which keys and filters work on', async () => {
      const own = await otherPlane();
      await own.addFleet(0);
      own.cloneAgents(10_000);
      const { page } = await visit('#/', { url: own.url, timezoneId: 'UTC' });
      await page.getByText('10,008 shown').waitFor();
      const rows = page.locator('.grid-body [role="row"]');
      const focusedRow = (): Promise<string | undefined> =>
        inPage(page, `document.activeElement?.closest('[role="row"]')?.ariaRowIndex`);
      expect(await rows.count()).toBe(100);
      await page.locator('.grid-body a').first().focus();
      for (const [key, row] of [
        ['End', '101'],
        ['ArrowDown', '101'],
        ['ArrowUp', '100'],
        ['Home', '2'],
      ] as const) {
        await page.keyboard.press(key);
        await eventually(async () => expect(await focusedRow()).toBe(row));
      }

      const onFirstPage = await namesIn(page);
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText('Page 2 of 101').waitFor();
      expect(await rows.first().getAttribute('aria-rowindex')).toBe('102');
      const onSecondPage = await namesIn(page);
      expect(onSecondPage.filter((name) => onFirstPage.includes(name))).toEqual([]);
      await page.getByRole('link', { name: 'Rules' }).click();
      await heading(page, 'Rules').waitFor();
      await page.goBack();
      await page.getByText('Page 2 of 101').waitFor();

      await page.getByRole('searchbox').fill('order-assistant-77');
      await eventually(async () => {
        const names = await namesIn(page);
        expect(names.every((name) => name.startsWith('order-assistant-77'))).toBe(true);
      });
      expect(await page.getByRole('navigation', { name: 'Pages of agents' }).count()).toBe(0);
    });
  });

  describe('states', () => {
    test('loading: placeholders until the agents are there', async () => {
      const gate = Promise.withResolvers<null>();
      plane.intercept = ({ url = '' }) => (url.startsWith('/api/v1/agents?') ? gate.promise : null);
      const { page } = await visit();
      await page.getByText('Loading agents').waitFor({ state: 'attached' });
      gate.resolve(null);
      await eventually(async () => expect(await namesIn(page)).toHaveLength(9));
      await eventually(async () => expect(await page.getByText('Loading agents').count()).toBe(0));
    });

    test('empty: how to add the first agent, with the address of this control plane', async () => {
      const own = await otherPlane();
      const { page } = await visit('#/', { url: own.url });
      await page.getByText('No agents yet').waitFor();
      await page.getByText(`platform register agent.yaml --url ${own.url}`).waitFor();
      expect(await page.getByRole('button', { name: 'Export CSV' }).isDisabled()).toBe(true);
      await page.getByRole('link', { name: 'Coverage' }).click();
      await page.getByRole('heading', { name: 'What we cannot see' }).waitFor();
      await page.getByText('No agents yet').waitFor();
    });

    test('error: the reason, and another attempt', async () => {
      plane.intercept = ({ url = '' }) =>
        url.startsWith('/api/v1/agents?') ? Promise.resolve(new Problem(500, 'the disk is full')) : null;
      const { page } = await visit('#/', { expected: [/status of 500/] });
      const alert = page.getByRole('alert');
      await alert.getByText('The control plane reported an error').waitFor();
      await alert.getByText('the disk is full').waitFor();
      plane.intercept = () => null;
      await alert.getByRole('button', { name: 'Try again' }).click();
      await eventually(async () => expect(await namesIn(page)).toHaveLength(9));
    });

    test('offline: the data stay with a banner, and the page continues by itself', async () => {
      const { page, context } = await visit('#/', { expected: [/net::ERR_/] });
      await page.locator('.live-live').waitFor();
      await eventually(async () => expect(await namesIn(page)).toHaveLength(9));
      await context.setOffline(true);
      await page.getByText('The control plane does not respond.').waitFor();
      expect(await namesIn(page)).toHaveLength(9);
      await context.setOffline(false);
      await page.getByText('The control plane does not respond.').waitFor({ state: 'detached' });
    });

    test('not supported: a store without history is explained on the fleet and on the agent', async () => {
      const own = await otherPlane({ hasHistory: false });
      await own.addFleet(0);
      const { page } = await visit('#/', { url: own.url, expected: [/status of 501/] });
      await page.getByText('Not available on this control plane').waitFor();
      await eventually(async () => expect(await namesIn(page)).toHaveLength(8));
      await inPage(page, `location.hash = '#/agents/support/faq-bot/history'`);
      await page.getByText('This control plane keeps no history').waitFor();
      await page.getByText('STORE=sqlite').first().waitFor();
    });

    test('unknown: an address without a page leads back', async () => {
      const { page } = await visit('#/nothing/here');
      await page.getByText('There is no page at this address').waitFor();
      await page.getByRole('link', { name: 'Show the fleet' }).click();
      await heading(page, 'Fleet').waitFor();
    });
  });

  describe('an agent', () => {
    test('lists each lost point with its remedy, and leads to the rule', async () => {
      const { page } = await visit('#/agents/finance/invoice-reader');
      await heading(page, 'Why C and not B').waitFor();
      const lost = page.getByRole('list', { name: 'Lost points' }).getByRole('listitem');
      expect(await lost.locator('.lost-points').allInnerTexts()).toEqual(['−20', '−10', '−5']);
      await lost.getByText('Start orders-db, or correct the address').waitFor();
      expect(await page.locator('.score-sum').innerText()).toMatch(/100.*35.*65/s);
      await page.getByRole('link', { name: 'service:orders-db' }).first().click();
      await heading(page, /^service:/).waitFor();
      await page.getByText('Failing agents: 1').waitFor();
      await page.getByRole('link', { name: 'finance/invoice-reader' }).waitFor();
    });

    test('shows what is declared next to its evidence, and contradictions', async () => {
      const { page } = await visit('#/agents/finance/invoice-reader/evidence');
      await heading(page, 'invoice-reader').waitFor();
      const services = page.getByRole('table', { name: /^Services/ });
      await services.getByText('orders-db').first().waitFor();
      expect(await services.innerText()).toMatch(/Contradicted:\s*sidecar probe: connection refused/);
      await page.getByText('X-Platform-Tools-Called of 280 requests').waitFor();
      await page.getByText('memory event with this backend').waitFor();
      expect(await page.locator('main').innerText()).not.toContain('`');
    });

    test('has a history with the moments of change, readable by keyboard and as a table', async () => {
      const { page } = await visit('#/agents/finance/invoice-reader/history');
      const slider = page.getByRole('slider', { name: 'Score over time' });
      await slider.focus();
      await page.keyboard.press('Home');
      const valueIs = (text: RegExp): Promise<void> =>
        eventually(async () => expect(await slider.getAttribute('aria-valuetext')).toMatch(text));
      await valueIs(/Score 95/);
      await page.keyboard.press('End');
      await valueIs(/Score 65/);
      const changes = page.getByRole('table', { name: /^Moments of change/ });
      await changes.getByText('Healthy → Degraded').waitFor();
      await page.getByRole('radio', { name: '24 hours' }).check();
      await page.getByRole('button', { name: 'Show Tokens as table' }).click();
      const rows = page.getByRole('table', { name: /^Tokens in tokens/ }).getByRole('row');
      await eventually(async () => expect(await rows.count()).toBeGreaterThan(20));
    });

    test.each([
      ['checks', 'connection refused'],
      ['instances', 'invoice-reader-68b4f6-kz5tx'],
      ['policy', 'Failed open'],
      ['proofs', 'The agent has no proof.'],
    ])('has the tab %s', async (tab, text) => {
      const { page } = await visit('#/agents/finance/invoice-reader');
      await page.getByRole('link', { name: tab, exact: false }).and(page.locator('.tabs a')).click();
      await page.getByText(text).first().waitFor();
      expect(await inPage(page, 'location.hash')).toBe(`#/agents/finance/invoice-reader/${tab}`);
      expect(await page.locator('.tabs [aria-current="page"]').innerText()).toMatch(new RegExp(tab, 'i'));
    });

    test('has the response of the API, to copy and to download', async () => {
      const { page } = await visit('#/agents/support/order-assistant/raw');
      const json = await page.getByRole('region', { name: 'JSON of order-assistant' }).innerText();
      const detail = await plane.admin('GET', '/api/v1/agents/order-assistant?namespace=support');
      expect(JSON.parse(json)).toEqual(detail);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download JSON' }).click(),
      ]);
      expect(JSON.parse(await readFile(await download.path(), 'utf8'))).toEqual(detail);
    });

    test('changes while it is shown', async () => {
      const own = await otherPlane();
      const shop = { namespace: 'shop', name: 'seller' };
      await own.heartbeat(shop, aHeartbeat({ instance: 'seller-1' }));
      const streamed = Promise.withResolvers<undefined>();
      own.intercept = ({ url }) => {
        if (url === '/api/v1/stream') streamed.resolve(undefined);
        return null;
      };
      const { page } = await visit('#/agents/shop/seller', { url: own.url });
      await page.getByText('No points are lost.').waitFor();
      await streamed.promise;
      const issues = [
        {
          severity: 'medium' as const,
          property: 'auditable',
          description: 'no guardrails',
          recommendation: 'declare them',
        },
      ];
      const gap = { score: 90, grade: 'A' as const, source: 'agent-sdk' as const, issues };
      own.setNow(new Date(NOW.getTime() + 10_000));
      await own.heartbeat(shop, aHeartbeat({ instance: 'seller-1', seq: 2, gap }));
      await page.getByText('declare them').waitFor();
    });

    test('accepts a proof after correcting the fields, and withdraws it', async () => {
      const own = await otherPlane();
      await own.heartbeat({ namespace: 'shop', name: 'seller' }, aHeartbeat({ instance: 'seller-1' }));
      const { page } = await visit('#/agents/shop/seller/proofs', { url: own.url });
      const submit = page.getByRole('button', { name: 'Submit proof' });
      await submit.click();
      await eventually(async () =>
        expect(await inPage(page, 'document.activeElement?.getAttribute("aria-invalid")')).toBe('true'),
      );
      await page.getByLabel('Rule', { exact: true }).selectOption('EVAL-01');
      await page.getByLabel('Verified by').fill('CI job 42');
      await page.getByLabel('Method').fill('the evaluation passed');
      await submit.click();
      const proofs = page.getByRole('table', { name: 'Proofs' });
      await proofs.getByText('CI job 42').waitFor();
      expect(await own.admin('GET', '/api/v1/agents/seller/proof')).toMatchObject([
        { ruleId: 'EVAL-01', verifiedBy: 'CI job 42', origin: 'control-plane' },
      ]);
      await page.getByRole('button', { name: 'Withdraw proof of EVAL-01' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Withdraw proof' }).click();
      await page.getByText('The agent has no proof.').waitFor();
      expect(await own.admin('GET', '/api/v1/agents/seller/proof')).toEqual([]);
    });

    test('is deleted only after its name was entered', async () => {
      const own = await otherPlane();
      await own.heartbeat(
        { namespace: 'platform-remote', name: 'buyer', isRegistered: true },
        aHeartbeat({ instance: 'buyer-1' }),
      );
      const { page } = await visit('#/agents/platform-remote/buyer', {
        url: own.url,
        possible: [/status of 404/],
      });
      await page.getByRole('button', { name: 'Delete agent' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Delete agent and data' }).click();
      await dialog.getByText('must be buyer').waitFor();
      expect(await own.admin('GET', '/api/v1/agents')).toHaveLength(1);
      await dialog.getByLabel('Name of the agent').fill('buyer');
      await page.keyboard.press('Enter');
      await page.getByText('No agents yet').waitFor();
      expect(await own.admin('GET', '/api/v1/agents')).toEqual([]);
    });

    test('that does not exist is explained', async () => {
      const { page } = await visit('#/agents/support/absent', { expected: [/status of 404/] });
      await page.getByText('There is no agent absent in namespace support').waitFor();
    });
  });

  describe('the coverage', () => {
    interface Coverage {
      kinds: { kind: string; title: string; count: number }[];
      gaps: { kind: string; agentName: string; namespace: string; reason: string; remedy: string }[];
    }

    test('lists each agent that is not completely visible, with reason and remedy', async () => {
      const { page } = await visit('#/coverage');
      const { kinds, gaps } = await plane.admin<Coverage>('GET', '/api/v1/coverage');
      const found = kinds.filter(({ count }) => count > 0);
      expect(found.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining([
          ...['no-reporter', 'silent', 'failed-open', 'not-evaluated'],
          ...['no-lanes', 'unseen-egress'],
        ]),
      );
      await heading(page, 'What we cannot see').waitFor();
      for (const { kind, title } of found) {
        const table = page.getByRole('table', { name: title, exact: true });
        await table.waitFor();
        const text = await table.innerText();
        for (const { agentName, reason, remedy } of gaps.filter((each) => each.kind === kind))
          for (const part of [agentName, withLocalTimes(reason, formatTime), remedy])
            expect(text).toContain(part);
      }
      await page.getByRole('link', { name: 'research/summarizer' }).first().click();
      await heading(page, 'summarizer').waitFor();
    });
  });

  describe('the rules', () => {
    test('have a list with a filter, and a page each with failing agents and suppressions', async () => {
      const { page } = await visit('#/rules');
      const rules = await plane.admin<{ id: string; failingCount: number }[]>('GET', '/api/v1/rules');
      await page.getByText(`${rules.length} of ${rules.length} rules`).waitFor();
      await page.getByRole('checkbox', { name: 'Only rules that agents fail' }).check();
      const failing = rules.filter(({ failingCount }) => failingCount > 0).length;
      await page.getByText(`${failing} of ${rules.length} rules`).waitFor();
      await page.getByRole('link', { name: 'EVAL-01', exact: true }).click();
      await heading(page, 'EVAL-01').waitFor();
      await page.getByRole('link', { name: 'finance/invoice-reader' }).waitFor();
      await page.getByRole('link', { name: 'All rules' }).click();
      await page.getByText(`${failing} of ${rules.length} rules`).waitFor();
      await inPage(page, `location.hash = '#/rules/MEM-03'`);
      const suppressions = page.getByRole('table', { name: 'Suppressions' });
      await suppressions.getByText('Migration to the new vector store.').waitFor();
      expect(await suppressions.innerText()).toMatch(/Dana Fischer, security.*2026-02-15.*expired/s);
    });
  });

  describe('hostile texts of agents', () => {
    const SCRIPT = `<img src=x onerror="console.error('ran')"><script>console.error('ran')</script>"'><svg onload=alert(1)>`;
    const LINK = 'javascript:console.error("ran")';

    test('are shown as text on every page, and run nothing', async () => {
      const own = await otherPlane();
      // Its credential does not contain the name of its instance.
      const seller = { namespace: 'platform-remote', name: 'seller', isRegistered: true as const };
      const time = NOW.toISOString();
      await own.heartbeat(
        seller,
        aHeartbeat({
          instance: SCRIPT,
          sentAt: time,
          model: { provider: SCRIPT, id: LINK },
          manifestHash: SCRIPT.slice(0, 100),
          sidecarVersion: '<b>1</b>',
          gap: {
            score: 60,
            grade: 'C',
            source: 'agent-sdk',
            issues: [
              {
                severity: 'critical',
                property: `policy.${SCRIPT}`,
                description: SCRIPT,
                recommendation: LINK,
                source: 'policy',
              },
              { severity: 'medium', property: LINK, description: `[x](${LINK})`, recommendation: SCRIPT },
            ],
          },
          health: {
            agentName: 'seller',
            timestamp: time,
            status: 'unhealthy',
            summary: { passed: 0, failed: 1, warnings: 0, skipped: 0 },
            checks: [
              {
                id: `service:${SCRIPT}`,
                category: 'service',
                status: 'fail',
                severity: 'error',
                message: SCRIPT,
                remediation: LINK,
              },
            ],
          },
          evidence: {
            ...{ shown: 0, declared: 2, reported: 0 },
            items: [
              { kind: 'tool', name: SCRIPT, tier: 'reported', shownBy: SCRIPT, lastSeen: time },
              { kind: 'service', name: LINK, tier: 'none', contradictedBy: SCRIPT },
            ],
          },
          audit: {
            ...{ declared: 1, proved: 1, failed: ['EVAL-01'] },
            suppressions: [
              {
                rule: 'EVAL-02',
                reason: SCRIPT,
                approvedBy: SCRIPT,
                expires: SCRIPT.slice(0, 40),
                state: 'active',
              },
            ],
          },
        }),
      );
      await own.admin('POST', '/api/v1/agents/seller/proof/rule/EVAL-03', {
        verifiedBy: SCRIPT,
        method: LINK,
      });
      const { page } = await visit('#/', { url: own.url, expected: [/status of 404/] });
      await eventually(async () => expect(await namesIn(page)).toEqual(['seller']));
      for (const [hash, text] of [
        ['#/agents/platform-remote/seller', SCRIPT],
        ['#/agents/platform-remote/seller/evidence', SCRIPT],
        ['#/agents/platform-remote/seller/history', 'Moments of change'],
        ['#/agents/platform-remote/seller/checks', SCRIPT],
        ['#/agents/platform-remote/seller/proofs', SCRIPT],
        ['#/agents/platform-remote/seller/instances', '<b>1</b>'],
        ['#/agents/platform-remote/seller/policy', SCRIPT],
        ['#/agents/platform-remote/seller/raw', 'console.error'],
        ['#/coverage', 'What we cannot see'],
        ['#/rules/EVAL-02', SCRIPT],
        [`#/rules/${encodeURIComponent(SCRIPT)}`, SCRIPT],
        [`#/agents/shop/${encodeURIComponent(SCRIPT)}`, 'There is no agent'],
      ] as const) {
        await inPage(page, `location.hash = ${JSON.stringify(hash)}`);
        await page.getByText(text, { exact: false }).first().waitFor();
        const planted = await page
          .locator('#app img, #app script, #app b, [onerror], [onload], a[href^="javascript:"]')
          .count();
        expect({ hash, planted }).toEqual({ hash, planted: 0 });
      }
    });
  });
});
