import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readAnnotations } from '../../core/injection/annotations.ts';
import type { Api } from '../../core/manifest/manifest.ts';
import { manifestWarnings } from '../../core/manifest/manifest-warnings.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { parseWith } from '../../core/shapes/field.ts';
import { identity, IDENTITY_REASONS } from '../../core/shapes/identity.ts';
import { manifestText } from '../../testing/sidecar/sidecar-rig.ts';
import { headerReader, parseProxies } from './proxy-header.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/guide/identity.md'), 'utf8');
const blocksOf = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text);

test('the manifest of the guide is valid and without a warning', () => {
  const { spec } = parse(blocksOf('yaml')[0] ?? '') as { spec: { api: Api } };
  const parsed = parseManifest(manifestText(spec));
  expect(parsed).toMatchObject({
    ok: true,
    manifest: { spec: { api: { auth: { audience: 'shop-agent' } } } },
  });
  expect(parsed.ok && manifestWarnings(parsed.manifest)).toEqual([]);
});

test('the annotations of the guide name a header and its proxies', () => {
  const { metadata } = parse(blocksOf('yaml')[1] ?? '') as {
    metadata: { annotations: Record<string, string> };
  };
  const read = readAnnotations(metadata.annotations);
  expect(read).toMatchObject({ ok: true });
  const { identityHeader = '', identityProxies = '' } = read.ok ? read.values : {};
  const user = headerReader(identityHeader, parseProxies(identityProxies)!)(
    ['X-Forwarded-User', 'alice'],
    '10.0.0.7',
  );
  expect(user).toEqual({ user: 'alice' });
});

test('the identity of the guide has the shape of the routes', () => {
  const shown = JSON.parse(blocksOf('json')[0] ?? '') as unknown;
  expect(parseWith(identity, shown)).toEqual({ ok: true, value: shown });
});

test('the guide explains each reason', () => {
  const explained = [...PAGE.matchAll(/^\| `([a-z]+-[a-z]+|busy|pending)` /gm)].map(([, reason]) => reason);
  expect(explained.sort()).toEqual([...IDENTITY_REASONS].sort());
});
