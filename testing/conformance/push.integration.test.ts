// Agents in Node.js and in Python push to a built control plane, through a relay that records their requests and can fail.
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DatabaseSync } from 'node:sqlite';
import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt, SignJWT } from 'jose';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import { until } from '../time/until.ts';
import { ProcessRig, type RunningPart } from '../machine/process-rig.ts';
import { TestServers } from '../http/sockets.ts';
import { AGENTS, type ConformanceAgent } from './agents.ts';

const ADMIN_KEY = 'an-admin-key-of-the-test';
const JWT_SECRET = 'a-jwt-secret-of-the-test-with-32-characters';
const DAY_SECONDS = 24 * 3600;
const MANIFEST = {
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
  spec: {
    model: { provider: 'unknown-provider', id: 'gpt', apiKey: 'k' },
    tools: [{ name: 'search' }, { name: 'not registered' }],
    evaluation: { datasets: [{ name: 'orders', path: 'orders.jsonl' }] },
    requires: { services: [{ name: 'shelf', address: '$env:SHELF_ADDRESS', critical: true }] },
  },
};

/** A request of the agent, and the status of the control plane's response; 0: no response. */
interface Exchange {
  path: string;
  bearer: string;
  beat: Heartbeat | null;
  status: number;
}

/** A service of the agent. When it opens or closes, the health status changes, and a heartbeat is sent early. */
class Shelf {
  #server = createTcpServer((socket) => socket.destroy());
  #port = 0;

