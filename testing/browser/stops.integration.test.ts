// Stops, rights and sessions in a real Chromium, against a control plane in this process. Callers that need an identity provider
// are replies of the test in place of GET /api/v1/me.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Me } from '../../core/shapes/actor.ts';
import { ANNOTATION_STOP, type StopEntry } from '../../core/shapes/agent-stop.ts';
import type { ConfirmedStop } from '../../core/shapes/agent-stop.ts';
import { Problem } from '../../runtime/problem.ts';
import { aHeartbeat } from '../fleet/heartbeat.ts';
import { whyNoBrowser } from '../machine/debian-server.ts';
import { eventually, TestBrowser, type Visit, type VisitOptions } from './chromium.ts';
import { ADMIN_KEY, DashboardPlane, NOW } from './dashboard-plane.ts';
import { DESKTOP, expectAccessible, inPage, isLoaded, shown } from './screen.ts';

let browser: TestBrowser;
let plane: DashboardPlane;
let seq = 0;

const REMOTE = { namespace: 'platform-remote', name: 'buyer', isRegistered: true as const };
const AGENT = '#/agents/shop/seller';

const visit = (hash: string, options: Partial<VisitOptions> = {}): Promise<Visit> =>
  browser.visit({ url: plane.url, hash, key: ADMIN_KEY, now: NOW, viewport: DESKTOP, ...options });

/** A tab with the session of a person instead of a key. */
const visitAs = (me: Me, hash: string, options: Partial<VisitOptions> = {}): Promise<Visit> => {
  plane.intercept = ({ url = '', headers }) => {
    if (url === '/api/v1/me') return Promise.resolve({ status: 200, body: me });
    // The cookie of the session, which this control plane does not know, becomes the key.
    headers['x-admin-key'] ??= ADMIN_KEY;
    return null;
  };
  const { key: _key, ...without } = { key: '', ...options };
  return browser.visit({ url: plane.url, hash, now: NOW, viewport: DESKTOP, ...without });
};

const PERSON: Me = {
  ...{ method: 'session', iss: 'https://id.example', sub: 'u1', name: 'Alice Miller', overage: false },
  can: { read: '*', stop: [], resume: [], prove: [], admin: false },
  until: '2026-03-02T15:30:00.000Z',
};
const OPERATOR: Me = { ...PERSON, can: { ...PERSON.can, stop: ['shop'], resume: ['shop'] } };

const beat = (instance: string, stop?: ConfirmedStop): Promise<void> =>
  plane.heartbeat(
    { namespace: 'shop', name: 'seller' },
    aHeartbeat({ instance, seq: ++seq, ...(stop && { stop }) }),
  );

/** Both instances of the agent apply a stop. */
async function confirm(id: string, lanes: boolean): Promise<void> {
  const stop = { id, since: NOW.toISOString(), cut: 2, lanes };
  await beat('seller-1', stop);
  await beat('seller-2', stop);
}

const banner = (page: Page) => page.getByRole('region', { name: 'Stop of the agent' });
const stopButton = (page: Page) => page.getByRole('button', { name: 'Stop…' });
const dialog = (page: Page) => page.getByRole('dialog');

