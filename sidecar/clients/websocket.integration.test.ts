import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer, type RawData } from 'ws';
import { BREAKS, DENIAL, inEachSetting, type ServedRig } from '../../testing/sidecar/client-rig.ts';

const MEGABYTE = 1024 * 1024;

/** Waits for the next message and returns its bytes. */
async function nextMessage(socket: WebSocket): Promise<{ bytes: Buffer; isBinary: boolean }> {
  const [data, isBinary] = (await once(socket, 'message')) as [RawData, boolean];
  return { bytes: Buffer.concat([data].flat() as Buffer[]), isBinary };
}

inEachSetting('the ws client', ({ mode, serve }) => {
  let rig: ServedRig;
  let server: WebSocketServer;
  let client: WebSocket;
  /** The agent's end of the connection. */
  let agentEnd: WebSocket;

  /** Starts a WebSocket server that reports behavior in the head of the protocol switch. */
  function serveSockets(options: { perMessageDeflate?: boolean } = {}): void {
    server = new WebSocketServer({ server: rig.server, ...options });
    server.on('headers', (head) => {
      for (const [name, value] of Object.entries(rig.reports)) head.push(`${name}: ${value}`);
    });
  }

  /** Connects the client to an agent that echoes. */
  async function connect(options: { perMessageDeflate?: boolean } = {}): Promise<void> {
    serveSockets(options);
    const accepted = once(server, 'connection') as Promise<[WebSocket]>;
    client = new WebSocket(`${rig.url.replace('http', 'ws')}/chat?x=1`, options);
    [[agentEnd]] = await Promise.all([accepted, once(client, 'open')]);
    agentEnd.on('message', (data, isBinary) => agentEnd.send(data, { binary: isBinary }));
  }

  beforeEach(async () => {
    rig = await serve((_request, response) => void response.writeHead(426).end());
  });
  afterEach(async () => {
    client.terminate();
    await new Promise((resolve) => server.close(resolve));
    await rig.close();
  });

  test.each([
    ['plain', false],
    ['compressed', true],
  ])('echoes frames of one megabyte, %s', async (_name, perMessageDeflate) => {
    await connect({ perMessageDeflate });
    expect(client.extensions).toBe(perMessageDeflate ? 'permessage-deflate' : '');
    for (let i = 0; i < 2; i += 1) {
      const sent = randomBytes(MEGABYTE);
      const echo = nextMessage(client);
      client.send(sent);
      const { bytes, isBinary } = await echo;
      expect({ isBinary, isSame: bytes.equals(sent) }).toEqual({ isBinary: true, isSame: true });
    }
    const sentText = '–ü😀x'.repeat(20_000);
    const echo = nextMessage(client);
    client.send(sentText);
    const { bytes, isBinary } = await echo;
    expect({ isBinary, isSame: bytes.toString() === sentText }).toEqual({ isBinary: false, isSame: true });
  });

  test('exchanges pings in both directions', async () => {
    await connect();
    const pong = once(client, 'pong') as Promise<[Buffer]>;
    client.ping('are you there');
    expect((await pong)[0].toString()).toBe('are you there');
    const agentPong = once(agentEnd, 'pong') as Promise<[Buffer]>;
    agentEnd.ping('and you');
    expect((await agentPong)[0].toString()).toBe('and you');
  });

  test.each([
    ['the client', 1000, 'bye'],
    ['the client', 4001, 'its own – code'],
    ['the agent', 1000, 'bye'],
    ['the agent', 1011, 'broken'],
    ['the agent', 4999, ''],
  ])('when %s closes with %i, both ends receive the code and the reason', async (side, code, reason) => {
    await connect();
    const ends = Promise.all(
      [client, agentEnd].map((end) => once(end, 'close') as Promise<[number, Buffer]>),
    );
    (side === 'the client' ? client : agentEnd).close(code, reason);
    expect((await ends).map(([endCode, endReason]) => [endCode, String(endReason)])).toEqual([
      [code, reason],
      [code, reason],
    ]);
    expect(await rig.completed(1)).toMatchObject([
      {
        method: 'GET',
        path: '/chat',
        statusCode: 101,
        outcome: 'allow',
        guardrailsInvoked: ['pii-detector'],
      },
    ]);
  });

  test('whose upgrade is denied gets 403 in mode enforce, with the end at the agent, and continues in mode track', async () => {
    rig.reports = BREAKS;
    if (mode === 'track') {
      await connect();
      const echo = nextMessage(client);
      client.send('hello');
      expect(String((await echo).bytes)).toBe('hello');
      client.close();
    } else {
      serveSockets();
      const agentEnded = once(server, 'connection').then(([socket]) => once(socket as WebSocket, 'close'));
      client = new WebSocket(`${rig.url.replace('http', 'ws')}/chat`).on('error', () => undefined);
      const [, response] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
      expect([response.statusCode, response.headers['x-platform-policy-violations']]).toEqual([403, DENIAL]);
      expect(JSON.parse(await text(response))).toMatchObject({
        error: 'PolicyViolation',
        violations: [DENIAL],
      });
      await agentEnded;
    }
    expect(await rig.completed(1)).toMatchObject([
      {
        statusCode: mode === 'track' ? 101 : 403,
        upstreamStatusCode: 101,
        outcome: 'deny',
        policyViolations: [DENIAL],
      },
    ]);
  });
});
