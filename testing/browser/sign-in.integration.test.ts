// The sign-in in a real Chromium, with a real identity provider: which cookies the browser keeps, and when it sends them.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { TestServers } from '../http/sockets.ts';
import { whyNoBrowser } from '../machine/debian-server.ts';
import { startSignInRig, type SignInRig } from '../sign-in/sign-in-rig.ts';
import { TestBrowser, type VisitOptions } from './chromium.ts';

let browser: TestBrowser;
let rig: SignInRig;
const servers = new TestServers();

const suite = whyNoBrowser() ? describe.skip : describe;

suite('a browser', () => {
  beforeAll(async () => {
    browser = await TestBrowser.launch();
  });
  beforeEach(async () => {
    rig = await startSignInRig();
    rig.provider.account = { sub: 'alice', name: 'Alice', groups: ['sre'] };
  });
  afterEach(async () => {
    await browser.endTest();
    await rig.close();
    await servers.close();
  });
  afterAll(() => browser.close());

  /** A signed-in tab; requests to the provider are expected. */
  async function signedIn(options: Partial<VisitOptions> = {}): Promise<Page> {
    const { page } = await browser.visit({
      ...{ url: rig.url, hash: '' },
      ...options,
      expected: [new RegExp(`^request to ${rig.provider.url}/`), ...(options.expected ?? [])],
      // Neither the page of the test nor the provider has an icon.
      possible: [/status of 404/],
    });
    await page.goto(`${rig.url}/auth/login?to=${encodeURIComponent('/#/agents')}`);
    return page;
  }

  /** Sends a request as the page does; returns status and body. */
  const send = (page: Page, method: string, path = '/me'): Promise<[number, Record<string, unknown>]> =>
    page.evaluate(
      `fetch('${path}', { method: '${method}' }).then(async (response) => [response.status, await response.json()])`,
    );

  test('comes back to the address where the sign-in began, and its requests have the session', async () => {
    const page = await signedIn();
    expect(page.url()).toBe(`${rig.url}/#/agents`);
    for (const method of ['GET', 'POST'])
      expect(await send(page, method)).toEqual([
        200,
        expect.objectContaining({ method: 'session', sub: 'alice', groups: ['oidc:sre'] }),
      ]);
    expect(await page.evaluate('document.cookie')).toBe('');
    const cookies = await page.context().cookies(rig.url);
    expect(cookies.filter(({ name }) => name.startsWith('__Host-'))).toMatchObject([
      { name: '__Host-platform-session', httpOnly: true, secure: true, sameSite: 'Strict' },
    ]);
  });

  test('signs out here and at the provider', async () => {
    const page = await signedIn({ expected: [/401/] });
    const [status, { location }] = await send(page, 'POST', '/auth/logout');
    expect([status, location]).toEqual([200, expect.stringContaining(`${rig.provider.url}/session/end`)]);
    expect((await send(page, 'GET'))[0]).toBe(401);
    await page.goto(location as string);
    expect(page.url()).toContain('/session/end');
  });

  test('sends the cookie with a form of another port, which is the same site; the request is rejected', async () => {
    const port = await servers.http((_request, response) =>
      response
        .setHeader('content-type', 'text/html')
        .end(`<!doctype html><form method="post" action="${rig.url}/me"><button>Send</button></form>`),
    );
    const page = await signedIn({
      expected: [new RegExp(`^request to http://127.0.0.1:${port}/`), /403/],
    });
    await page.goto(`http://127.0.0.1:${port}/`);
    const [response] = await Promise.all([
      page.waitForResponse((each) => each.url() === `${rig.url}/me`),
      page.getByRole('button').click(),
    ]);
    expect((await response.request().allHeaders())['cookie']).toContain('__Host-platform-session');
    expect(response.status()).toBe(403);
    expect(await page.innerText('body')).toContain('"title":"cross-site request"');
  });
});
