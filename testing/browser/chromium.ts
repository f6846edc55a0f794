import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';
import { BROWSER_ROOT, libraryPath } from '../machine/debian-server.ts';

/** Debian's Chromium, unpacked or installed, or Google Chrome. Debian's launcher script has absolute paths and is not used. */
const PROGRAMS = [
  join(BROWSER_ROOT, 'usr/lib/chromium/chromium'),
  '/usr/lib/chromium/chromium',
  '/usr/bin/google-chrome',
];
/** Only these fonts exist in the browser, so that every machine lays out a page in the same way. */
const FONTS = ['liberation', 'dejavu'].flatMap((family) => [
  join(BROWSER_ROOT, 'usr/share/fonts/truetype', family),
  join('/usr/share/fonts/truetype', family),
]);
const GENERIC = {
  'sans-serif': 'Liberation Sans',
  'system-ui': 'Liberation Sans',
  'ui-sans-serif': 'Liberation Sans',
  monospace: 'Liberation Mono',
  'ui-monospace': 'Liberation Mono',
  serif: 'Liberation Serif',
};
/** The key of the admin key in the session storage (dashboard/session.ts). */
const STORED_KEY = 'agent-compliance-admin-key';
const WAIT_MS = 30_000;

export interface VisitOptions extends BrowserContextOptions {
  /** Address of the control plane; requests to other addresses are faults. */
  url: string;
  /** Where the dashboard opens. */
  hash?: string;
  /** The admin key that the tab has already; absent: signed out. */
  key?: string;
  /** The time of the browser, which does not pass. Timers run. Absent: the real time. */
  now?: Date;
  /** Messages that are expected on the console, such as a response 403; each must occur. */
  expected?: readonly RegExp[];
  /** Messages that depend on what the server does first. */
  possible?: readonly RegExp[];
}

/** One tab with a profile of its own, and what was wrong in it. */
export class Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly #expected: { pattern: RegExp; isSeen: boolean }[] = [];
  readonly #faults: string[] = [];

  constructor(context: BrowserContext, page: Page, { url, expected = [], possible = [] }: VisitOptions) {
    this.context = context;
    this.page = page;
    const { origin } = new URL(url);
    for (const pattern of expected) this.#expected.push({ pattern, isSeen: false });
    for (const pattern of possible) this.#expected.push({ pattern, isSeen: true });
    context.on('console', (message) => this.#note(`console.${message.type()}: ${message.text()}`));
    context.on('weberror', (error) => this.#note(`uncaught: ${error.error().message}`));
    context.on('request', (request) => {
      const address = request.url();
      if (!address.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(address))
        this.#note(`request to ${address}`);
    });
    context.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText ?? '';
      // The page ends its own requests, such as the event stream when it is left.
      if (reason !== 'net::ERR_ABORTED') this.#note(`request failed: ${request.url()} (${reason})`);
    });
    page.on('crash', () => this.#faults.push('the page crashed'));
  }

  /** Closes the tab and returns what was wrong. */
  async close(): Promise<string[]> {
    await this.context.close();
    const missing = this.#expected.filter(({ isSeen }) => !isSeen);
    return [
      ...this.#faults,
      ...missing.map(({ pattern }) => `expected message did not occur: ${String(pattern)}`),
    ];
  }

  #note(text: string): void {
    const expected = this.#expected.filter(({ pattern }) => pattern.test(text));
    for (const each of expected) each.isSeen = true;
    if (expected.length === 0) this.#faults.push(text);
  }
}

/** One headless Chromium for a test file. Call `whyNoBrowser` first. */
export class TestBrowser {
  readonly #browser: Browser;
  readonly #folder: string;
  readonly #visits = new Set<Visit>();

  private constructor(browser: Browser, folder: string) {
    this.#browser = browser;
    this.#folder = folder;
  }

