// Every screen of the dashboard in a real Chromium: accessibility in both color schemes, narrow windows, keyboard, locales, and the
// screenshots of the documentation. `npm run screenshots` writes those.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { whyNoBrowser } from '../machine/debian-server.ts';
import { violationsOf } from './accessibility.ts';
import { eventually, TestBrowser, type Visit, type VisitOptions } from './chromium.ts';
import { ADMIN_KEY, DashboardPlane, NOW } from './dashboard-plane.ts';
import {
  DESKTOP,
  expectAccessible,
  expectScreenshot,
  inPage,
  isLoaded,
  overflow,
  setColorScheme,
  shown,
} from './screen.ts';

const DAY_MS = 86_400_000;
let browser: TestBrowser;
let plane: DashboardPlane;

const visit = (hash = '#/', options: Partial<VisitOptions> = {}): Promise<Visit> =>
  browser.visit({ url: plane.url, hash, key: ADMIN_KEY, now: NOW, viewport: DESKTOP, ...options });

/** A valid proof and an expired one. */
async function addProofs(): Promise<void> {
  const proof = { verifiedBy: 'nightly evaluation, run 512', method: '240 of 240 cases passed' };
  const rule = '/api/v1/agents/invoice-reader/proof/rule';
  plane.setNow(new Date(NOW.getTime() - 2 * DAY_MS));
  await plane.admin('POST', `${rule}/EVAL-02`, {
    ...proof,
    expiresAt: new Date(NOW.getTime() - DAY_MS).toISOString(),
  });
  plane.setNow(NOW);
  await plane.admin('POST', `${rule}/EVAL-01`, {
    ...proof,
    expiresAt: new Date(NOW.getTime() + 30 * DAY_MS).toISOString(),
  });
}

interface Screen {
  name: string;
  hash: string;
  /** A text that is there when the screen is complete. */
  text: string;
  /** Leads from the page to the screen. */
  open?: (page: Page) => Promise<void>;
}

