import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePorts } from '../examples/demo/free-ports.ts';
import { listen } from '../runtime/http-listener.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';
import { controlLimits } from './control-limits.ts';
import type { LoadLimits } from './proxy/load-limits.ts';

/** An address of this machine as that of the pod: a mesh proxy forwards to it. */
const podAddress = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;
/** Only Linux has all addresses of 127.0.0.0/8. */
const canRun = process.platform === 'linux' && podAddress !== undefined;

const LOOPBACK = '127.0.0.1';
/** Proxies of Istio and Kuma forward connections of other pods from this address. */
const MESH_PROXY = '127.0.0.6';

let rig: SidecarRig;
let ports: Record<'control' | 'lanes' | 'connect' | 'otlp', number>;

beforeAll(async () => {
  const [lanes = 0, connectLane = 0, otlp = 0] = await freePorts(3);
  rig = await startSidecarRig({
    manifest: manifestText(),
    bindAddress: '::',
    env: {
      ...{ CONTROL_ACCESS: 'local', OPENAI_API_KEY: 'k', OTLP_PORT: String(otlp) },
      ...{ EGRESS_LANES: 'openai=http://127.0.0.1:9', EGRESS_PORT: String(lanes) },
      ...{ EGRESS_CONNECT: 'deny', EGRESS_CONNECT_PORT: String(connectLane) },
    },
  });
  ports = { control: rig.sidecar.controlPort, lanes, connect: connectLane, otlp };
});
afterAll(() => rig.close());

/** The status of the response to a request that is sent from one address of this machine to another. */
function statusOf(
  { from, to = LOOPBACK }: { from: string; to?: string | undefined },
  port: number,
  [line, body = '']: readonly [line: string, body?: string],
): Promise<number> {
  const head = `Host: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ host: to, port, localAddress: from }, () =>
      socket.write(`${line} HTTP/1.1\r\n${head}\r\n\r\n${body}`),
    );
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.on('close', () => resolve(Number(text.split(' ')[1]))).on('error', reject);
  });
}

/** Requests with the status for a client in the pod. */
const ROWS: [port: keyof typeof ports, request: readonly [line: string, body?: string], inside: number][] = [
  ['control', ['GET /gap'], 200],
  ['control', ['GET /audit'], 200],
  ['control', ['POST /events', '{"requestId":"r","agentName":"a","events":[]}'], 202],
  ['lanes', ['GET /groq/models'], 404],
  ['otlp', ['POST /v1/traces', '{}'], 200],
];

(canRun ? describe : describe.skip)('a client behind a mesh proxy', () => {
  test.each(ROWS)('is not local at the port %s: %j', async (port, request, inside) => {
    const own = await statusOf({ from: LOOPBACK }, ports[port], request);
    expect(own).toBe(inside);
    expect(await statusOf({ from: MESH_PROXY }, ports[port], request)).toBe(403);
    if (port !== 'control') return;
    expect(await statusOf({ from: MESH_PROXY, to: podAddress }, ports[port], request)).toBe(403);
    // The kernel drops such packets from other hosts, but a proxy in the pod can send them.
    expect(await statusOf({ from: LOOPBACK, to: podAddress }, ports[port], request)).toBe(403);
  });

  test('is rejected by the CONNECT lane before its host is known', async () => {
    const response = await new Promise<string>((resolve) => {
      const socket = connect({ host: LOOPBACK, port: ports.connect, localAddress: MESH_PROXY }, () =>
        socket.write('CONNECT undeclared.example:443 HTTP/1.1\r\n\r\n'),
      );
      socket.setEncoding('latin1').once('data', resolve);
      socket.resume();
    });
    expect(response).toContain('this lane is available on loopback only');
  });

  test.each([
    [LOOPBACK, 404],
    [MESH_PROXY, 403],
  ])('from %s gets %d over HTTP/2 in a lane', async (from, status) => {
    const session = connectHttp2(`http://${LOOPBACK}:${ports.lanes}`, {
      createConnection: () => connect({ host: LOOPBACK, port: ports.lanes, localAddress: from }),
    });
    const stream = session.request({ ':path': '/groq/models' });
    const headers = await new Promise((resolve) => stream.once('response', resolve));
    session.destroy();
    expect(headers).toMatchObject({ ':status': status });
  });

  test('gets the responses to probes', async () => {
    const from = { from: MESH_PROXY, to: podAddress };
    for (const path of ['/readyz', '/health/live', '/metrics'])
      expect(await statusOf(from, ports.control, [`GET ${path}`])).toBe(200);
  });

  test('uses up only the connections for clients outside loopback', async () => {
    const load = { maxControlConnections: 4, maxUnfinishedHeads: 10, maxControlUnread: 1e6, cut: 0 };
    const listener = await listen({
      handler: (_request, response) => void response.end('served'),
      limits: controlLimits(load as LoadLimits),
      ...{ host: LOOPBACK, port: 0 },
    });
    const open = (localAddress: string): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const socket = connect({ host: LOOPBACK, port: listener.port, localAddress }, () => resolve(socket));
        socket.on('error', reject);
      });
    const forward = await open(LOOPBACK);
    const others: Socket[] = [];
    for (let i = 0; i < 5; i += 1) others.push(await open(MESH_PROXY));
    const response = new Promise((resolve) => forward.setEncoding('latin1').once('data', resolve));
    forward.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await response).toMatch(/^HTTP\/1.1 200 /);
    expect(load.cut).toBe(3);
    for (const socket of [forward, ...others]) socket.destroy();
    await listener.close(0);
  });
});
