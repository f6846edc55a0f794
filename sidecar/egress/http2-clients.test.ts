import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect as connectHttp2, Http2ServerResponse, type IncomingHttpHeaders } from 'node:http2';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { CHAT } from '../../testing/sidecar/chat-vendor.ts';
import { startEgressRig, type EgressRig } from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';
import { connectRawHttp2 } from '../../testing/http/raw-http2.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const EVENTS = { 'content-type': 'text/event-stream' };
const ask = JSON.stringify({ model: 'gpt-5', messages: [] });

let rig: EgressRig;
afterEach(async () => {
  jest.restoreAllMocks();
  await rig.close();
});

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

describe('a call whose client resets its stream', () => {
  test.each([
    ['before the response', () => undefined],
    ['in a stream', (response) => void response.writeHead(200, EVENTS).write('data: {"choices":[]}\n\n')],
    [
      'in a response that is read as a whole',
      (response) => void response.writeHead(200, JSON_TYPE).write('{'),
    ],
  ] satisfies [string, (response: ServerResponse) => void][])(
    '%s ends at the vendor, and its reservation is kept',
    async (_title, begin) => {
      rig = await startEgressRig();
      let isOpen = false;
      let hasClosed = false;
      rig.vendor.respond = (_seen, response) => {
        isOpen = true;
        response.once('close', () => (hasClosed = true));
        begin(response);
      };
      const client = connectRawHttp2(rig.port);
      client.post(1, CHAT, JSON_TYPE);
      client.data(1, ask, true);
      await until(() => isOpen, 'the call at the vendor');
      client.reset(1);
      await until(() => hasClosed, 'the end of the call at the vendor');
      expect(rig.egress.log.newest()).toHaveLength(1);
      expect(rig.egress.reservations.total.tokens).toBeGreaterThan(0);
      client.socket.destroy();
    },
  );

  test('before the end of its body does not complete at the vendor', async () => {
    rig = await startEgressRig();
    const arrived = once(rig.vendor.server, 'request') as Promise<[IncomingMessage]>;
    const client = connectRawHttp2(rig.port);
    client.post(1, '/openai/v1/files', { 'content-type': 'multipart/form-data' });
    client.data(1, 'part');
    const [request] = await arrived;
    const closed = new Promise((resolve) => request.on('error', () => undefined).once('close', resolve));
    client.reset(1);
    await closed;
    expect(request.complete).toBe(false);
    expect(rig.vendor.requests).toEqual([]);
    client.socket.destroy();
  });
});

test('a request to no lane gets a problem without a reason phrase', async () => {
  rig = await startEgressRig();
  // Node.js warns on the error output, once in a process, if there is a phrase.
  const writeHead = jest.spyOn(Http2ServerResponse.prototype, 'writeHead');
  const session = connectHttp2(rig.url);
  const request = session.request({ ':path': '/unknown' });
  const [headers] = (await once(request, 'response')) as [IncomingHttpHeaders];
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  session.close();
  expect(headers).toMatchObject({ ':status': 404, 'content-type': 'application/problem+json' });
  expect(JSON.parse(text)).toMatchObject({ status: 404, title: 'Not Found' });
  expect(writeHead.mock.calls.flat().filter((each) => typeof each === 'string')).toEqual([]);
  expect(writeHead).toHaveBeenCalledTimes(1);
});