const AGENT = '#/agents/finance/invoice-reader';
const SCREENS: readonly Screen[] = [
  { name: 'the fleet', hash: '#/', text: 'web-researcher' },
  { name: 'the fleet in groups', hash: '#/?group=namespace', text: 'web-researcher' },
  { name: 'the fleet without a match', hash: '#/?q=nothing', text: 'No agent matches the filters' },
  {
    name: 'a chart as table',
    hash: '#/?sort=-tokens',
    text: 'newest first',
    open: (page) => page.getByRole('button', { name: 'Show Mean score as table' }).click(),
  },
  { name: 'an agent', hash: AGENT, text: 'Why C and not B' },
  { name: 'its evidence', hash: `${AGENT}/evidence`, text: 'Contradicted:' },
  { name: 'an agent whose outgoing calls are not observed', hash: `${AGENT}/egress`, text: 'not observed' },
  { name: 'the outgoing calls', hash: '#/agents/research/web-researcher/egress', text: '4 contradictions' },
  {
    name: 'outgoing calls without lanes',
    hash: '#/agents/support/refund-helper/egress',
    text: 'no egress lane',
  },
  {
    name: 'outgoing calls of an earlier version',
    hash: '#/agents/finance/expense-auditor/egress',
    text: 'does not have all items',
  },
  {
    name: 'a census that is refused',
    hash: '#/agents/platform-remote/laptop-agent/egress',
    text: 'census refused',
  },
  {
    name: 'outgoing calls before the first report',
    hash: '#/agents/platform-remote/new-agent/egress',
    text: 'There is no report yet',
  },
  { name: 'its history', hash: `${AGENT}/history`, text: 'Healthy → Degraded' },
  { name: 'its checks', hash: `${AGENT}/checks`, text: 'service:orders-db' },
  { name: 'its proofs', hash: `${AGENT}/proofs`, text: 'nightly evaluation, run 512' },
  {
    name: 'the dialog that withdraws a proof',
    hash: `${AGENT}/proofs`,
    text: 'The proof stops counting',
    open: (page) => page.getByRole('button', { name: 'Withdraw proof of EVAL-01' }).click(),
  },
  {
    name: 'the form of a proof with errors',
    hash: '#/agents/support/refund-helper/proofs',
    text: 'Verified by',
    open: (page) => page.getByRole('button', { name: 'Submit proof' }).click(),
  },
  { name: 'its instances', hash: `${AGENT}/instances`, text: 'invoice-reader-68b4f6-kz5tx' },
  { name: 'its policy', hash: `${AGENT}/policy`, text: 'Failed open' },
  { name: 'its raw data', hash: `${AGENT}/raw`, text: 'manifestHash' },
  {
    name: 'the dialog that deletes an agent',
    hash: '#/agents/platform-remote/laptop-agent',
    text: 'Name of the agent',
    open: (page) => page.getByRole('button', { name: 'Delete agent' }).click(),
  },
  {
    name: 'the dialog that stops an agent',
    hash: AGENT,
    text: 'Not stopped:',
    open: (page) => page.getByRole('button', { name: 'Stop…' }).click(),
  },
  {
    name: 'an agent without a report',
    hash: '#/agents/platform-remote/new-agent',
    text: 'There is no score yet.',
  },
  { name: 'the coverage', hash: '#/coverage', text: 'research/summarizer' },
  { name: 'the organisation without rules', hash: '#/organisation', text: 'No organisation rules yet' },
  // The query of the page is the first event.
  { name: 'the events', hash: '#/events', text: 'listAuditEvents' },
  { name: 'the events of an agent', hash: `${AGENT}/events`, text: 'listAuditEvents' },
  { name: 'the stops without a stop', hash: '#/stops', text: 'No agent is stopped' },
  { name: 'the rules', hash: '#/rules', text: 'EVAL-01' },
  { name: 'a rule', hash: '#/rules/MEM-03', text: 'Migration to the new vector store.' },
  { name: 'an unknown address', hash: '#/nothing', text: 'There is no page at this address' },
];

const WIDTH_SCREENS = SCREENS.filter(({ name }) =>
  ['the fleet', 'an agent', 'its history', 'its instances', 'the coverage', 'the rules'].includes(name),
);

/** The texts of headings, buttons and figures that are wider than their boxes. */
const CUT_HEADINGS = `[...document.querySelectorAll(
  'h1, h2, h3, th, .grid-headings .cell, .button, .chip, .tabs a, .chart-title, .figure-value',
)].filter((each) => each.offsetParent !== null && getComputedStyle(each).display !== 'inline'
  && each.scrollWidth > each.clientWidth).map((each) => each.textContent)`;

