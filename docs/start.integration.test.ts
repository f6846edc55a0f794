// Does what a reader of "Get started" does, in an empty home: types every block of docs/guide/start.md and compares each output with
// the one on the page. UPDATE_SAMPLES=1 writes the outputs into the page. In `make soak` the checkout is a real clone, packages come
// from the registry, and `make demo ONCE=1` runs first.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { freePorts } from '../examples/demo/free-ports.ts';
import { userEnvironment } from '../testing/machine/consumer-project.ts';
import { blocksIn } from '../testing/documents/documented-commands.ts';
import { startNpmRegistry } from '../testing/machine/npm-registry.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { TypedShell } from '../testing/machine/typed-shell.ts';

const ROOT = dirname(import.meta.dirname);
const PAGE = join(ROOT, 'docs/guide/start.md');
const TIMEOUT_MS = IN_SOAK ? 900_000 : 150_000;
/** What this machine needs to reach the registry. */
const NETWORK = /^(?:https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i;

let home: string;
let checkout: string;
let shell: TypedShell;
let vendorPort: string;
const closing: (() => Promise<void>)[] = [];

/** A checkout after the first `make`: the files of this repository, a build that is up to date, and a place for the archive. */
function linkCheckout(): void {
  mkdirSync(join(checkout, 'dist'), { recursive: true });
  mkdirSync(join(checkout, 'node_modules'));
  for (const name of readdirSync(ROOT).filter((each) => !/^(?:\.git|dist|node_modules|.*\.tgz)$/.test(each)))
    symlinkSync(join(ROOT, name), join(checkout, name));
  symlinkSync(join(ROOT, 'node_modules/.bin'), join(checkout, 'node_modules/.bin'));
  for (const stamp of ['node_modules/.package-lock.json', 'dist/.built'])
    writeFileSync(join(checkout, stamp), '');
}

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'new-user-'));
  checkout = join(home, 'agent-compliance');
  const files = join(home, '.typed');
  mkdirSync(files);
  const env = userEnvironment(home);
  const network = Object.entries(process.env).filter(([name]) => NETWORK.test(name));
  if (IN_SOAK) Object.assign(env, Object.fromEntries(network));
  if (!IN_SOAK) {
    linkCheckout();
    const registry = await startNpmRegistry('openai', files);
    closing.push(() => registry.close());
    env['npm_config_registry'] = registry.url;
  }
  [vendorPort = ''] = (await freePorts(1)).map(String);
  shell = new TypedShell(files, { cwd: IN_SOAK ? home : checkout, env });
  closing.push(() => shell.close());
}, TIMEOUT_MS);

afterAll(async () => {
  for (const close of closing.reverse()) await close();
  rmSync(home, { recursive: true, force: true });
});

/** The page with the port that is free on this machine. */
const adapted = (text: string): string => text.replaceAll('9009', vendorPort);

/**
 * An output without what differs between two runs: ports, times, and lines about calls, which are printed when they are noticed. The
 * agent and the command print at the same time, so the order of lines does not count.
 */
const comparable = (output: string): string[] =>
  output
    .replaceAll(/(?: --url \S+)? \([^()]* is in use[^()]*\)/g, '')
    .replaceAll(/(\b127\.0\.0\.1:|\bport )\d+/g, '$1PORT')
    .replaceAll(/\b[\d.]+ ?m?s\b/g, 'TIME')
    .replaceAll(home, '~')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^platform \| (?:first call|\d\d:)/.test(line))
    .sort();

test(
  'every command of the page does what the page shows, and the undeclared call is removed',
  async () => {
    const page = readFileSync(PAGE, 'utf8');
    const wrong: { at: number; shown: string; printed: string }[] = [];
    const startedMs = performance.now();
    if (IN_SOAK) await shell.type(`git clone --quiet ${ROOT} ${checkout}\ncd ${checkout}\nmake demo ONCE=1`);
    let printed = '';
    for (const { language, body, at } of blocksIn(page)) {
      if (language === 'sh') printed = await shell.type(adapted(body));
      else if (language === 'js') {
        const name = /^\/\/ (\S+)\n/.exec(body)?.[1];
        await shell.type(`cat > ${name} <<'END'\n${body}END`);
      } else if (language === '' && !isDeepStrictEqual(comparable(printed), comparable(body)))
        wrong.push({
          at,
          shown: body,
          printed: printed.replaceAll(vendorPort, '9009').replaceAll(home, '~'),
        });
    }
    process.stdout.write(`Get started: ${((performance.now() - startedMs) / 1_000).toFixed(0)} s\n`);
    if (process.env['UPDATE_SAMPLES'] === '1') {
      let text = page;
      for (const { at, shown, printed: now } of wrong.reverse())
        text = `${text.slice(0, at)}${now.trim()}\n${text.slice(at + shown.length)}`;
      writeFileSync(PAGE, text);
      return;
    }
    // npm run samples writes the outputs into the page.
    expect(wrong.map(({ printed: now }) => comparable(now))).toEqual(
      wrong.map(({ shown }) => comparable(shown)),
    );
  },
  TIMEOUT_MS,
);
