import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { chartIn, contentOf } from './helm-release.ts';

const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64');
const chart = JSON.stringify({ chart: { metadata: { name: 'agent-compliance' } } });

test.each<[string, string | undefined, string]>([
  ['packed, as Helm does it', base64(base64(gzipSync(chart))), 'agent-compliance'],
  ['not packed', base64(base64(chart)), 'agent-compliance'],
  ['absent', undefined, ''],
  ['of another shape', base64(base64('{"chart":[]}')), ''],
  ['no JSON', base64('someone else'), ''],
  ['packed and cut off', base64(base64(gzipSync(chart).subarray(0, 20))), ''],
])('the chart of a Secret whose release is %s', (_, release, expected) => {
  const metadata = { name: 'sh.helm.release.v1.x.v1', namespace: 'n' };
  expect(chartIn({ metadata, ...(release === undefined ? {} : { data: { release } }) })).toBe(expected);
});

const revision = (value: unknown): string => base64(base64(gzipSync(JSON.stringify(value))));
const BOMB = `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`).join('\n')}`;

test.each<[string, string | undefined, string]>([
  ['absent', undefined, 'it has no key "release"'],
  ['empty', '', 'it is not JSON that Helm has packed'],
  ['no base64', '%%%', 'it is not JSON that Helm has packed'],
  [
    'cut off',
    base64(base64(gzipSync('{"manifest":""}').subarray(0, 12))),
    'it is not JSON that Helm has packed',
  ],
  ['a list', revision([]), 'it is not JSON that Helm has packed'],
  ['without a manifest', revision({ name: 'r' }), 'it has no manifest'],
  ['with a manifest of another type', revision({ manifest: 1 }), 'it has no manifest'],
  ['with a manifest that is no YAML', revision({ manifest: 'a: b: c' }), 'its manifest is no YAML'],
  ['with a manifest of endless aliases', revision({ manifest: BOMB }), 'its manifest is no YAML'],
  [
    'larger than anything that Helm writes',
    base64(base64(gzipSync(`{"manifest":"${'x'.repeat(17 * 1024 * 1024)}"}`))),
    'it is not JSON that Helm has packed',
  ],
])('a revision that is %s is said to be so', (_, release, why) => {
  expect(contentOf(release)).toEqual({ ok: false, why });
});

test('a revision has the objects of its manifest', () => {
  const manifest =
    '---\napiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: n}\n---\n# nothing\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, labels: {x: y, x: z}}\n';
  expect(contentOf(revision({ manifest }))).toEqual({
    ok: true,
    objects: [
      { apiVersion: 'v1', kind: 'Service', name: 'a', namespace: 'n' },
      { apiVersion: 'apps/v1', kind: 'Deployment', name: 'b' },
    ],
  });
});
