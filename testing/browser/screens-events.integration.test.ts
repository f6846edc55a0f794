// The page of the events and the tab of an agent in a real Chromium, on events that sidecars sent to a control plane.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import type { RecordEvent } from '../../core/record/record-event.ts';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { Problem } from '../../runtime/problem.ts';
import { aHeartbeat } from '../fleet/heartbeat.ts';
import { whyNoBrowser } from '../machine/debian-server.ts';
import { lineMaker } from '../record/record-files.ts';
import { sampleEvents } from '../record/sample-events.ts';
import { eventually, TestBrowser, type Visit, type VisitOptions } from './chromium.ts';
import { ADMIN_KEY, DashboardPlane, NOW } from './dashboard-plane.ts';
import { DESKTOP, expectAccessible, expectScreenshot, inPage, isLoaded, shown } from './screen.ts';

const SHOP = { namespace: 'retail', name: 'shop' };
const REFUNDS = { namespace: 'support', name: 'refund-helper' };
/** What a person, a tool and a reason can contain. */
const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>';
let browser: TestBrowser;
let plane: DashboardPlane;
const line = lineMaker();

const visit = (hash: string, options: Partial<VisitOptions> = {}): Promise<Visit> =>
  browser.visit({ url: plane.url, hash, key: ADMIN_KEY, now: NOW, viewport: DESKTOP, ...options });
const send = (events: readonly RecordEvent[]): Promise<void> => plane.auditEvents(SHOP, events.map(line));
const rows = (page: Page): Locator => page.locator('.events > li');
const textsOf = async (page: Page): Promise<string[]> =>
  (await rows(page).allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());

/** An allowed request at a minute before the present. */
const requestAt = (minutes: number): RecordEvent => {
  const { request } = sampleEvents();
  const timestamp = new Date(NOW.getTime() - minutes * 60_000).toISOString();
  return { kind: 'request', entry: { ...request.entry, timestamp } };
};

(whyNoBrowser() ? describe.skip : describe)('the events', () => {
  beforeAll(async () => {
    [browser, plane] = await Promise.all([TestBrowser.launch(), DashboardPlane.open()]);
    await plane.heartbeat(SHOP, aHeartbeat({ instance: 'shop-1' }));
    await plane.heartbeat(REFUNDS, aHeartbeat({ instance: 'refund-helper-1' }));
  });
  afterEach(async () => {
    plane.intercept = () => null;
    await browser.endTest();
  });
  afterAll(async () => {
    await browser.close();
    await plane.close();
  });

  test('without events, the page explains how they arrive', async () => {
    plane.intercept = ({ url = '' }) =>
      url.startsWith('/api/v1/audit-events') ? Promise.resolve({ status: 200, body: [] }) : null;
    const { page } = await visit('#/events');
    await shown(page, 'No events yet');
    await expectAccessible(page);
    await page.getByLabel('Person').fill('mallory');
    await page.keyboard.press('Enter');
    await shown(page, 'No event matches the filters');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await shown(page, 'No events yet');
  });

  test('a store that keeps none is explained', async () => {
    plane.intercept = ({ url = '' }) =>
      url.startsWith('/api/v1/audit-events')
        ? Promise.resolve(new Problem(501, 'the Kubernetes store keeps no events'))
        : null;
    const { page } = await visit('#/events', { expected: [/status of 501/] });
    await shown(page, 'This control plane keeps no events');
    await shown(page, 'The Kubernetes store keeps no events.');
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await expectAccessible(page);
  });

  describe('of one agent', () => {
    beforeAll(async () => {
      const { undeclaredTool, request } = sampleEvents();
      const identity = { source: 'jwt', user: MARKUP } as const;
      const entry = { ...request.entry, timestamp: NOW.toISOString(), identity };
      await send([
        ...Object.values(sampleEvents()),
        {
          ...undeclaredTool,
          at: NOW.getTime(),
          call: { ...undeclaredTool.call, toolsCalled: [MARKUP], violations: [MARKUP] },
        },
        { kind: 'request', entry },
      ]);
    });

    test('are listed, open by keyboard, and are accessible', async () => {
      const { page } = await visit('#/events?namespace=retail');
      await shown(page, 'delete_file');
      await page.locator('.events summary', { hasText: 'delete_file' }).focus();
      await page.keyboard.press('Enter');
      const open = page.locator('.events [open]');
      await open.getByText('destructive_tool_without_confirmation').first().waitFor();
      const members = await open.locator('dl.facts').innerText();
      for (const part of ['metadata.uid', 'actor.user.uid', 'auth0|5f7c', 'unmapped.platform.violations'])
        expect(members).toContain(part);
      await expectAccessible(page);
    });

    test('are texts and no markup', async () => {
      const { page } = await visit('#/events?namespace=retail');
      await shown(page, MARKUP);
      for (const summary of await page.locator('.events summary', { hasText: 'onerror' }).all())
        await summary.click();
      await isLoaded(page);
      expect(await page.locator('.events :is(img, b)').count()).toBe(0);
      expect(await inPage(page, 'document.title')).toBe('Events · Agent Compliance');
    });

    test.each([
      ['Person', 'alice', 'user=alice'],
      ['Tool', 'wipe_disk', 'tool=wipe_disk'],
    ])('are filtered by %s with Enter', async (name, value, query) => {
      const { page } = await visit('#/events?namespace=retail');
      await shown(page, 'delete_file');
      await page.getByRole('textbox', { name }).fill(value);
      await page.keyboard.press('Enter');
      await eventually(async () => {
        const texts = await textsOf(page);
        expect(texts.length).toBeGreaterThan(0);
        expect(texts.filter((text) => !text.includes(value))).toEqual([]);
      });
      expect(await inPage<string>(page, 'location.hash')).toBe(`#/events?namespace=retail&${query}`);
    });

    test('are filtered by outcome, kind and time', async () => {
      const { page } = await visit('#/events?namespace=retail');
      await shown(page, 'delete_file');
      await page.getByLabel('Outcome').selectOption('failOpen');
      await eventually(async () => expect(await rows(page).count()).toBe(1));
      await page.getByLabel('Outcome').selectOption('');
      await page.getByLabel('Kind').selectOption('gap');
      await shown(page, '3 events lost');
      await eventually(async () => expect(await rows(page).count()).toBe(1));
      await page.getByLabel('Until').fill('2026-03-01T11:00');
      await shown(page, 'No event matches the filters');
    });

    test('are the tab of the agent, without filters for it', async () => {
      const { page } = await visit('#/agents/retail/shop/events');
      await shown(page, 'delete_file');
      expect(await page.getByLabel('Namespace').count()).toBe(0);
      await page.getByLabel('Kind').selectOption('lifecycle');
      await eventually(async () => expect(await rows(page).count()).toBe(3));
      await expectAccessible(page);
    });

    test('appear while the page is open, and are on several pages', async () => {
      const { page } = await visit('#/events?namespace=retail&kind=request');
      await shown(page, '/v1/chat');
      // Newer than all others.
      await send(Array.from({ length: 150 }, (_, index) => requestAt(index)));
      await eventually(async () => expect(await rows(page).count()).toBe(100));
      const [first = ''] = await textsOf(page);
      expect(first).toContain('14:30:00');
      await page.getByRole('button', { name: 'Older events' }).click();
      await eventually(async () => expect((await textsOf(page))[0]).toContain('12:51:00'));
      expect(await page.getByRole('button', { name: 'Older events' }).count()).toBe(0);
      expect(await page.getByText(', live').count()).toBe(0);
      await page.getByRole('button', { name: 'Newer events' }).click();
      await eventually(async () => expect((await textsOf(page))[0]).toBe(first));
    });
  });

  test('docs/images/dashboard-events.png shows the present page: else run npm run screenshots', async () => {
    await plane.auditEvents(REFUNDS, refundEvents().map(lineMaker({ ...REFUNDS_SOURCE })));
    const wide = { viewport: { width: 1440, height: 1000 } };
    // The query of this page is an event too, at the present.
    const { page } = await visit(`#/events?namespace=support&until=${NOW.toISOString()}`, wide);
    await page.locator('.events summary', { hasText: 'refund_order' }).first().click();
    await page.locator('.events dl').waitFor();
    await isLoaded(page);
    await expectScreenshot(page, 'events');
  });
});

