import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { FULL_MANIFEST } from '../testing/manifests/manifest-text.ts';

test('the manifest in the reference is valid, and has every key', () => {
  const page = readFileSync(join(import.meta.dirname, 'reference/manifest-example.md'), 'utf8');
  const [, text = ''] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? [];
  // That FULL_MANIFEST has every key is checked next to the parser.
  expect(parseManifest(text)).toEqual({ ok: true, manifest: parse(FULL_MANIFEST) });
});
