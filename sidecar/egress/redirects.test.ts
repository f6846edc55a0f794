import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { afterEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../runtime/logger.ts';
import { post, startEgressRig, type EgressRig } from '../../testing/sidecar/egress-rig.ts';
import { askRaw } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: EgressRig;
afterEach(() => rig.close());

/** An upstream that redirects every path to the one with a slash at its end, and serves that one. */
async function startWithSlashes(lanes: string, status = 307): Promise<void> {
  rig = await startEgressRig({ lanes });
  rig.vendor.respond = ({ url, body }, response) => {
    const [path = '', query = ''] = url.split(/(?=\?)/);
    if (path.endsWith('/')) response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    else response.writeHead(status, { location: `${rig.vendor.url}${path}/${query}` }).end();
  };
}

describe('a redirect of the upstream to itself', () => {
  test.each([
    ['mcp:files=vendor/mcp', '/mcp/files', '/mcp/', 307],
    ['mcp:files=vendor/mcp?key=1', '/mcp/files', '/mcp/?key=1', 308],
    ['mcp:files=vendor/mcp', '/mcp/files?key=2', '/mcp/?key=2', 302],
    ['openai=vendor/v1', '/openai/v1/chat/completions?x=1', '/v1/chat/completions/?x=1', 307],
    ['openai=vendor', '/openai/chat/completions', '/chat/completions/', 308],
    ['compatible:corp=vendor/team/v1', '/compatible/corp/embeddings', '/team/v1/embeddings/', 301],
    ['anthropic=vendor', '/anthropic/v1/messages', '/v1/messages/', 303],
  ])('on the lane %s: %s leads to %s', async (lanes, target, path, status) => {
    await startWithSlashes(lanes, status);
    const first = await post(rig.port, target, { model: 'gpt-5' });
    expect(first.status).toBe(status);
    const { location = '' } = first.headers;
    expect(location).toMatch(/^\/[a-z]/);
    expect(await post(rig.port, location, { model: 'gpt-5' })).toMatchObject({
      ...{ status: 200, body: '{"model":"gpt-5"}' },
    });
    expect(rig.vendor.requests.map(({ url }) => url).at(-1)).toBe(path);
    // The second request is read as well.
    await until(() => rig.egress.log.newest().length === 2, 'the calls in the log');
    const [, second] = rig.egress.log.newest();
    expect(second).toMatchObject({ path: path.replace(/\?.*/, ''), statusCode: 200 });
    if (!lanes.startsWith('mcp')) expect(second).toMatchObject({ model: 'gpt-5', outcome: 'allow' });
  });

  test('stays on the lane over HTTP/2', async () => {
    await startWithSlashes('mcp:files=vendor/mcp');
    const session = connectHttp2(rig.url);
    const request = session.request({ ':method': 'POST', ':path': '/mcp/files' }).end('{}');
    const [headers] = (await once(request, 'response')) as [IncomingHttpHeaders];
    expect(headers).toMatchObject({ ':status': 307, location: '/mcp/files/~/mcp/' });
    session.destroy();
  });

  test('stays on the lane in response to a WebSocket request', async () => {
    await startWithSlashes('openai=vendor/v1', 308);
    const head = 'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const response = await askRaw(rig.port, `GET /openai/v1/realtime HTTP/1.1\r\n${head}`);
    expect(response).toMatch(/^HTTP\/1\.1 308 /);
    expect(response).toMatch(/^location: \/openai\/~\/v1\/realtime\/\r$/im);
  });
});

test('the address of a created resource is on the lane, and other headers stay', async () => {
  rig = await startEgressRig();
  const link = `<${rig.vendor.url}/v1/files?after=1>; rel="next"`;
  rig.vendor.respond = (_seen, response) =>
    void response.writeHead(201, { Location: '/v1/files/1', 'Content-Location': '2', Link: link }).end('{}');
  const { headers } = await post(rig.port, '/openai/v1/files', {});
  expect(headers).toMatchObject({
    ...{ location: '/openai/~/v1/files/1', 'content-location': '/openai/~/v1/2', link },
  });
});

test('an address in UTF-8 is the same path on the lane', async () => {
  rig = await startEgressRig();
  const location = Buffer.from('/v1/files/é').toString('latin1');
  rig.vendor.respond = (_seen, response) => void response.writeHead(307, { location }).end();
  const { headers } = await post(rig.port, '/openai/v1/files', {});
  expect(headers.location).toBe('/openai/~/v1/files/%C3%A9');
});

test('a redirect to another host stays, and is logged once for each host', async () => {
  const warnings: unknown[] = [];
  const warn = (message: string, fields: unknown): void => void warnings.push([message, fields]);
  rig = await startEgressRig({ logger: { ...silentLogger, warn } });
  const { host } = new URL(rig.vendor.url);
  const addresses = ['https://b.example/v1', 'https://b.example/other', '//c.example/', `ftp://${host}/`];
  for (const location of addresses) {
    rig.vendor.respond = (_seen, response) =>
      void response.writeHead(307, { location, 'content-location': 'https://d.example/' }).end();
    const { headers } = await post(rig.port, '/openai/v1/chat/completions', { model: 'gpt-5' });
    expect(headers.location).toBe(location);
  }
  expect(warnings).toEqual(
    ['b.example', 'c.example', host].map((each) => [
      'upstream redirects past its egress lane',
      { lane: 'openai', host: each },
    ]),
  );
});
