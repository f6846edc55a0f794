// How soon a stop of the fleet reaches every sidecar, and the memory of their streams: `npm run bench:directives -- [STREAMS] [ROUNDS]`,
// after `make build`. One control plane with TLS, and one connection for each sidecar.
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Endpoint, SimulatedAgent } from './heartbeats.ts';
import { openBackend, startReplica } from './control-plane-targets.ts';
import { cpuMs, residentMb } from './processes.ts';
import { ADMIN_KEY, registeredAgents } from './simulated-agents.ts';

/** Streams that are opened at the same time. */
const PARALLEL = 50;

const count = Number(process.argv[2] ?? 2_000);
const rounds = Number(process.argv[3] ?? 5);

/** Events that all streams received, and when the last one of them arrived. */
const received = { events: 0, lastMs: 0 };

function ask(
  { port, tls }: Endpoint,
  {
    method,
    path,
    headers,
    body,
  }: { method: string; path: string; headers: Record<string, string>; body?: object },
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { ...{ host: '127.0.0.1', port, method, path, headers, agent: false, secureContext: tls } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    request.on('error', reject).end(body === undefined ? '' : JSON.stringify(body));
  });
}

/** Opens a stream. Each chunk of an event has its name once. */
function open({ port, tls }: Endpoint, { bearer }: SimulatedAgent): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${bearer}` };
    const path = '/api/v1/directives';
    const request = httpsRequest(
      { ...{ host: '127.0.0.1', port, path, headers, agent: false, secureContext: tls } },
      (response) => {
        if (response.statusCode !== 200) reject(new Error(`no stream: ${response.statusCode}`));
        response.on('data', (chunk: Buffer) => {
          if (!chunk.includes('event: directives')) return;
          received.events += 1;
          received.lastMs = performance.now();
        });
        resolve(response.socket);
      },
    );
    request.on('error', reject).end();
  });
}

async function openAll(endpoint: Endpoint, agents: readonly SimulatedAgent[]): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let from = 0; from < agents.length; from += PARALLEL)
    sockets.push(
      ...(await Promise.all(agents.slice(from, from + PARALLEL).map((agent) => open(endpoint, agent)))),
    );
  return sockets;
}

/** Sends a request, and resolves with the milliseconds until every stream has one more event. */
async function untilAll(
  ask: () => Promise<{ status: number; text: string }>,
): Promise<{ ms: number; text: string }> {
  const wanted = received.events + count;
  const begin = performance.now();
  const { text } = await ask();
  while (received.events < wanted) await sleep(5);
  return { ms: received.lastMs - begin, text };
}

const directory = await mkdtemp(join(tmpdir(), 'bench-'));
const backend = await openBackend('sqlite', directory);
const replica = await startReplica(backend, directory);
const { pid, endpoint } = replica;
try {
  const agents = await registeredAgents(endpoint, count);
  const before = { mb: residentMb(pid), ms: cpuMs(pid) };
  const sockets = await openAll(endpoint, agents);
  while (received.events < count) await sleep(50);
  const perStream = (residentMb(pid) - before.mb) / count;
  console.log(
    `${count} streams: ${perStream.toFixed(3)} MB each (at most 0.2), ${cpuMs(pid) - before.ms} ms of processor time to open`,
  );
  const headers = { 'x-admin-key': ADMIN_KEY, 'content-type': 'application/json' };
  const path = '/api/v1/stops';
  for (let round = 1; round <= rounds; round++) {
    const stop = await untilAll(() =>
      ask(endpoint, { method: 'POST', path, headers, body: { reason: 'rehearsal' } }),
    );
    const { id } = JSON.parse(stop.text) as { id: string };
    const resume = await untilAll(() => ask(endpoint, { method: 'DELETE', path: `${path}/${id}`, headers }));
    console.log(
      `round ${round}: last stop after ${stop.ms.toFixed(0)} ms, last resume after ${resume.ms.toFixed(0)} ms`,
    );
  }
  console.log(`resident memory at the end: ${residentMb(pid).toFixed(0)} MB`);
  for (const socket of sockets) socket.destroy();
} finally {
  await replica.close();
  await backend.close();
  await rm(directory, { recursive: true });
}
