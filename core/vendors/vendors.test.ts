import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Vendor } from './vendor.ts';
import { modelVendorOf, vendorNameOf, VENDORS } from './vendors.ts';

const ROOT = join(import.meta.dirname, '../..');
const ROWS = Object.entries<Vendor>(VENDORS);

/** Where the LLM analysis and its settings name the two vendors that the product itself can call. */
const OWN_PROVIDERS =
  /^(?:llm\/|sidecar\/(?:config|llm\/[\w-]+)\.ts$|core\/injection\/(?:analysis-settings|guard-table)\.ts$|cli\/commands\/provider-status\.ts$)/;

test('only core/vendors names the host or the key variable of a vendor', () => {
  // OpenAI is the example in texts for users.
  const words = ROWS.filter(([name]) => name !== 'openai').flatMap(([, { keys, api }]) => {
    const host = api?.baseUrl?.startsWith('https://') === true ? [new URL(api.baseUrl).hostname] : [];
    return [...keys, ...host];
  });
  const files = globSync(
    '{authoring,cli,core,kube,llm,operator,probe,push,reporter,runtime,sidecar,webhook}/**/*.ts',
    {
      cwd: ROOT,
      exclude: (name) => /node_modules|templates$|\.test\.ts$|\.generated\.ts$|^core\/vendors$/.test(name),
    },
  ).filter(
    (file) => !OWN_PROVIDERS.test(file) && !/\.test\.ts$|\.generated\.ts$|^core\/vendors\//.test(file),
  );
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return words.filter((word) => text.includes(word)).map((word) => `${file}: ${word}`);
  });
  expect(found).toEqual([]);
});

test('no name or alias belongs to two vendors', () => {
  const names = ROWS.flatMap(([name, { aliases }]) => [name, ...aliases]);
  expect(new Set(names).size).toBe(names.length);
});

test.each(ROWS)('the lane of %s leads to the host of its API', (_name, { api, lane }) => {
  const [host, upstream] = [api?.baseUrl ?? null, lane?.upstream ?? null];
  if (host === null || upstream === null || host.startsWith('http://localhost')) return;
  expect(new URL(host).origin).toBe(upstream);
});

test.each([
  ['Grok', 'xai', 'XAI_BASE_URL'],
  [' gemini ', 'google', 'GOOGLE_BASE_URL'],
  ['azure-openai', 'azure', 'AZURE_OPENAI_ENDPOINT'],
  ['my-vendor', 'my-vendor', 'MY_VENDOR_BASE_URL'],
  ['constructor', 'constructor', 'CONSTRUCTOR_BASE_URL'],
])('the provider %j is %s, with %s', (provider, name, variable) => {
  expect(vendorNameOf(provider)).toBe(name);
  expect(modelVendorOf(provider).variable).toBe(variable);
});
