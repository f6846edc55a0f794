import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { chartIn, contentOf } from './helm-release.ts';

const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64');
const chart = JSON.stringify({ chart: { metadata: { name: 'agent-compliance' } } });

test.each<[string, string | undefined, string]>([
  ['compressed by Helm', base64(base64(gzipSync(chart))), 'agent-compliance'],
  ['not compressed', base64(base64(chart)), 'agent-compliance'],
  ['absent', undefined, ''],
  ['of another shape', base64(base64('{"chart":[]}')), ''],
  ['not JSON', base64('someone else'), ''],
  ['compressed and truncated', base64(base64(gzipSync(chart).subarray(0, 20))), ''],
])('reads the chart of a Secret whose release is %s', (_, release, expected) => {
  const metadata = { name: 'sh.helm.release.v1.x.v1', namespace: 'n' };
  expect(chartIn({ metadata, ...(release === undefined ? {} : { data: { release } }) })).toBe(expected);
});

const revision = (value: unknown): string => base64(base64(gzipSync(JSON.stringify(value))));
const BOMB = `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`).join('\n')}`;

test.each<[string, string | undefined, string]>([
  ['absent', undefined, 'it has no key "release"'],
  ['empty', '', 'it is not a Helm release encoding (base64, gzip, JSON)'],
  ['not base64', '%%%', 'it is not a Helm release encoding (base64, gzip, JSON)'],
  [
    'truncated',
    base64(base64(gzipSync('{"manifest":""}').subarray(0, 12))),
    'it is not a Helm release encoding (base64, gzip, JSON)',
  ],
  ['a list', revision([]), 'it is not a Helm release encoding (base64, gzip, JSON)'],
  ['without a manifest', revision({ name: 'r' }), 'it has no manifest'],
  ['with a manifest of another type', revision({ manifest: 1 }), 'it has no manifest'],
  ['with a manifest that is not YAML', revision({ manifest: 'a: b: c' }), 'its manifest is not valid YAML'],
  ['with a manifest of expanding aliases', revision({ manifest: BOMB }), 'its manifest is not valid YAML'],
  [
    'larger than anything that Helm writes',
    base64(base64(gzipSync(`{"manifest":"${'x'.repeat(17 * 1024 * 1024)}"}`))),
    'it is not a Helm release encoding (base64, gzip, JSON)',
  ],
])('reports why a revision is unreadable: %s', (_, release, why) => {
  expect(contentOf(release)).toEqual({ ok: false, why });
});

test('lists the objects in the manifest of a revision', () => {
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
