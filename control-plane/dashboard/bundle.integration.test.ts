import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { ProcessRig } from '../../testing/machine/process-rig.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const FOLDER = join(ROOT, 'dist/dashboard');
/** Maximum size of scripts and stylesheets together, compressed with Brotli, in bytes. */
const MAX_BYTES = 70_000;

let names: string[];
const textOf = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

beforeAll(() => {
  if (!existsSync(FOLDER)) throw new Error('dist/dashboard is missing: run npm run build');
  names = readdirSync(FOLDER).filter((name) => /^app-.*\.(js|css)$/.test(name));
});

describe('the bundle of the dashboard', () => {
  test('is one script and one stylesheet of at most 70 kB', () => {
    expect(names.map((name) => name.replace(/-[A-Z0-9]{8}\./, '-HASH.')).sort()).toEqual([
      'app-HASH.css',
      'app-HASH.js',
    ]);
    const sizes = names.map((name) => {
      const bytes = readFileSync(join(FOLDER, name));
      return {
        name,
        raw: bytes.length,
        gzip: gzipSync(bytes).length,
        brotli: brotliCompressSync(bytes).length,
      };
    });
    const brotli = sizes.reduce((sum, each) => sum + each.brotli, 0);
    const gzip = sizes.reduce((sum, each) => sum + each.gzip, 0);
    process.stderr.write(
      `dashboard: ${brotli} bytes with Brotli (limit ${MAX_BYTES}), ${gzip} with gzip: ${JSON.stringify(sizes)}\n`,
    );
    expect(brotli).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('has a page that loads exactly these files and has nothing inline', () => {
    const page = textOf('index.html');
    const loaded = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    const files = loaded.filter((address) => !address.startsWith('data:'));
    expect(files.sort()).toEqual(names.map((name) => `assets/${name}`).sort());
    expect(page).not.toMatch(
      /<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+=|javascript:|<!-- (?:SCRIPT|STYLE) -->/i,
    );
  });

  test('loads nothing from another host, evaluates no text, and refers to no source map', () => {
    for (const name of names) {
      const text = textOf(name);
      expect(text).not.toMatch(/sourceMappingURL/);
      expect(text).not.toMatch(/\beval\(|new Function\(|importScripts/);
      if (name.endsWith('.css')) expect(text).not.toMatch(/@import|url\((?!["']?data:)/);
    }
  });

  test('has licence notices for its packages in the image of the control plane', () => {
    const notices = readFileSync(join(ROOT, 'dist/control-plane/THIRD-PARTY-NOTICES'), 'utf8');
    for (const name of ['preact', '@preact/signals', '@preact/signals-core', 'uplot'])
      expect(notices).toContain(`\n## ${name} `);
  });
});

describe('the bundle of the control plane', () => {
  let rig: ProcessRig;
  let url: string;

  beforeAll(async () => {
    rig = await ProcessRig.open();
    // Alone in a directory, as in the image.
    const folder = join(rig.folder, 'dist/control-plane');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(rig.folder, 'dist/package.json'), '{ "type": "commonjs" }\n');
    copyFileSync(join(ROOT, 'dist/control-plane/main.js'), join(folder, 'main.js'));
    const [port = 0] = await freePorts(1);
    url = `http://127.0.0.1:${port}`;
    await rig.startProgram(join(folder, 'main.js'), `${url}/readyz`, {
      PORT: String(port),
      DATA_DIR: join(rig.folder, 'data'),
    });
  });
  afterAll(() => rig.close());

  test('contains the dashboard: no other file is needed', async () => {
    const page = await fetch(`${url}/`);
    expect([page.status, await page.text()]).toEqual([200, textOf('index.html')]);
    for (const name of names) {
      const response = await fetch(`${url}/assets/${name}`, { headers: { 'accept-encoding': 'br, gzip' } });
      expect([response.status, response.headers.get('content-encoding')]).toEqual([200, 'br']);
      expect(await response.text()).toBe(textOf(name));
    }
    expect((await fetch(`${url}/assets/app-00000000.js`)).status).toBe(404);
  });
});
