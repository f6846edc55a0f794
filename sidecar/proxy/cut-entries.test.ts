import { request as httpRequest, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { fullListener } from '../../testing/http/full-listener.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import {
  ask,
  askRaw,
  completedEntry,
  startProxyBefore,
  startRig,
  type ProxyRig,
} from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';
import { TestServers } from '../../testing/http/sockets.ts';

let rig: Omit<ProxyRig, 'agent'>;
const servers = new TestServers();
afterEach(async () => {
  await rig.close();
  await servers.close();
});

/** The audit entry of a cut request without the fields that differ between runs. */
async function cutEntry(): Promise<Partial<AuditEntry>> {
  const { timestamp, durationMs, requestId, ...entry } = await completedEntry(rig as ProxyRig);
  expect([Date.parse(timestamp) > 0, durationMs! >= 0, requestId]).toEqual([true, true, 'r-1']);
  return entry;
}
const HEADERS = { 'x-request-id': 'r-1' };
const entry = (rest: Partial<AuditEntry>): Partial<AuditEntry> => ({
  seq: 1,
  method: 'GET',
  path: '/',
  bytesIn: 0,
  bytesOut: 0,
  outcome: 'notEvaluated',
  ...rest,
});

describe('the client disconnects', () => {
  /** Sends a request and disconnects once `when.seen` is true or a part of the response has arrived. */
  const disconnect = async (
    handler: RequestListener,
    when: { seen: () => boolean } | 'during the response',
    post?: Buffer,
  ): Promise<void> => {
    let isOpen = true;
    rig = await startRig((incoming, response) => {
      response.on('close', () => (isOpen = false));
      handler(incoming, response);
    });
    const method = post === undefined ? 'GET' : 'POST';
    const headers = { ...HEADERS, ...(post && { 'content-length': post.length + 1 }) };
    const request = httpRequest({ port: rig.port, method, headers, agent: false });
    request.on('error', () => undefined);
    let received = 0;
    request.on('response', (response) =>
      response.on('error', () => undefined).on('data', (chunk: Buffer) => (received += chunk.length)),
    );
    if (post) request.write(post);
    else request.end();
    if (when === 'during the response') await until(() => received === 4, 'the part of the response');
    else await until(when.seen, 'the request at the agent');
    request.destroy();
    await until(() => !isOpen, 'the end at the agent');
  };

  test('before the response: aborted, without a status', async () => {
    let seen = false;
    await disconnect(() => (seen = true), { seen: () => seen });
    expect(await cutEntry()).toEqual(entry({ aborted: true }));
  });

  test('in its own body: aborted, with the bytes received so far', async () => {
    let bytes = 0;
    await disconnect(
      (request) =>
        void request.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('error', () => undefined),
      { seen: () => bytes === 1_000 },
      Buffer.alloc(1_000),
    );
    expect(await cutEntry()).toEqual(entry({ method: 'POST', aborted: true, bytesIn: 1_000 }));
  });

  test('during the response: aborted, with the status that it received', async () => {
    await disconnect((_request, response) => void response.write('part'), 'during the response');
    expect(await cutEntry()).toEqual(
      entry({ aborted: true, statusCode: 200, upstreamStatusCode: 200, bytesOut: 4 }),
    );
  });

  test('in an open WebSocket: not aborted, because this is the normal end of a WebSocket', async () => {
    rig = await startUpgrading();
    await askRaw(rig.port, UPGRADE, 'hello');
    expect(await cutEntry()).toEqual(entry({ statusCode: 101, upstreamStatusCode: 101, bytesOut: 5 }));
  });
});

const UPGRADE =
  'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Request-Id: r-1\r\n\r\n';

async function startUpgrading(): Promise<ProxyRig> {
  const started = await startRig(() => undefined);
  started.agent.on('upgrade', (_request, socket: Duplex) => {
    socket.on('error', () => undefined).on('end', () => socket.end());
    socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello');
  });
  return started;
}

/** Sends data once the agent has switched protocols, and disconnects `ms` milliseconds later. */
function sendAndDisconnect(port: number, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const client = connect(port, '127.0.0.1', () => client.write(UPGRADE));
    client.once('data', () => {
      client.write('hello');
      setTimeout(() => client.destroy(), ms);
    });
    client
      .resume()
      .on('error', () => undefined)
      .on('close', () => resolve());
  });
}