const REFUNDS_SOURCE = { namespace: REFUNDS.namespace, agent: REFUNDS.name, instance: 'refund-helper-1' };

/** Some minutes of an agent, the oldest first. */
function refundEvents(): RecordEvent[] {
  const { started, request, deniedWithoutIdentity, failOpen, modelCall, findingOpened, suspended, resumed } =
    sampleEvents();
  const { toolCall, destructiveBlocked, lost } = sampleEvents();
  const before = (seconds: number): number => NOW.getTime() - seconds * 1_000;
  const entryOf = ({ entry }: { entry: AuditEntry }, seconds: number, user?: string): RecordEvent => ({
    kind: 'request',
    entry: {
      ...{ ...entry, timestamp: new Date(before(seconds)).toISOString() },
      ...(user !== undefined && { identity: { source: 'jwt', user } }),
    },
  });
  const callOf = (
    { call, ...event }: RecordEvent & { kind: 'call' },
    seconds: number,
    tool: string,
  ): RecordEvent => ({
    ...{ ...event, at: before(seconds), request: { identity: { source: 'jwt', user: 'bob@example.com' } } },
    call: { ...call, toolsCalled: [tool] },
  });
  return [
    { ...started, at: before(1_790) },
    entryOf(request, 1_512, 'alice@example.com'),
    {
      ...{ ...findingOpened, at: before(1_500) },
      issue: { ...findingOpened.issue, description: 'the model gpt-4o-mini is not declared' },
    },
    entryOf(failOpen, 960, 'alice@example.com'),
    { ...lost, at: before(955) },
    entryOf(request, 412, 'bob@example.com'),
    callOf(modelCall, 411, 'lookup_order'),
    callOf(toolCall, 410, 'lookup_order'),
    callOf(destructiveBlocked, 408, 'refund_order'),
    entryOf(deniedWithoutIdentity, 233),
    { ...suspended, reason: 'wrong refunds since 14:00', at: before(190) },
    { ...resumed, reason: 'manifest corrected', at: before(31) },
    entryOf(request, 12, 'alice@example.com'),
  ];
}
