import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { chartIn } from './helm-release.ts';

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