(whyNoBrowser() ? describe.skip : describe)('the screens of the dashboard', () => {
  beforeAll(async () => {
    [browser, plane] = await Promise.all([TestBrowser.launch(), DashboardPlane.open()]);
    await plane.addFleet();
    await addProofs();
  });
  afterAll(async () => {
    await browser.close();
    await plane.close();
  });

  describe('without a violation of WCAG 2.2 AA in light and dark, and without horizontal scrolling at 320 pixels', () => {
    let page: Page;
    beforeAll(async () => {
      ({ page } = await visit());
    });
    // One tab for all, because each load of a page takes longer than its screen.
    afterAll(() => browser.endTest());

    test.each(SCREENS)('$name', async ({ hash, text, open }) => {
      await inPage(page, `location.hash = ${JSON.stringify(hash)}`);
      await open?.(page);
      await shown(page, text);
      await isLoaded(page);
      await expectAccessible(page);
      if (open !== undefined) await page.keyboard.press('Escape');
    });
  });

  describe('and', () => {
    afterEach(() => browser.endTest());

    test('signing in is accessible', async () => {
      const { page } = await browser.visit({
        url: plane.url,
        expected: [/status of 401/, /status of 403/],
      });
      await shown(page, 'Where the key comes from');
      await expectAccessible(page);
      await page.getByLabel('Admin key or read key').fill('not-the-admin-key');
      await page.keyboard.press('Enter');
      await shown(page, 'This key is wrong.');
      await expectAccessible(page);
    });

    test.each(['#/', AGENT])('a phone has no violation at %s', async (hash) => {
      const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
      const { page } = await visit(hash, phone);
      await shown(page, 'invoice-reader');
      expect(await violationsOf(page)).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
    });

    test.each([360, 390])('the links of all pages fit a phone of %p pixels', async (width) => {
      const { page } = await visit('#/stops', { viewport: { width, height: 844 } });
      await shown(page, 'No agent is stopped');
      const nav = `document.querySelector('.shell-nav')`;
      expect(await inPage(page, `${nav}.scrollWidth - ${nav}.clientWidth`)).toBeLessThanOrEqual(0);
    });

    test.each([1280, 1366, 1920, 390])(
      'no heading is cut at %p pixels, also in a font that is 8 % wider',
      async (width) => {
        const { page } = await visit('#/', { viewport: { width, height: 900 }, locale: 'en-US' });
        await inPage(page, `document.documentElement.style.setProperty('--text-small', '0.875rem')`);
        for (const { hash, text } of WIDTH_SCREENS) {
          await inPage(page, `location.hash = '${hash}'`);
          await shown(page, text);
          await isLoaded(page);
          expect(await inPage(page, CUT_HEADINGS)).toEqual([]);
          expect(await overflow(page)).toBeLessThanOrEqual(0);
        }
      },
    );

    test('the verdict is the first column after the name, and opens the page of an agent', async () => {
      const { page } = await visit();
      await shown(page, 'web-researcher');
      const headings = await page.getByRole('columnheader').allInnerTexts();
      expect(headings.slice(0, 2)).toEqual(['Agent', 'Compliant']);
      const row = page.getByRole('row').filter({ hasText: 'invoice-reader' });
      await row.getByText('the grade is below B').waitFor();
      await row.getByRole('link').click();
      const sentence = page.locator('header + .verdict');
      expect(await sentence.innerText()).toBe(
        'Compliant: No, the grade is below B. Next step: fix what costs points.',
      );
    });

    test('the current tab is inside the window of a phone', async () => {
      const { page } = await visit(`${AGENT}/raw`, { viewport: { width: 390, height: 844 } });
      const tab = page.locator('.tabs [aria-current="page"]');
      await eventually(async () => {
        const { x = -1, width = 0 } = (await tab.boundingBox()) ?? {};
        expect(x >= 0 && x + width <= 390).toBe(true);
      });
      expect(await inPage(page, 'scrollY')).toBe(0);
    });

    test('the color scheme is that of the system', async () => {
      const background = (page: Page): Promise<string> =>
        inPage(page, 'getComputedStyle(document.body).backgroundColor');
      const { page } = await visit('#/', { colorScheme: 'light' });
      await shown(page, 'web-researcher');
      const light = await background(page);
      await setColorScheme(page, 'dark');
      expect(await background(page)).not.toBe(light);
    });

    test('nothing moves for readers who prefer that', async () => {
      const gate = Promise.withResolvers<null>();
      plane.intercept = ({ url = '' }) => (url.startsWith('/api/v1/agents?') ? gate.promise : null);
      const { page } = await visit();
      await page.getByText('Loading agents').waitFor({ state: 'attached' });
      expect(await inPage(page, 'document.getAnimations().length')).toBe(0);
      plane.intercept = () => null;
      gate.resolve(null);
      await shown(page, 'web-researcher');
      await page.getByRole('link', { name: 'order-assistant' }).click();
      await shown(page, 'No points are lost.');
      expect(await inPage(page, 'document.getAnimations().length')).toBe(0);
    });

    test('numbers and times have the locale and the time zone of the reader', async () => {
      const { page } = await visit('#/agents/support/order-assistant', {
        locale: 'de-DE',
        timezoneId: 'America/New_York',
      });
      const agents = await plane.admin<AgentRow[]>('GET', '/api/v1/agents');
      const tokens = agents.find(({ agentName }) => agentName === 'order-assistant')?.tokens ?? 0;
      await shown(page, new Intl.NumberFormat('de-DE').format(tokens));
      const last = page.locator('.agent-heading time');
      expect(await last.innerText()).toMatch(/^vor 12/);
      expect(await last.getAttribute('title')).toMatch(/2026.*09:29:48.*GMT-5/);
    });

    test('everything is reachable by keyboard, in order, with a visible focus', async () => {
      const { page } = await visit();
      await shown(page, 'web-researcher');
      const focused = (): Promise<{ name: string; isVisible: boolean; row: string | null }> =>
        inPage(
          page,
          `(() => {
            const element = document.activeElement;
            const hasOutline = (each) => {
              const style = each === null ? null : getComputedStyle(each);
              return style !== null && style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) > 0;
            };
            return {
              name: element.ariaLabel || element.textContent.trim() || element.placeholder || element.tagName,
              // The link of a row is as large as its row, which has the ring.
              isVisible: hasOutline(element) || hasOutline(element.closest('.grid-body [role="row"]')),
              row: element.closest('.grid-body [role="row"]')?.dataset.key ?? null,
            };
          })()`,
        );
      await page.keyboard.press('Tab');
      expect(await focused()).toMatchObject({ name: 'Skip to content', isVisible: true });
      await page.keyboard.press('Enter');
      expect(await inPage(page, 'document.activeElement.id')).toBe('main');

      const walked: Awaited<ReturnType<typeof focused>>[] = [];
      while ((walked.at(-1)?.row ?? null) === null && walked.length < 80) {
        await page.keyboard.press('Tab');
        walked.push(await focused());
      }
      expect(walked.filter(({ isVisible }) => !isVisible)).toEqual([]);
      const names = walked.map(({ name }) => name);
      const wanted = [
        'Export CSV',
        'Search agents',
        'Failures only',
        'Group by namespace',
        'Agent',
        'web-researcher',
      ];
      expect(names.filter((name) => wanted.includes(name))).toEqual(wanted);

      await page.keyboard.press('ArrowDown');
      await eventually(async () => expect((await focused()).row).toBe('platform-remote/laptop-agent'));
      await page.keyboard.press('End');
      await eventually(async () => expect((await focused()).row).toBe('platform-remote/new-agent'));
      await page.keyboard.press('Home');
      await eventually(async () => expect((await focused()).row).toBe('research/web-researcher'));
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'web-researcher' }).waitFor();
      await eventually(async () => expect(await inPage(page, 'document.activeElement.id')).toBe('main'));
      expect(await inPage(page, 'document.title')).toBe('web-researcher in research · Agent Compliance');
    });
  });

  describe('screenshots', () => {
    afterEach(() => browser.endTest());

    const WIDE = { width: 1440, height: 1200 };
    test.each<[name: string, hash: string, ready: string, profile: Partial<VisitOptions>]>([
      ['fleet', '#/', '.live-live', { viewport: { ...WIDE, height: 990 } }],
      ['agent', AGENT, '.lost-list li', { viewport: WIDE, colorScheme: 'dark' }],
      ['coverage', '#/coverage', '.card table', { viewport: WIDE }],
      [
        'phone',
        '#/',
        '.live-live',
        { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
      ],
    ])(
      'docs/images/dashboard-%s.png shows the present page: else run npm run screenshots',
      async (name, hash, ready, profile) => {
        const { page } = await visit(hash, profile);
        await page.locator(ready).first().waitFor();
        if (hash === '#/') await shown(page, 'web-researcher');
        // No request is under way, and no chart is still to be drawn.
        await isLoaded(page);
        await expectScreenshot(page, name);
      },
    );
  });
});
