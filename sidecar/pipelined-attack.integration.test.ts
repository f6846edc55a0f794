import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { nodeOptions } from '../core/injection/build-sidecar.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { ProcessRig, type RunningPart } from '../testing/machine/process-rig.ts';
import { until } from '../testing/time/until.ts';
import { connectRawHttp2 } from '../testing/http/raw-http2.ts';
import { manifestText } from '../testing/sidecar/sidecar-rig.ts';

/** As the injector and the image start the sidecar, with the memory limit of the chart. */
const LIMIT = '192Mi';
const FLAGS = ['--v8-pool-size=1', 'dist/sidecar/main.js'];
const LIMIT_KIB = 192 * 1024;

let rig: ProcessRig;
let agent: Server;
let sidecar: RunningPart;
let ports: { proxy: number; control: number; egress: number };
const clients: Socket[] = [];

beforeEach(async () => {
  rig = await ProcessRig.open();
  agent = createServer((request, response) => {
    // Calls of the vendor never end.
    if (request.url?.startsWith('/v1/') === true) request.resume();
    else response.end('<ok>');
  });
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', 4096, resolve));
  const url = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
  const [proxy = 0, control = 0, egress = 0] = await freePorts(3);
  ports = { proxy, control, egress };
  sidecar = await rig.startCommand([process.execPath, ...FLAGS], `http://127.0.0.1:${control}/readyz`, {
    NODE_OPTIONS: nodeOptions(LIMIT),
    BIND_ADDRESS: '127.0.0.1',
    UPSTREAM_URL: url,
    MANIFEST_PATH: await rig.file('agent.yaml', manifestText()),
    PROXY_PORT: String(proxy),
    CONTROL_PLANE_PORT: String(control),
    EGRESS_LANES: `openai=${url}/v1`,
    EGRESS_PORT: String(egress),
    AUDIT_RING_SIZE: '100000',
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  agent.closeAllConnections();
  agent.close();
  await rig.close();
});

/** The highest resident memory of the sidecar in KiB. */
const peak = (): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${sidecar.pid}/status`, 'utf8'))?.[1] ?? Infinity);

async function overload(): Promise<Record<string, number>> {
  const metrics = await (await fetch(`http://127.0.0.1:${ports.control}/metrics`)).text();
  const lines = metrics.matchAll(/^platform_sidecar_overload_total\{action="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, action = '', count]) => [action, Number(count)]));
}

/** Connects so many clients before any of them sends `bytes`. Returns the texts that they receive. */
async function attack(port: number, connections: number, bytes: string): Promise<{ received: () => number }> {
  let received = 0;
  const opened = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    clients.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: string) => (received += chunk.split('<ok>').length - 1));
    return new Promise((resolve) => socket.once('connect', () => resolve(socket)));
  });
  const sockets = (await Promise.all(opened)) as Socket[];
  for (const socket of sockets) socket.write(bytes);
  return { received: () => received };
}

async function isAlive(): Promise<void> {
  expect(await (await fetch(`http://127.0.0.1:${ports.proxy}/polite`)).text()).toBe('<ok>');
  expect(peak()).toBeLessThan(LIMIT_KIB);
}

const SMALL =
  'GET / HTTP/1.1\r\nHost: a\r\na: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\ne: 5\r\nf: 6\r\ng: 7777777777777777\r\n\r\n';

describe('a sidecar with the flags of an injected one survives', () => {
  test('400 connections with 100 pipelined requests each, and responds to all of them', async () => {
    const { received } = await attack(ports.proxy, 400, SMALL.repeat(100));
    await isAlive();
    for (let before = 0; before < 40_000; before = received())
      await until(() => received() > before, 'further responses');
    expect(received()).toBe(40_000);
    expect(await overload()).toEqual({ refused: 0, cut: 0, dropped: 0 });
    await isAlive();
  });

  test('requests behind one that is rejected', async () => {
    await attack(ports.proxy, 400, `GET / HTTP/1.1\r\n\r\n${SMALL.repeat(600)}`);
    await isAlive();
  });

  test('pipelined requests at the control port', async () => {
    await attack(ports.control, 400, SMALL.repeat(600));
    await isAlive();
  });

  test('pipelined requests at the port of the lanes', async () => {
    const call = SMALL.replace(' / ', ' /openai/v1/models ').replace('Host: a', 'Host: 127.0.0.1');
    await attack(ports.egress, 400, call.repeat(500));
    await isAlive();
  });

  test.each([
    ['streams without end', 100, false],
    ['streams that are reset at once', 900, true],
  ])('400 HTTP/2 sessions with %s', async (_title, streams, areReset) => {
    for (let count = 0; count < 400; count += 1) {
      const client = connectRawHttp2(ports.egress);
      clients.push(client.socket);
      client.socket.cork();
      for (let id = 1; id < 2 * streams; id += 2) {
        client.post(id, '/openai/v1/chat/completions', {});
        if (areReset) client.reset(id);
      }
      client.socket.uncork();
    }
    await until(() => clients.filter(({ closed }) => closed).length > 300, 'the end of most sessions');
    await isAlive();
    // On a slow machine, the sidecar ends sessions with resets before their memory reaches the limit.
    if (!areReset) expect((await overload())['dropped']).toBeGreaterThan(0);
  });

  test('an audit ring for which there is no memory, full of the longest paths', async () => {
    expect(sidecar.output()).toMatch(/AUDIT_RING_SIZE is too large for the memory limit.*wanted=100000/);
    const [, used] = /used=(\d+)/.exec(sidecar.output()) ?? [];
    const { received } = await attack(
      ports.proxy,
      50,
      SMALL.replace(' / ', ` /${'x'.repeat(3_000)} `).repeat(220),
    );
    await until(() => received() === 11_000, 'all responses');
    await isAlive();
    const newest = (await (await fetch(`http://127.0.0.1:${ports.control}/audit?limit=1`)).json()) as {
      seq: number;
    }[];
    expect(newest[0]?.seq).toBeGreaterThanOrEqual(Number(used));
  });
});
