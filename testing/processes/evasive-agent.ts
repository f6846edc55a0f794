// An agent that avoids its sidecar on command, for testing/egress/evasion.integration.test.ts. Each line of standard input is an
// action as JSON, each line of standard output its result. It also reads the sidecar's reports, because the test is not in the
// network of the pod. `POST /v1/chat` on port 3000 calls one model through the lane and the same model past it, and `POST /v1/past` calls
// a model only past its lane.
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { connect as connectTls } from 'node:tls';
import { HIDDEN_HOST, LANE_HOST } from '../egress/two-networks.ts';
import { PAST_MODEL, USAGE, VENDOR_PORT } from '../egress/outside-ports.ts';

/** A peer: host and port. */
export interface Peer {
  host: string;
  port: number;
}

export type Action =
  | { action: 'fetch'; url: string; body?: unknown }
  | { action: 'leave'; url: string; body: unknown; count: number }
  | ({ action: 'tunnel' } & Peer)
  | ({ action: 'hold' } & Peer)
  | ({ action: 'holdInChild' } & Peer)
  | ({ action: 'fetchInChild' } & Peer)
  | ({ action: 'holdUdp'; isConnected: boolean } & Peer)
  | ({ action: 'short'; count: number } & Peer);

const ACTIONS: {
  [Name in Action['action']]: (action: Extract<Action, { action: Name }>) => Promise<unknown>;
} = {
  async fetch({ url, body }) {
    const response = await fetch(url, body === undefined ? {} : post(body));
    return { status: response.status, text: await response.text() };
  },
  /** Every second call is aborted within 5 ms: the sidecar ends its connection to the vendor, also one that is not established yet. */
  async leave({ url, body, count }) {
    for (let index = 0; index < count; index++) {
      const signal = index % 2 === 0 ? { signal: AbortSignal.timeout(index % 6) } : {};
      const ask = async (): Promise<string> => (await fetch(url, { ...post(body), ...signal })).text();
      await Promise.allSettled([ask(), ask(), ask()]);
    }
  },
  /** As a client that honours HTTPS_PROXY: CONNECT, then a TLS handshake, which the server here does not complete. */
  async tunnel({ host, port }) {
    const request = httpRequest({
      port: 4003,
      host: '127.0.0.1',
      method: 'CONNECT',
      path: `${host}:${port}`,
    }).end();
    const [{ statusCode }, socket] = (await once(request, 'connect')) as [{ statusCode: number }, Socket];
    if (statusCode === 200) {
      const tls = connectTls({ socket, rejectUnauthorized: false });
      tls.on('error', () => undefined);
      await once(tls, 'close');
    } else socket.destroy();
    return { statusCode };
  },
  async hold({ host, port }) {
    const socket = connect(port, host);
    await once(socket, 'connect');
  },
  async holdInChild({ host, port }) {
    // Ends with this process, whose pipe is its input.
    const code = `process.stdin.on('end', () => process.exit()).resume();
      require('node:net').connect(${String(port)}, '${String(host)}', () => console.log('connected'))`;
    const child = spawn(process.execPath, ['-e', code]);
    await once(child.stdout, 'data');
  },
  /** As a child that honours HTTPS_PROXY. The server here does not complete the TLS handshake. */
  async fetchInChild({ host, port }) {
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: 'http://127.0.0.1:4003' };
    const code = `fetch('https://${host}:${String(port)}').catch(() => undefined)`;
    await once(spawn(process.execPath, ['-e', code], { env: { ...process.env, ...proxy } }), 'exit');
  },
  async holdUdp({ host, port, isConnected }) {
    const socket = createSocket('udp4');
    // Nothing listens there, so the kernel reports each packet as an error.
    socket.on('error', () => undefined);
    if (isConnected) {
      socket.connect(port, host);
      await once(socket, 'connect');
      socket.send('hello');
    } else socket.send('hello', port, host);
  },
  async short({ host, port, count }) {
    for (let index = 0; index < count; index++) {
      const socket = connect(port, host).on('error', () => undefined);
      socket.resume();
      await once(socket, 'close');
    }
  },
};

const post = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const QUESTION = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const LANE = 'http://127.0.0.1:4002/openai/v1/chat/completions';
const vendorOn = (host: string): string => `http://${host}:${VENDOR_PORT}/v1/chat/completions`;

/** Reports honestly what the calls used. */
const server = createServer((request, response) => {
  request.resume();
  void (async () => {
    const isPast = request.url === '/v1/past';
    const model = isPast ? PAST_MODEL : QUESTION.model;
    const urls = isPast ? [vendorOn(LANE_HOST)] : [LANE, vendorOn(HIDDEN_HOST)];
    for (const url of urls) await (await fetch(url, post({ ...QUESTION, model }))).text();
    const usage = Object.fromEntries(
      Object.entries(USAGE).map(([name, tokens]) => [name, urls.length * tokens]),
    );
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        id: 'chatcmpl-2',
        object: 'chat.completion',
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
        usage,
      }),
    );
  })();
});

server.listen(3000, '127.0.0.1', () => process.stdout.write('"listening"\n'));
for await (const line of createInterface({ input: process.stdin })) {
  const action = JSON.parse(line) as Action;
  let result: unknown;
  try {
    result = await (ACTIONS[action.action] as (given: Action) => Promise<unknown>)(action);
  } catch (error) {
    result = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(result ?? null)}\n`);
}
process.exit();
