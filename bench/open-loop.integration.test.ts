import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { TestServers } from '../testing/http/sockets.ts';
import type { OpenLoop, OpenLoopResult } from './open-loop.ts';

const BODY = '{"ok":true}';

let servers: TestServers;
beforeEach(() => {
  servers = new TestServers();
});
afterEach(() => servers.close());

const respond = (response: ServerResponse): void =>
  void response.writeHead(200, { 'Content-Length': BODY.length }).end(BODY);

async function run(port: number, more: Partial<OpenLoop> = {}): Promise<{ output: string; errors: string }> {
  const options: OpenLoop = {
    ...{ port, request: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', bodyBytes: BODY.length },
    ...{ rate: 100, seconds: 1, warmUpSeconds: 0, ...more },
  };
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'open-loop.ts'), JSON.stringify(options)],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { output, errors };
}

test('sends all requests without waiting for responses', async () => {
  // No response is sent before the last request has arrived. A closed loop would stop here.
  const held: ServerResponse[] = [];
  const port = await servers.http((_request, response) => {
    held.push(response);
    if (held.length === 100) held.forEach(respond);
  });
  const { output } = await run(port);
  const result = JSON.parse(output) as OpenLoopResult;
  expect(result.requests).toBe(100);
  // Half of the requests were due at least half a second before the last one.
  expect(result.p50Ms).toBeGreaterThan(400);
});

test('requests of the warm-up are not counted', async () => {
  let requests = 0;
  const port = await servers.http((_request, response) => {
    requests += 1;
    respond(response);
  });
  const { output } = await run(port, { warmUpSeconds: 1 });
  expect([(JSON.parse(output) as OpenLoopResult).requests, requests]).toEqual([100, 200]);
});

test.each<[string, (response: ServerResponse) => void, string]>([
  ['another status', (response) => void response.writeHead(503).end(), 'unexpected response: HTTP/1.1 503'],
  ['another body', (response) => void response.end('{}'), 'unexpected response: HTTP/1.1 200'],
  ['an ended connection', (response) => void response.socket?.end(), 'the target closed a connection'],
])('fails after %s', async (_what, respond, message) => {
  const port = await servers.http((_request, response) => respond(response));
  const { output, errors } = await run(port);
  expect(output).toBe('');
  expect(errors).toContain(message);
});