describe('the agent', () => {
  test('is down: unreachable and unsent', async () => {
    rig = await startProxyBefore(new URL(`http://127.0.0.1:${await servers.closedPort()}`));
    const { body } = await ask(rig.port, { headers: HEADERS });
    expect(await cutEntry()).toEqual(
      entry({ statusCode: 502, upstreamFailure: 'unreachable', unsent: true, bytesOut: body.length }),
    );
  });

  test.each([
    [
      'is down, for a body of unknown length',
      `POST / HTTP/1.1\r\nHost: a\r\nX-Request-Id: r-1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n`,
      'POST',
    ],
    ['is down, for an upgrade', UPGRADE, 'GET'],
  ])('%s: unreachable and unsent', async (_title, bytes, method) => {
    rig = await startProxyBefore(new URL(`http://127.0.0.1:${await servers.closedPort()}`));
    const response = await askRaw(rig.port, bytes);
    const bytesOut = response.length - response.indexOf('\r\n\r\n') - 4;
    expect(await cutEntry()).toEqual(
      entry({ method, statusCode: 502, upstreamFailure: 'unreachable', unsent: true, bytesOut }),
    );
  });

  test('disconnects before its head: broken, and the client gets 502', async () => {
    rig = await startRig((request) => request.socket.destroy());
    const { body } = await ask(rig.port, { headers: HEADERS });
    expect(await cutEntry()).toEqual(
      entry({ statusCode: 502, upstreamFailure: 'broken', bytesOut: body.length }),
    );
  });

  test('disconnects before the head of an upgrade: broken, and the client gets 502', async () => {
    const started = await startRig(() => undefined);
    started.agent.on('upgrade', (_request, socket: Duplex) => void socket.destroy());
    rig = started;
    const response = await askRaw(rig.port, UPGRADE);
    const bytesOut = response.length - response.indexOf('\r\n\r\n') - 4;
    expect(await cutEntry()).toEqual(entry({ statusCode: 502, upstreamFailure: 'broken', bytesOut }));
  });

  test('disconnects in its body: broken and aborted, with the bytes passed so far', async () => {
    rig = await startRig((request, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('part', () => request.socket.destroy());
    });
    await expect(ask(rig.port, { headers: HEADERS })).rejects.toThrow('aborted');
    expect(await cutEntry()).toEqual(
      entry({
        statusCode: 200,
        upstreamStatusCode: 200,
        upstreamFailure: 'broken',
        aborted: true,
        bytesOut: 4,
      }),
    );
  });

  test('closes a WebSocket at about the same time as the client: every entry is completed', async () => {
    const started = await startRig(() => undefined);
    let count = 0;
    started.agent.on('upgrade', (_request, socket: Duplex) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      // Without this the server would wait for the socket, which is not read.
      setTimeout(() => socket.destroy(), 300);
      const isAbrupt = (count += 1) % 2 === 0;
      setTimeout(() => (isAbrupt ? socket.destroy() : socket.end('bye')), 2);
    });
    rig = started;
    await Promise.all(Array.from({ length: 100 }, (_, index) => sendAndDisconnect(rig.port, index % 10)));
    await until(() => rig.audit.outcomes.notEvaluated === 100, 'the completion of every entry');
  });

  test('does not respond in time: timeout', async () => {
    using timers = holdTimers();
    let isReceived = false;
    rig = await startRig(() => (isReceived = true), { timeoutMs: 50 });
    const pending = ask(rig.port, { headers: HEADERS });
    await until(() => isReceived, 'the request at the agent');
    await timers.pass(50);
    const { body } = await pending;
    expect(await cutEntry()).toEqual(
      entry({ statusCode: 504, upstreamFailure: 'timeout', bytesOut: body.length }),
    );
  });
});

test('a request whose client disconnects before the agent connection is established is never sent', async () => {
  await using listener = await fullListener();
  rig = await startProxyBefore(new URL(`http://127.0.0.1:${listener.port}`));
  const socket = connect(rig.port, '127.0.0.1', () =>
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: r-1\r\n\r\n'),
  );
  await until(() => rig.audit.ring.last === 1, 'the arrival');
  socket.destroy();
  expect(await cutEntry()).toEqual(entry({ aborted: true, unsent: true }));
});
