import {
  Agent,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import { startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

/** Fewer than in `accounting.integration.test.ts`, which sends thousands of requests. */
const REQUESTS = 800;

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

/** An agent that responds, responds early, or disconnects before its head or in its body. */
function respondAtRandom(request: IncomingMessage, response: ServerResponse, dice: () => number): void {
  const { socket } = request.on('error', () => undefined);
  const kind = dice();
  const soon = dice() * 5;
  if (kind < 0.1) socket.destroy();
  else if (kind < 0.2) {
    response.writeHead(200, { 'content-length': 50_000 }).write(Buffer.alloc(20_000));
    setTimeout(() => (kind < 0.15 ? socket.resetAndDestroy() : socket.destroy()), soon);
  } else if (kind < 0.3) response.end('early');
  else if (kind < 0.5) request.pipe(response);
  else request.resume().on('end', () => setTimeout(() => response.end(Buffer.alloc(30_000 * dice())), soon));
}

/** Sends a request that may be aborted at any moment. Resolves when the request has ended for the client. */
function sendAtRandom(requestId: string, agent: Agent, dice: () => number): Promise<void> {
  const method = dice() < 0.5 ? 'POST' : 'GET';
  const size = Math.floor(dice() * 100_000);
  const framing = dice() < 0.4 ? { 'transfer-encoding': 'chunked' } : { 'content-length': size };
  const headers = { 'x-request-id': requestId, ...(method === 'POST' && framing) };
  const [abortsAfter, cutsResponse] = [dice() < 0.25 ? dice() * 6 : null, dice() < 0.1];
  return new Promise((resolve) => {
    const request = httpRequest({ port: rig.port, method, headers, agent: dice() < 0.7 ? agent : false });
    request.on('error', () => resolve()).on('close', () => resolve());
    request.on('response', (response) => {
      response.on('error', () => undefined).resume();
      if (cutsResponse) response.destroy();
    });
    request.end(method === 'POST' ? Buffer.alloc(size) : undefined);
    if (abortsAfter !== null) setTimeout(() => request.destroy(), abortsAfter);
  });
}

test('records every request once although both sides disconnect, and leaves no connection open', async () => {
  const dice = diceOf(7);
  let seen = 0;
  rig = await startRig(
    (request, response) => {
      seen += 1;
      respondAtRandom(request, response, dice);
    },
    { capacity: 5_000, idleMs: 200 },
  );
  // The agent announces no keep-alive time-out.
  (rig.agent as Server).keepAliveTimeout = 0;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let sent = 0;
  const sendOn = async (): Promise<void> => {
    while (sent < REQUESTS) await sendAtRandom(`r${(sent += 1)}`, agent, dice);
  };
  await Promise.all(Array.from({ length: 64 }, sendOn));
  agent.destroy();
  const { ring, outcomes } = rig.audit;
  await until(() => outcomes.notEvaluated === ring.last, 'the completion of every entry');
  const entries = ring.newest();
  const ids = new Set(entries.map(({ requestId }) => requestId));
  expect(entries).toHaveLength(ring.last);
  // No request is recorded twice. Only requests that were aborted before they arrived are missing.
  expect(ids.size).toBe(ring.last);
  expect(ring.last).toBeGreaterThan(REQUESTS / 2);
  expect(seen).toBeLessThanOrEqual(ring.last + entries.filter(({ retried }) => retried).length);
  const unseen = entries.filter((entry) => entry.upstreamStatusCode === undefined);
  expect(unseen.filter(({ aborted, statusCode }) => aborted !== true && statusCode !== 502)).toEqual([]);
  const connections = promisify(rig.agent.getConnections.bind(rig.agent));
  for (let open = 1; open > 0; open = await connections()) await new Promise((r) => setTimeout(r, 20));
});
