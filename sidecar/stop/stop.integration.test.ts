import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { COMPILE_CACHE } from '../../testing/machine/compile-cache.ts';
import { startDirectivePlane, type DirectivePlane } from '../../testing/sidecar/directive-plane.ts';
import { manifestText } from '../../testing/sidecar/sidecar-rig.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';

const STOP = {
  ...{ id: 'shop-team/incident', reason: 'leak of order data' },
  ...{ since: '2026-12-01T09:59:00Z', until: null },
};

let folder: string;
let plane: DirectivePlane;
/** The model providers, which stream without an end. */
let vendor: Server;
let calls: number;
let open: number;
let child: ChildProcess;
let lanes: number;
let proxy: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stop-'));
  await writeFile(join(folder, 'agent.yaml'), manifestText());
  plane = await startDirectivePlane();
  [calls, open] = [0, 0];
  vendor = createServer((request, response) => {
    calls += 1;
    open += 1;
    response.once('close', () => (open -= 1));
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-5', choices: [] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    });
  });
  await new Promise<void>((resolve) => vendor.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await kill();
  await plane.close();
  vendor.closeAllConnections();
  await new Promise((resolve) => vendor.close(resolve));
  await rm(folder, { recursive: true });
});

async function kill(): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function start(): Promise<void> {
  const [proxyPort = 0, control = 0, egress = 0, nowhere = 0] = await freePorts(4);
  [proxy, lanes] = [proxyPort, egress];
  const origin = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`;
  child = spawn(process.execPath, ['dist/sidecar/main.js'], {
    env: {
      ...COMPILE_CACHE,
      MANIFEST_PATH: join(folder, 'agent.yaml'),
      UPSTREAM_URL: `http://127.0.0.1:${nowhere}`,
      ...{ PROXY_PORT: String(proxyPort), CONTROL_PLANE_PORT: String(control), BIND_ADDRESS: '127.0.0.1' },
      ...{ PLATFORM_URL: plane.url, PLATFORM_KEY: 'the-key', DIRECTIVES_STORE_PATH: join(folder, 'd.json') },
      ...{ EGRESS_PORT: String(egress), EGRESS_LANES: `openai=${origin}/v1,anthropic=${origin}` },
    },
    stdio: 'ignore',
  });
  await until(async () => {
    const response = await fetch(`http://127.0.0.1:${control}/readyz`).catch(() => null);
    return response?.status === 200;
  }, 'the start');
}

const openai = (): OpenAI => new OpenAI({ apiKey: 'k', baseURL: `http://127.0.0.1:${lanes}/openai/v1` });
const anthropic = (): Anthropic =>
  new Anthropic({ apiKey: 'k', baseURL: `http://127.0.0.1:${lanes}/anthropic` });
const messages = [{ role: 'user' as const, content: 'hi' }];

test('an open stream of an official client ends, and its next call fails at once with one request', async () => {
  plane.first = { revision: '1', stop: null };
  await start();
  await until(() => plane.streams.length === 1);
  const stream = await openai().chat.completions.create({ model: 'gpt-5', messages, stream: true });
  const ended = (async () => {
    for await (const _ of stream) continue;
  })().then(
    () => null,
    (error: unknown) => error,
  );
  await until(() => open === 1);
  plane.send({ revision: '2', stop: STOP });
  expect(await ended).toBeInstanceOf(Error);
  await until(() => open === 0);
  const before = calls;
  await expect(openai().chat.completions.create({ model: 'gpt-5', messages })).rejects.toMatchObject({
    ...{ status: 503, code: 'agent_stopped' },
    message: expect.stringContaining('the agent is stopped: leak of order data'),
  });
  await expect(
    anthropic().messages.create({ model: 'claude', max_tokens: 5, messages }),
  ).rejects.toMatchObject({
    status: 503,
    message: expect.stringContaining('the agent is stopped: leak of order data'),
  });
  expect(calls).toBe(before);
  const control = await (await fetch(`http://127.0.0.1:${proxy}/v1/chat`, { method: 'POST' })).json();
  expect(control).toMatchObject({ detail: 'the agent shop is stopped' });
});

test('kill -9 of a stopped sidecar, without a control plane: no call passes after the restart', async () => {
  plane.first = { revision: '1', stop: STOP };
  await start();
  await until(async () => (await readFile(join(folder, 'd.json'), 'utf8').catch(() => '')).includes(STOP.id));
  await kill();
  plane.status = 500;
  await start();
  for (let call = 0; call < 5; call += 1)
    await expect(openai().chat.completions.create({ model: 'gpt-5', messages })).rejects.toMatchObject({
      code: 'agent_stopped',
    });
  await aMoment();
  expect(calls).toBe(0);
});
