import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { startDirectivePlane, type DirectivePlane } from '../../testing/sidecar/directive-plane.ts';
import { post, startTlsVendor, type TlsVendor } from '../../testing/sidecar/egress-rig.ts';
import { ask, askRaw } from '../../testing/sidecar/proxy-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import {
  AUDIENCE,
  ISSUER,
  issuerKey,
  TokenIssuer,
  type IssuerKey,
} from '../../testing/sign-in/token-issuer.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { until } from '../../testing/time/until.ts';

let key: IssuerKey;
let issuer: TokenIssuer;
let rig: SidecarRig | null;

beforeAll(async () => {
  key = await issuerKey('key-1');
});
beforeEach(async () => {
  rig = null;
  issuer = new TokenIssuer([key]);
  await issuer.open();
});
afterEach(async () => {
  await rig?.close();
  await issuer.close();
});

const auth = () => ({ type: 'jwt', jwksUri: issuer.url, issuer: ISSUER, audience: AUDIENCE });

async function start(
  env: Record<string, string> = {},
  api: object = { auth: auth() },
  clock: Clock = systemClock,
): Promise<SidecarRig> {
  rig = await startSidecarRig({ manifest: manifestText({ api }), agent: { '/chat': 200 }, env, clock });
  return rig;
}

const get = (sidecar: SidecarRig, headers: Record<string, string | string[]> = {}) =>
  ask(sidecar.sidecar.proxyPort, { path: '/chat', headers });
const entriesOf = (sidecar: SidecarRig): Promise<AuditEntry[]> => sidecar.report<AuditEntry[]>('/audit');

/** The identities of all entries, when no verification is pending. */
async function identitiesOf(sidecar: SidecarRig): Promise<AuditEntry['identity'][]> {
  await sidecar.settled();
  let found: AuditEntry['identity'][] = [];
  await until(async () => {
    found = (await entriesOf(sidecar)).map(({ identity }) => identity);
    return found.every((identity) => identity?.reason !== 'pending');
  }, 'the verifications');
  return found;
}

test('an entry has the person and the hash of the session of its token', async () => {
  const sidecar = await start();
  const token = await issuer.sign(new Date(), { jti: 'session of alice' });
  await get(sidecar, { authorization: `Bearer ${token}` });
  await get(sidecar);
  expect(await identitiesOf(sidecar)).toEqual([
    { source: 'jwt', user: 'alice', session: expect.stringMatching(/^s-[0-9a-f]{16}$/) },
    { source: 'none', reason: 'no-token' },
  ]);
});

test.each<[string, object]>([
  ['without a declaration', {}],
  ['without an audience', { auth: { type: 'jwt', jwksUri: 'https://id.example/jwks', issuer: ISSUER } }],
])('an entry has no identity %s', async (_what, api) => {
  const sidecar = await start({}, api);
  const token = await issuer.sign(new Date());
  await get(sidecar, { authorization: `Bearer ${token}`, 'x-forwarded-user': 'alice' });
  expect(await identitiesOf(sidecar)).toEqual([undefined]);
});

test('a response does not wait for the keys, and a reader of the stream gets the identity later', async () => {
  let release: () => void = () => undefined;
  issuer.respond = (_request, response) =>
    void (release = () => response.end(JSON.stringify({ keys: [key.jwk] })));
  const sidecar = await start();
  const stream = await sidecar.control('/audit/stream');
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  const { status } = await get(sidecar, { authorization: `Bearer ${await issuer.sign(new Date())}` });
  expect(status).toBe(200);
  await sidecar.settled();
  const [entry] = await entriesOf(sidecar);
  expect(entry).toMatchObject({ outcome: 'notEvaluated', identity: { source: 'none', reason: 'pending' } });
  await until(() => issuer.requests === 1, 'the request for the keys');
  release();
  let text = '';
  while (!text.includes('event: update')) text += (await reader.read()).value ?? '';
  await reader.cancel();
  const [, update = ''] = /event: update\ndata: (.*)\n/.exec(text) ?? [];
  expect(JSON.parse(update)).toMatchObject({ seq: entry?.seq, identity: { source: 'jwt', user: 'alice' } });
});

test('a changed manifest takes effect with the next request', async () => {
  const sidecar = await start();
  const headers = { authorization: `Bearer ${await issuer.sign(new Date())}` };
  await get(sidecar, headers);
  expect(await identitiesOf(sidecar)).toMatchObject([{ user: 'alice' }]);
  await writeFile(sidecar.manifestPath, manifestText({ api: { auth: { ...auth(), audience: 'other' } } }));
  await until(() => sidecar.log.some(([, message]) => message === 'manifest reloaded'), 'the reload');
  await get(sidecar, headers);
  expect(await identitiesOf(sidecar)).toMatchObject([{ user: 'alice' }, { reason: 'invalid-token' }]);
});

