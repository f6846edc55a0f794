// No event of a stream waits in a lane. Only the order of events decides, on one clock: no limit in milliseconds.
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startLaneRig, type LaneRig } from './lane-rig.ts';
import { MULTIPLY } from './run-client.ts';

let rig: LaneRig;
beforeAll(async () => {
  rig = await startLaneRig();
});
afterAll(() => rig.close());

/** Counts what the client has received. The sender waits for it, so an event that is held stops the stream without end. */
class Received {
  #count = 0;
  #waiting: { count: number; resolve: () => void }[] = [];

  add(events: number): void {
    this.#count += events;
    for (const { resolve } of this.#waiting.filter(({ count }) => count <= this.#count)) resolve();
    this.#waiting = this.#waiting.filter(({ count }) => count > this.#count);
  }

  until(count: number): Promise<void> {
    return this.#count >= count
      ? Promise.resolve()
      : new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }
}

async function send(url: string, body: object, agent: Agent | false): Promise<IncomingMessage> {
  const request = httpRequest(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    agent,
  });
  request.end(JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

interface Reading {
  received: Received;
  /** Ends an event. */
  separator?: string;
  agent?: Agent;
}

/** Reads a stream to its end and returns its number of events. */
async function read(
  url: string,
  body: object,
  { received, separator = '\n\n', agent }: Reading,
): Promise<number> {
  const response = await send(url, body, agent ?? false);
  let rest = '';
  let events = 0;
  for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>) {
    const parts = (rest + piece).split(separator);
    rest = parts.pop() ?? '';
    events += parts.length;
    received.add(parts.length);
  }
  return events;
}

/** Ends of events that are not an empty line. */
const SEPARATORS: Readonly<Record<string, string>> = { gemini: '\r\n\r\n', ollama: '\n' };

const QUESTION = { messages: [{ role: 'user', content: 'hi' }] };
const PARAMETERS = { type: 'object', properties: {} };
const FUNCTION = { type: 'function', function: { name: 'multiply', parameters: PARAMETERS } };
const CHAT = { ...QUESTION, stream: true, stream_options: { include_usage: true } };
const GEMINI = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };

describe('the vendor sends an event only after the client has received the one before it', () => {
  test.each([
    ['chat', '/openai/v1/chat/completions', { ...CHAT, model: 'gpt-4o-mini' }, { tools: [FUNCTION] }],
    [
      'responses',
      '/openai/v1/responses',
      { model: 'gpt-4o-mini', input: 'hi', stream: true },
      { tools: [{ type: 'function', name: 'multiply', parameters: PARAMETERS }] },
    ],
    [
      'anthropic',
      '/anthropic/v1/messages',
      { ...QUESTION, model: 'claude-sonnet-4-5', max_tokens: 9, stream: true },
      { tools: [{ name: 'multiply', input_schema: PARAMETERS }] },
    ],
    [
      'gemini',
      '/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      GEMINI,
      { tools: [{ functionDeclarations: [{ name: 'multiply' }] }] },
    ],
    [
      'cohere',
      '/cohere/v2/chat',
      { ...QUESTION, model: 'command-a-03-2025', stream: true },
      { tools: [FUNCTION] },
    ],
    ['ollama', '/ollama/api/chat', { ...QUESTION, model: 'llama3.2' }, { tools: [FUNCTION] }],
  ])('%s', async (wire, path, body, tools) => {
    const separator = SEPARATORS[wire] ?? '\n\n';
    for (const offered of [{}, tools]) {
      const received = new Received();
      rig.vendor.begin({ name: wire, calls: [MULTIPLY], gate: (event) => received.until(event) });
      const count = await read(
        `http://127.0.0.1:${rig.port}${path}`,
        { ...body, ...offered },
        { received, separator },
      );
      expect(count).toBeGreaterThan(0);
    }
  });
});

/** Streams on one connection, so that their delays add up. The lane has more of them, and must still be first. */
const STREAMS = { lane: 45, withNagle: 30 };

/** Reads streams one after the other on one connection. */
async function readStreams(port: number, streams: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const lane = `http://127.0.0.1:${port}/openai/v1/chat/completions`;
  for (let stream = 0; stream < streams; stream++)
    await read(lane, { ...CHAT, model: 'gpt-4o-mini' }, { received: new Received(), agent });
  agent.destroy();
}

/**
 * Nagle's algorithm holds a small segment until the one before it is acknowledged, and Linux delays an acknowledgement by 40 ms
 * on a connection that requests and responses alternate on. A sidecar with it runs at the same time. Only in the soak: the test above
 * detects a delay without a clock.
 */
const onLinux = process.platform === 'linux' && process.env['SOAK'] === '1' ? test : test.skip;
onLinux('streams through the lane end before fewer streams of a sidecar with Nagle’s algorithm', async () => {
  const preload = ['to-vendor.cjs', 'with-nagle.cjs'].map(
    (file) => `--require ${join(import.meta.dirname, file)}`,
  );
  const slow = await startLaneRig({ env: { NODE_OPTIONS: preload.join(' ') } });
  try {
    for (const { vendor, port } of [rig, slow]) {
      vendor.begin({ name: 'before' });
      await readStreams(port, 3);
    }
    const ended: string[] = [];
    const run = async (name: keyof typeof STREAMS, port: number): Promise<void> => {
      await readStreams(port, STREAMS[name]);
      ended.push(name);
    };
    await Promise.all([run('withNagle', slow.port), run('lane', rig.port)]);
    expect(ended).toEqual(['lane', 'withNagle']);
  } finally {
    await slow.close();
  }
});