(whyNoBrowser() ? describe.skip : describe)('the dashboard', () => {
  beforeAll(async () => {
    [browser, plane] = await Promise.all([TestBrowser.launch(), DashboardPlane.open()]);
    await beat('seller-1');
    await beat('seller-2');
    await plane.heartbeat(REMOTE, aHeartbeat({ instance: 'buyer-1' }));
  });
  afterEach(async () => {
    await browser.endTest();
    plane.intercept = () => null;
    // The next test begins with an agent that runs.
    for (const { namespace, name } of await plane.admin<StopEntry[]>('GET', '/api/v1/stops'))
      await plane.admin('DELETE', `/api/v1/stops/${namespace}/${name}`);
    await beat('seller-1');
    await beat('seller-2');
  });
  afterAll(async () => {
    await browser.close();
    await plane.close();
  });

  describe('stops', () => {
    test('one agent with a reason and a time, shows how far the stop got, and resumes the agent', async () => {
      const { page } = await visit(AGENT);
      await stopButton(page).click();
      await shown(page, 'Not stopped:');
      await dialog(page).getByRole('button', { name: 'Stop seller' }).click();
      await shown(page, 'Reason must not be empty');
      expect(await plane.admin('GET', '/api/v1/stops')).toEqual([]);
      await dialog(page).getByLabel('Reason').fill('wrong refunds');
      await dialog(page).getByLabel('Duration').selectOption('8 hours');
      await dialog(page).getByRole('button', { name: 'Stop seller' }).click();
      await banner(page).getByText('wrong refunds').waitFor();
      expect(await banner(page).innerText()).toContain('until 2 Mar 2026, 22:30:00 UTC');
      expect(await inPage(page, 'document.activeElement?.ariaLabel')).toBe('Stop of the agent');
      const [stop] = await plane.admin<StopEntry[]>('GET', '/api/v1/stops');
      expect(stop).toMatchObject({
        ...{ namespace: 'shop', agents: ['seller'], reason: 'wrong refunds' },
        until: '2026-03-02T22:30:00.000Z',
      });

      await beat('seller-1', { id: stop?.id ?? '', since: NOW.toISOString(), cut: 1, lanes: true });
      await banner(page).getByText('Stopping (1 of 2 instances)').waitFor();
      await confirm(stop?.id ?? '', true);
      await banner(page).getByText('Stopped', { exact: true }).waitFor();

      await banner(page)
        .getByRole('button', { name: /^Resume/ })
        .click();
      await dialog(page).getByText('seller of namespace shop').waitFor();
      await expectAccessible(page);
      expect(await page.locator('.condition-neutral').allInnerTexts()).toEqual(['Yes']);
      await dialog(page).getByRole('button', { name: 'End the stop' }).click();
      await banner(page).getByText('Resuming').or(stopButton(page)).first().waitFor();
      expect(await plane.admin('GET', '/api/v1/stops')).toEqual([]);
      await beat('seller-1');
      await beat('seller-2');
      await stopButton(page).waitFor();
      expect(await banner(page).count()).toBe(0);
    });

    test('all agents after the word is typed, lists the stop, and ends it', async () => {
      const { page } = await visit('#/stops');
      await shown(page, 'No agent is stopped');
      await page.getByRole('button', { name: 'Stop all agents…' }).click();
      await dialog(page).getByLabel('Reason').fill('leaked key');
      await dialog(page).getByLabel('Type the word all').fill('al');
      await dialog(page).getByRole('button', { name: 'Stop all agents' }).click();
      await shown(page, 'Type the word all must be all');
      expect(await plane.admin('GET', '/api/v1/stops')).toEqual([]);
      await dialog(page).getByLabel('Type the word all').fill('all');
      await page.keyboard.press('Enter');
      const table = page.getByRole('table', { name: 'Active stops' });
      await table.getByText('leaked key').waitFor();
      await table.getByText('all agents of every namespace').waitFor();
      expect(await plane.admin('GET', '/api/v1/stops')).toMatchObject([{ namespaces: ['*'], stored: true }]);
      await expectAccessible(page);
      await table.getByRole('button', { name: /^Resume/ }).click();
      await dialog(page).getByRole('button', { name: 'End the stop' }).click();
      await shown(page, 'No agent is stopped');
      expect(await plane.admin('GET', '/api/v1/stops')).toEqual([]);
    });
  });

  describe('shows a stop', () => {
    test('that only rejects requests, on the agent and in the fleet', async () => {
      await confirm(ANNOTATION_STOP, false);
      const { page } = await visit(AGENT);
      await banner(page).getByText('Only requests are rejected', { exact: true }).waitFor();
      await banner(page)
        .getByText(/calls that the agent makes on its own continue/)
        .waitFor();
      // No AgentStop exists that could be deleted.
      await banner(page).getByText('kubectl annotate pods -n shop POD platform.io/stop-').waitFor();
      expect(await banner(page).getByRole('button').count()).toBe(0);
      expect(await stopButton(page).count()).toBe(0);
      await isLoaded(page);
      await expectAccessible(page);
      await inPage(page, `location.hash = '#/'`);
      const row = page.locator('.grid-body [role="row"]').filter({ hasText: 'seller' });
      await row.getByText('requests rejected').waitFor();
      await page.getByRole('button', { name: 'Stopped only' }).click();
      await eventually(async () =>
        expect(await page.locator('.grid-body .col-name').allInnerTexts()).toEqual(['seller']),
      );
      expect(await inPage(page, 'location.hash')).toBe('#/?stopped=1');
    });
  });

  describe('with a session', () => {
    test('shows who is signed in, and hides what the rights do not allow', async () => {
      const { page } = await visitAs(PERSON, AGENT);
      await page.getByText('Alice Miller', { exact: true }).waitFor();
      await isLoaded(page);
      expect(await stopButton(page).count()).toBe(0);
      await inPage(page, `location.hash = '#/agents/shop/seller/proofs'`);
      await shown(page, 'The agent has no proof.');
      expect(await page.getByText('Submit a proof').count()).toBe(0);
      await inPage(page, `location.hash = '#/agents/platform-remote/buyer'`);
      await page.getByRole('heading', { name: 'buyer', exact: true }).waitFor();
      await isLoaded(page);
      expect(await page.getByRole('button', { name: 'Delete agent' }).count()).toBe(0);
      await inPage(page, `location.hash = '#/stops'`);
      await shown(page, 'No agent is stopped');
      expect(await page.getByRole('button', { name: 'Stop all agents…' }).count()).toBe(0);
    });

    test('a missing right is an error next to the button, and does not sign out', async () => {
      const { page } = await visitAs(OPERATOR, AGENT, { expected: [/status of 403/] });
      await stopButton(page).click();
      await dialog(page).getByLabel('Reason').fill('wrong refunds');
      const before = plane.intercept;
      plane.intercept = (request) =>
        request.method === 'POST'
          ? Promise.resolve(new Problem(403, 'you may not create agentstops in namespace shop'))
          : before(request);
      await dialog(page).getByRole('button', { name: 'Stop seller' }).click();
      await dialog(page).getByText('You may not do this in namespace shop').waitFor();
      await page.keyboard.press('Escape');
      await page.getByText('Alice Miller', { exact: true }).waitFor();
      await stopButton(page).waitFor();
    });

    test('signs out at the server', async () => {
      const { page } = await visitAs(PERSON, '#/stops', { expected: [/status of 401/] });
      const posted = Promise.withResolvers<string | undefined>();
      await shown(page, 'No agent is stopped');
      plane.intercept = ({ method, url, headers }) => {
        if (url === '/api/v1/me') return Promise.resolve(new Problem(401, 'signed out'));
        if (method !== 'POST' || url !== '/auth/logout') return null;
        posted.resolve(headers['sec-fetch-site']);
        return Promise.resolve({ status: 200, body: { location: `${plane.url}/` } });
      };
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      // The control plane accepts requests of its own page only.
      expect(await posted.promise).toBe('same-origin');
    });

    test('that ends leads to the sign-in, which comes back to the page', async () => {
      const { page } = await visitAs(PERSON, '#/coverage', { expected: [/status of 401/] });
      await page.getByRole('heading', { name: 'What we cannot see' }).waitFor();
      const ended = new Problem(401, 'the session has ended', { extra: { signIn: '/auth/login' } });
      plane.intercept = ({ url = '' }) => (url.startsWith('/api/') ? Promise.resolve(ended) : null);
      await page.getByRole('link', { name: 'Stops' }).click();
      await shown(page, 'Your session has ended. Sign in again.');
      const link = page.getByRole('link', { name: 'Sign in with your identity provider' });
      expect(await link.getAttribute('href')).toBe('auth/login?to=%2F%23%2Fstops');
      await expectAccessible(page);
    });

    test('without groups says that the identity provider sent too many', async () => {
      const none: Me = { ...PERSON, overage: true, can: { ...PERSON.can, read: [] } };
      const { page } = await visitAs(none, '#/');
      await shown(page, 'Your identity provider sent too many groups');
      await isLoaded(page);
      await expectAccessible(page);
    });

    test('without a right to read does not claim that no agent is stopped', async () => {
      const none: Me = { ...PERSON, can: { ...PERSON.can, read: [] } };
      const { page } = await visitAs(none, '#/stops');
      const before = plane.intercept;
      plane.intercept = (request) =>
        request.url === '/api/v1/stops' ? Promise.resolve({ status: 200, body: [] }) : before(request);
      await page.reload();
      await shown(page, 'You may not read the agents of any namespace');
      expect(await page.getByText('No agent is stopped').count()).toBe(0);
    });
  });

  test('signing out with a key leads to the sign-in at the identity provider too', async () => {
    const { page } = await visit('#/stops', { expected: [/status of 401/] });
    await page.getByText('admin key', { exact: true }).waitFor();
    plane.intercept = ({ url, headers }) =>
      url === '/api/v1/me' && headers['x-admin-key'] === undefined
        ? Promise.resolve(new Problem(401, 'sign in', { extra: { signIn: '/auth/login' } }))
        : null;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in with your identity provider' }).waitFor();
  });

  test('the sign-in has no link without an identity provider, and a key shows its kind', async () => {
    const { page } = await browser.visit({ url: plane.url, now: NOW, expected: [/status of 401/] });
    await page.getByLabel('Admin key or read key').fill(ADMIN_KEY);
    expect(await page.getByRole('link', { name: 'Sign in with your identity provider' }).count()).toBe(0);
    await page.keyboard.press('Enter');
    await page.getByText('admin key', { exact: true }).waitFor();
  });
});