  async open(): Promise<string> {
    this.#server = createTcpServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return `127.0.0.1:${this.#port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

let rig: ProcessRig;
let servers: TestServers;
let shelf: Shelf;
let shelfAddress: string;
let planePort: number;
let plane: RunningPart;
let relayUrl: string;
let exchanges: Exchange[];
/** Whether the response to the next heartbeat is lost after the control plane has sent it. */
let losesNext: boolean;
let agent: RunningPart & { url: string };

beforeEach(async () => {
  [rig, servers, shelf] = [await ProcessRig.open(), new TestServers(), new Shelf()];
  [exchanges, losesNext] = [[], false];
  planePort = await servers.closedPort();
  shelfAddress = await shelf.open();
  relayUrl = `http://127.0.0.1:${await servers.http(relay)}`;
});
afterEach(async () => {
  await rig.close();
  await servers.close();
  await shelf.close();
});

const relay: RequestListener = (request, response) => {
  void text(request).then(async (body) => {
    const { url = '', headers, method = '' } = request;
    const { authorization = '' } = headers;
    const beat = url === '/api/v1/heartbeat' ? (JSON.parse(body) as Heartbeat) : null;
    const exchange: Exchange = { path: url, bearer: authorization.replace('Bearer ', ''), beat, status: 0 };
    exchanges.push(exchange);
    try {
      const received = await fetch(`http://127.0.0.1:${planePort}${url}`, {
        method,
        headers: { authorization, 'content-type': 'application/json' },
        ...(body !== '' && { body }),
      });
      const content = Buffer.from(await received.arrayBuffer());
      exchange.status = received.status;
      if (beat !== null && losesNext) {
        losesNext = false;
        response.destroy();
        return;
      }
      // A control plane with a rate limit of an hour asks for the rest of the hour.
      const retryAfter = received.headers.has('retry-after') && { 'retry-after': '1' };
      response.writeHead(received.status, { 'content-type': 'application/json', ...retryAfter }).end(content);
    } catch {
      // There is no control plane at the moment.
      response.destroy();
    }
  });
};

async function startPlane(env: Record<string, string> = {}): Promise<void> {
  plane = await rig.start('control-plane', `http://127.0.0.1:${planePort}/readyz`, {
    ...{ DATA_DIR: join(rig.folder, 'data'), PORT: String(planePort) },
    ...{ PLATFORM_ADMIN_KEY: ADMIN_KEY, JWT_SECRET, RATE_LIMIT_SECONDS: '0', ...env },
  });
}

async function restartPlane(env: Record<string, string> = {}): Promise<void> {
  plane.kill('SIGKILL');
  await plane.stop();
  await startPlane(env);
}

/** A response of the control plane; null: an error. */
async function admin(path: string, method = 'GET', body?: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${planePort}/api/v1/${path}`, {
    method,
    headers: { 'x-admin-key': ADMIN_KEY, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const content = await response.text();
  return response.ok && content !== '' ? (JSON.parse(content) as unknown) : null;
}

async function register(): Promise<string> {
  const registered = await admin('register', 'POST', { agentName: 'shop', runtime: 'local' });
  return (registered as { apiKey: string }).apiKey;
}

async function startAgent({ command }: ConformanceAgent, key: string): Promise<void> {
  const started = await rig.startCommand(command, /^port \d+$/m, {
    PATH: process.env['PATH'] ?? '',
    ...{ PLATFORM_URL: relayUrl, PLATFORM_KEY: key, HEARTBEAT_SECONDS: '3600' },
    PLATFORM_KEY_STORE_PATH: join(rig.folder, 'renewed-key'),
    MANIFEST: await rig.file('agent.json', JSON.stringify(MANIFEST)),
    SHELF_ADDRESS: shelfAddress,
    REFRESH_MS: '200',
    ENGINE_URL: relayUrl,
    ...{ PYTHONDONTWRITEBYTECODE: '1', NO_PROXY: '*', NODE_NO_WARNINGS: '1' },
  });
  const port = /^port (\d+)$/m.exec(started.output())?.[1];
  agent = { ...started, url: `http://127.0.0.1:${port}` };
}

async function recordUsage(promptTokens: number, completionTokens: number): Promise<void> {
  const operations = [['recordUsage', 'gpt', promptTokens, completionTokens]];
  const response = await fetch(`${agent.url}/act`, { method: 'POST', body: JSON.stringify(operations) });
  expect(await response.json()).toEqual([true]);
}

/** The tokens that the agent has not delivered yet. */
async function undelivered(): Promise<number> {
  const response = await fetch(`${agent.url}/platform/usage`);
  return ((await response.json()) as { totalTokens: number }).totalTokens;
}

const beats = (): (Exchange & { beat: Heartbeat })[] =>
  exchanges.filter((each): each is Exchange & { beat: Heartbeat } => each.beat !== null);
const sent = (status: number) => beats().filter((each) => each.status === status);
/** The reply has a body if the control plane has proofs or an interval for the sender. */
const accepted = () => beats().filter(({ status }) => status === 200 || status === 204);
/** Number and tokens of the heartbeats, each once: a repeat has the window of the first attempt. */
const windows = (): [seq: number | null, tokens: number | undefined][] => {
  const found = beats().map(({ beat }): [number | null, number | undefined] => [
    beat.seq,
    beat.usage?.totalTokens,
  ]);
  return [...new Map(found.map((each) => [each.join(), each])).values()];
};
/** Whether each heartbeat has one window, and these are the windows with tokens. */
function expectWindows(...tokens: number[]): void {
  expect(windows().map(([seq]) => seq)).toEqual(windows().map((_, index) => index + 1));
  expect(windows().flatMap(([, each]) => (each === 0 ? [] : [each]))).toEqual(tokens);
}
const logged = (level: string): string[] => agent.output().match(new RegExp(`^${level} .*$`, 'gm')) ?? [];
const untilIt = (isSo: () => boolean | Promise<boolean>): Promise<void> =>
  until(isSo, () => JSON.stringify([exchanges.map(({ path, status }) => [path, status]), agent.output()]));

/** The key with the lifetime of a key that was issued 25 days ago. */
function aged(key: string): Promise<string> {
  const iat = Math.floor(Date.now() / 1000) - 25 * DAY_SECONDS;
  return new SignJWT({ ...decodeJwt(key), iat, exp: iat + 30 * DAY_SECONDS })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(new TextEncoder().encode(JWT_SECRET));
}

describe.each(AGENTS)('push of an agent in $language to a control plane', (language) => {
  const check = language.isHere ? test : test.skip;

  check('health, gap, usage and evidence arrive, and the counters are windows', async () => {
    await startPlane();
    await startAgent(language, await register());
    await untilIt(() => accepted().length > 0);
    expect([await admin('agents/shop/health'), await admin('agents/shop/gap')]).toMatchObject([
      { status: 'healthy', agentName: 'shop', checks: expect.any(Array) },
      {
        source: 'agent-sdk',
        ...{ score: 55, grade: 'D' },
        issues: [
          { property: 'model.apiKey', severity: 'high' },
          { property: 'auditable', severity: 'medium' },
          { property: 'tool:not registered', severity: 'medium' },
          { property: 'evaluated', severity: 'low' },
        ],
        evidence: { declared: 5, reported: 2 },
      },
    ]);
    const proof = { verifiedBy: 'ci', method: 'automated' };
    await admin('agents/shop/proof/rule/EVAL-01', 'POST', proof);
    await recordUsage(30, 12);
    await shelf.close();
    await untilIt(async () => (await undelivered()) === 0);
    expect(await admin('agents/shop/health')).toMatchObject({ status: 'unhealthy' });
    expect(await admin('agents/shop/usage')).toMatchObject({ totalTokens: 42, totalCalls: 1 });
    await recordUsage(1, 1);
    await agent.stop();
    expectWindows(42, 2);
    expect(beats().at(-1)?.beat.totals).toMatchObject({ tokensToday: 44 });
    expect(await admin('agents')).toMatchObject([{ agentName: 'shop', runtime: 'local', tokens: 44 }]);
    // The heartbeats of an agent without proofs do not remove the proof.
    expect(await admin('agents/shop/proof')).toMatchObject([
      { ruleId: 'EVAL-01', origin: 'control-plane', ...proof },
    ]);
    expect(logged('WARNING')).toEqual([]);
  });

  check('503, a lost response, restarts and 429 lose no count and repeat none', async () => {
    await startPlane();
    await startAgent(language, await register());
    await untilIt(() => accepted().length > 0);
    const database = new DatabaseSync(join(rig.folder, 'data/control-plane.sqlite'));
    database.exec('BEGIN IMMEDIATE');
    await recordUsage(5, 0);
    await shelf.close();
    await untilIt(() => sent(503).length > 0);
    losesNext = true;
    database.exec('COMMIT');
    database.close();
    await untilIt(() => logged('INFO').some((line) => line.includes('heartbeats delivered again')));
    expect([logged('WARNING').length, await undelivered()]).toEqual([1, 0]);

    plane.kill('SIGKILL');
    await plane.stop();
    await recordUsage(7, 0);
    await shelf.open();
    await untilIt(() => sent(0).length > 0);
    await startPlane({ RATE_LIMIT_SECONDS: '3600' });
    await untilIt(() => sent(429).length > 1);
    expect(await undelivered()).toBe(7);
    await restartPlane();
    await untilIt(async () => (await undelivered()) === 0);
    await agent.stop();
    expect(await admin('agents')).toMatchObject([{ agentName: 'shop', tokens: 12 }]);
    expectWindows(5, 7);
    // One for each of the two outages.
    expect(logged('WARNING')).toEqual([
      expect.stringContaining('heartbeat not delivered'),
      expect.stringContaining('heartbeat not delivered'),
    ]);
  });

  check('a key is renewed after two thirds of its lifetime, and kept for the next process', async () => {
    await startPlane();
    const old = await aged(await register());
    await startAgent(language, old);
    await untilIt(() => accepted().length > 0);
    await agent.stop();
    const renewed = beats()[0]?.bearer ?? '';
    const [signature = '', newSignature = ''] = [old, renewed].map((key) => key.split('.')[2]);
    expect([renewed === old, decodeJwt(renewed).sub]).toEqual([false, decodeJwt(old).sub]);
    expect(logged('INFO')).toEqual([expect.stringContaining('control plane key renewed')]);
    expect(logged('WARNING')).toEqual([]);
    for (const secret of [signature, newSignature]) expect(agent.output()).not.toContain(secret);
    const ofFirst = exchanges.length;
    await startAgent(language, old);
    await untilIt(() => exchanges.length > ofFirst);
    await agent.stop();
    const [renewal, ...others] = exchanges.map(({ path, bearer, status }) => [path, bearer === old, status]);
    expect(renewal).toEqual(['/api/v1/token', true, 200]);
    expect(others).toEqual(others.map(() => ['/api/v1/heartbeat', false, 204]));
  });

  const wrongKeys: [string, () => Promise<string>][] = [
    [
      'revoked',
      async () => {
        const key = await register();
        await admin('agents/shop', 'DELETE');
        return key;
      },
    ],
    ['of another control plane', async () => `${(await register()).slice(0, -20)}AAAAAAAAAAAAAAAAAAAA`],
  ];
  const checkEach = language.isHere ? test.each(wrongKeys) : test.skip.each(wrongKeys);
  checkEach('a key that is %s gives one warning with the reason', async (_name, makeKey) => {
    await startPlane();
    const key = await makeKey();
    await startAgent(language, key);
    await recordUsage(5, 0);
    await untilIt(() => sent(401).length > 2);
    expect(logged('WARNING')).toEqual([
      expect.stringMatching(/heartbeat not delivered .*refused.*\b401\b.*the key is .*; register again/),
    ]);
    expect(logged('WARNING')[0]).toContain(relayUrl);
    expect(agent.output()).not.toContain(key.split('.')[2]);
    expect(await undelivered()).toBe(5);
  });
});
