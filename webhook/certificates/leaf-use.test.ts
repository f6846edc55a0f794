import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'node:https';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { issueCa } from './issue.ts';
import type { KeyPair } from '../../runtime/http-listener.ts';
import { HANDED_OVER } from '../handover.ts';
import { isReview } from '../routes/reviews.ts';
import { createLeafUse, type LeafUse } from './leaf-use.ts';

let server: Server;
let use: LeafUse;
let agent: Agent;
let pairs: [KeyPair, KeyPair];

beforeEach(async () => {
  const issue = () => issueCa({ now: new Date(), days: 1 });
  pairs = await Promise.all([issue(), issue()]);
  use = createLeafUse(isReview);
  server = createServer(
    pairs[0],
    use.around((_request, response) => response.end()),
  );
  use.follow(server);
  use.serve(pairs[0]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
});

afterEach(async () => {
  agent.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** Sends a request and returns the `Connection` header of the response. */
function connectionOf(path: string, headers: Record<string, string> = {}): Promise<string | undefined> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, agent, headers }, (response) => {
      response.resume().once('end', () => resolve(response.headers.connection));
    });
    sent.once('error', reject).end();
  });
}

test('a review over the current certificate counts as used and keeps its connection', async () => {
  expect(use.isUsed()).toBe(false);
  expect(await connectionOf('/mutate/pod?timeout=5s')).toBe('keep-alive');
  expect(use.isUsed()).toBe(true);
});

test('a request to another path does not count as used', async () => {
  expect(await connectionOf('/readyz')).toBe('keep-alive');
  expect(use.isUsed()).toBe(false);
});

test('a review that another replica has handed over does not count as used', async () => {
  await connectionOf('/mutate/pod', { [HANDED_OVER]: 'true' });
  expect(use.isUsed()).toBe(false);
  await connectionOf('/mutate/pod');
  await connectionOf('/mutate/pod', { [HANDED_OVER]: 'true' });
  expect(use.isUsed()).toBe(true);
});

test('a review over an older certificate does not count as used and closes its connection', async () => {
  await connectionOf('/mutate/pod');
  use.serve(pairs[1]);
  expect(use.isUsed()).toBe(false);
  expect(await connectionOf('/mutate/pod')).toBe('close');
  expect(use.isUsed()).toBe(false);
  expect(await connectionOf('/mutate/pod')).toBe('keep-alive');
  expect(use.isUsed()).toBe(true);
});
