import { afterEach, expect, test } from '@jest/globals';
import { startEgressRig, type EgressRig } from '../../testing/egress-rig.ts';
import { until } from '../../testing/proxy-rig.ts';
import { connectRawHttp2 } from '../../testing/raw-http2.ts';

const CHAT = '/openai/v1/chat/completions';
const JSON_TYPE = { 'content-type': 'application/json' };
const ask = JSON.stringify({ model: 'gpt-5', messages: [] });

let rig: EgressRig;
afterEach(() => rig.close());

test('a stream with an expectation that is reset in the packet of its head is not served', async () => {
  rig = await startEgressRig();
  const client = connectRawHttp2(rig.port);
  // Everything is sent when the connection is established.
  client.post(1, CHAT, { ...JSON_TYPE, expect: '100-continue' });
  client.reset(1);
  client.post(3, '/openai/v1/other', { ...JSON_TYPE, expect: '100-continue' });
  client.data(3, ask, true);
  await until(() => rig.egress.log.newest().length > 0, 'the second call');
  expect(rig.egress.log.newest().map(({ path }) => path)).toEqual(['/v1/other']);
  expect(rig.vendor.requests.map(({ url }) => url)).toEqual(['/v1/other']);
  client.socket.destroy();
});