  static async launch(): Promise<TestBrowser> {
    const executablePath = PROGRAMS.find((path) => existsSync(path));
    if (executablePath === undefined)
      throw new Error(
        `Chromium not found: run scripts/debian-servers.sh browser (expected ${PROGRAMS.join(', ')})`,
      );
    const folder = await mkdtemp(join(tmpdir(), 'agent-compliance-browser-'));
    const fonts = join(folder, 'fonts.conf');
    await writeFile(fonts, fontConfiguration(join(folder, 'fonts')));
    const browser = await chromium.launch({
      executablePath,
      env: {
        PATH: process.env['PATH'],
        // Without access to the user's own settings.
        HOME: folder,
        TMPDIR: folder,
        FONTCONFIG_FILE: fonts,
        ...(executablePath.startsWith(BROWSER_ROOT) && { LD_LIBRARY_PATH: libraryPath(BROWSER_ROOT) }),
      },
      args: [
        '--disable-gpu',
        '--disable-lcd-text',
        '--font-render-hinting=none',
        '--no-proxy-server',
        // Nothing but the control plane is reachable, whatever the browser wants to send.
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      ],
      timeout: 60_000,
    });
    return new TestBrowser(browser, folder);
  }

  /** Opens the dashboard in a new tab with a profile of its own. */
  async visit(options: VisitOptions): Promise<Visit> {
    const { url, hash = '#/', key, now, expected: _expected, possible: _possible, ...profile } = options;
    const context = await this.#browser.newContext({
      locale: 'en-GB',
      timezoneId: 'UTC',
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
      ...profile,
    });
    context.setDefaultTimeout(WAIT_MS);
    // Chromium reports violations of the CSP on the console, except those of a policy that only reports.
    await context.addInitScript({ content: REPORT_VIOLATIONS });
    if (key !== undefined) await context.addInitScript({ content: signedIn(key) });
    if (now !== undefined) await context.addInitScript({ content: withDate(now) });
    const page = await context.newPage();
    const visit = new Visit(context, page, options);
    this.#visits.add(visit);
    await page.goto(`${url}/${hash}`);
    return visit;
  }

  /** Closes all tabs, and throws if something was wrong in one of them. Call it after each test. */
  async endTest(): Promise<void> {
    const visits = [...this.#visits];
    this.#visits.clear();
    const faults = (await Promise.all(visits.map((visit) => visit.close()))).flat();
    if (faults.length > 0) throw new Error(`the page had faults:\n${faults.join('\n')}`);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('CSP: ' + event.effectiveDirective + ' blocks ' + event.blockedURI));`;

/** Runs before the page in each document; about:blank has no storage. */
const signedIn = (key: string): string =>
  `try { sessionStorage.setItem(${JSON.stringify(STORED_KEY)}, ${JSON.stringify(key)}); } catch {}`;

/** The date stands still; timers and animations run. The clock of Playwright would replace those too. */
const withDate = (now: Date): string => `globalThis.Date = class extends Date {
  constructor(...parts) {
    super(...(parts.length === 0 ? [${now.getTime()}] : parts));
  }
  static now() {
    return ${now.getTime()};
  }
};`;

function fontConfiguration(cache: string): string {
  const aliases = Object.entries(GENERIC).map(
    ([family, font]) =>
      `<alias binding="strong"><family>${family}</family><prefer><family>${font}</family><family>DejaVu Sans</family></prefer></alias>`,
  );
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
${FONTS.map((folder) => `<dir>${folder}</dir>`).join('\n')}
${aliases.join('\n')}
<match target="pattern"><edit name="family" mode="append_last"><string>Liberation Sans</string></edit></match>
<cachedir>${cache}</cachedir>
</fontconfig>
`;
}

/** Repeats an assertion until it passes. Rejects with its last error if it still fails after half a minute. */
export async function eventually<T>(assertion: () => T | Promise<T>): Promise<T> {
  const end = performance.now() + WAIT_MS;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(20);
    }
  }
}