test('a WebSocket has the person of its request', async () => {
  const sidecar = await start();
  const token = await issuer.sign(new Date());
  await askRaw(
    sidecar.sidecar.proxyPort,
    `GET /chat HTTP/1.1\r\nHost: a\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    'HTTP/1.1',
  );
  expect(await identitiesOf(sidecar)).toEqual([{ source: 'jwt', user: 'alice' }]);
});

describe('the header of a proxy', () => {
  const header = (proxies: string) => ({ IDENTITY_HEADER: 'x-forwarded-user', IDENTITY_PROXIES: proxies });

  test('names the person on a connection from the proxy', async () => {
    const sidecar = await start(header('127.0.0.0/8'), {});
    await get(sidecar, { 'x-forwarded-user': 'bob' });
    await get(sidecar, { 'x-forwarded-user': ['bob', 'root'] });
    await get(sidecar);
    expect(await identitiesOf(sidecar)).toEqual([
      { source: 'header', user: 'bob' },
      { source: 'none', reason: 'invalid-header' },
      { source: 'none', reason: 'no-header' },
    ]);
  });

  test('never counts on a connection from another address, whatever the request says', async () => {
    const sidecar = await start(header('10.0.0.0/8'), {});
    const forwarded = { 'x-forwarded-for': '10.0.0.1', 'x-real-ip': '10.0.0.1', forwarded: 'for=10.0.0.1' };
    await get(sidecar, { 'x-forwarded-user': 'root', ...forwarded });
    expect(await identitiesOf(sidecar)).toEqual([{ source: 'none', reason: 'foreign-address' }]);
  });

  test('does not replace a token that is not valid, and counts without a token', async () => {
    const sidecar = await start(header('127.0.0.1'));
    const expired = await issuer.sign(new Date(), { exp: 1 });
    await get(sidecar, { authorization: `Bearer ${expired}`, 'x-forwarded-user': 'bob' });
    await get(sidecar, {
      authorization: `Bearer ${await issuer.sign(new Date())}`,
      'x-forwarded-user': 'bob',
    });
    await get(sidecar, { 'x-forwarded-user': 'bob' });
    expect(await identitiesOf(sidecar)).toEqual([
      { source: 'none', reason: 'expired-token' },
      { source: 'jwt', user: 'alice' },
      { source: 'header', user: 'bob' },
    ]);
  });

  test('baggage, the events and the headers of the agent identify no person', async () => {
    const sidecar = await start(header('127.0.0.1'), {});
    sidecar.agent.otherwise = (_request, response) =>
      response.writeHead(200, { 'x-forwarded-user': 'root', 'x-platform-user': 'root' }).end();
    await ask(sidecar.sidecar.proxyPort, { path: '/other', headers: { baggage: 'enduser.id=root' } });
    expect(await identitiesOf(sidecar)).toEqual([{ source: 'none', reason: 'no-header' }]);
  });
});

test('with IDENTITY_HASH_KEY no record has the name', async () => {
  const secret = 'k'.repeat(32);
  const sidecar = await start({
    IDENTITY_HASH_KEY: secret,
    ...{ IDENTITY_HEADER: 'x-user', IDENTITY_PROXIES: '127.0.0.1' },
  });
  await get(sidecar, { authorization: `Bearer ${await issuer.sign(new Date())}` });
  await get(sidecar, { 'x-user': 'alice' });
  const user = `h-${createHmac('sha256', secret).update('alice').digest('hex').slice(0, 32)}`;
  expect(await identitiesOf(sidecar)).toEqual([
    { source: 'jwt', user },
    { source: 'header', user },
  ]);
  expect(JSON.stringify([await entriesOf(sidecar), sidecar.log])).not.toMatch(/alice|kkk/);
});

describe('a planted token', () => {
  let plane: DirectivePlane;
  let vendor: TlsVendor;
  let folder: string;
  beforeEach(async () => {
    plane = await startDirectivePlane();
    vendor = await startTlsVendor();
    folder = await mkdtemp(join(tmpdir(), 'identity-'));
    await writeFile(join(folder, 'ca.pem'), vendor.ca.cert);
  });
  afterEach(async () => {
    await rig?.close();
    rig = null;
    await Promise.all([plane.close(), vendor.close()]);
    await rm(folder, { recursive: true });
  });

  test('is in no log line, entry, call, metric or heartbeat, and heartbeats have no person', async () => {
    vendor.respond = (_seen, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    const [port = 0] = await freePorts(1);
    const clock = new SteppingClock(new Date().toISOString());
    const sidecar = await start(
      {
        ...{ EGRESS_LANES: `openai=${vendor.url}/v1`, EGRESS_PORT: String(port) },
        ...{ EGRESS_CA_FILE: join(folder, 'ca.pem'), AUDIT_LOG: 'file' },
        AUDIT_LOG_PATH: join(folder, 'audit.log'),
        ...{ PLATFORM_URL: plane.url, PLATFORM_KEY: 'k', HEARTBEAT_SECONDS: '10', LOG_LEVEL: 'debug' },
      },
      { auth: auth() },
      clock,
    );
    // The agent claims another person, in each place that it controls.
    const body = { model: 'gpt-5', messages: [], user: 'mallory' };
    sidecar.agent.otherwise = ({ method }, response) => {
      const headers = { authorization: `Bearer ${planted[0]}`, 'x-forwarded-user': 'mallory' };
      const called = method === 'POST' ? post(port, '/openai/v1/chat/completions', body, headers) : null;
      void Promise.resolve(called).then(() => response.end());
    };
    const jti = 'planted-session-id';
    const planted = await Promise.all([
      issuer.sign(new Date(), { jti, sub: 'planted-person' }),
      issuer.sign(new Date(), { jti, aud: 'other' }),
      issuer.sign(new Date(), { jti, exp: 1 }),
    ]);
    for (const token of planted)
      await ask(sidecar.sidecar.proxyPort, {
        ...{ method: 'POST', path: '/act', body: '{}' },
        headers: { authorization: `Bearer ${token}` },
      });
    expect(await identitiesOf(sidecar)).toMatchObject([
      { user: 'planted-person' },
      { reason: 'invalid-token' },
      { reason: 'expired-token' },
    ]);
    await until(async () => (await sidecar.report<EgressCall[]>('/egress')).length === 3, 'the calls');
    const calls = await sidecar.report<EgressCall[]>('/egress');
    const entries = await entriesOf(sidecar);
    // Each call has the identity of its request.
    expect(calls.map(({ requestId, identity }) => ({ requestId, identity }))).toEqual(
      entries.map(({ requestId, identity }) => ({ requestId, identity })),
    );
    const before = plane.heartbeats.length;
    await clock.pass(30_000);
    await until(() => plane.heartbeats.length > before, 'a heartbeat after the requests');
    await sidecar.sidecar.close();
    const lines = (await readFile(join(folder, 'audit.log'), 'utf8')).trimEnd().split('\n');
    const people = lines.map(
      (line) => (JSON.parse(line) as { actor: { user?: { uid: string } } }).actor.user?.uid,
    );
    // The request and its call.
    expect(people.filter((uid) => uid !== undefined)).toEqual(['planted-person', 'planted-person']);
    const reports = JSON.stringify([calls, entries, sidecar.log, lines]);
    const heartbeats = JSON.stringify(plane.heartbeats);
    for (const token of planted)
      for (const part of [...token.split('.').slice(1), jti])
        expect([reports.includes(part), heartbeats.includes(part)]).toEqual([false, false]);
    expect(reports).not.toContain('mallory');
    expect(heartbeats).not.toMatch(/planted-person|mallory/);
  });

  test('is in no metric, and no metric has the person', async () => {
    const sidecar = await start();
    const token = await issuer.sign(new Date(), { sub: 'planted-person' });
    await get(sidecar, { authorization: `Bearer ${token}` });
    await identitiesOf(sidecar);
    const metrics = await (await sidecar.control('/metrics')).text();
    for (const part of [...token.split('.'), 'planted-person']) expect(metrics).not.toContain(part);
  });
});

test('a client that leaves before the verification has ended is recorded', async () => {
  const sidecar = await start();
  sidecar.agent.otherwise = () => undefined;
  const token = await issuer.sign(new Date());
  const client = connect(sidecar.sidecar.proxyPort, '127.0.0.1', () =>
    client.write(`GET /hangs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`),
  );
  await until(async () => (await entriesOf(sidecar)).length === 1, 'the request');
  client.destroy();
  expect(await identitiesOf(sidecar)).toEqual([{ source: 'jwt', user: 'alice' }]);
});
