// No event of a stream waits in a lane. Only the order of events decides, on one clock: no limit in milliseconds.
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startLaneRig, type LaneRig } from './lane-rig.ts';
import { MULTIPLY } from './run-client.ts';

let rig: LaneRig;
beforeAll(async () => {
  rig = await startLaneRig();
});
afterAll(() => rig.close());

/** Counts what the client has received. The sender waits for it, so an event that is held stops the stream for ever. */
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
  const request = httpRequest(url, { method: 'POST', headers: { 'content-type': 'application/json' }, agent });
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
async function read(url: string, body: object, { received, separator = '\n\n', agent }: Reading): Promise<number> {
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

/** Many events, so that their delays add up. */
const EVENTS = 200;
const PIECE = 6;

/** Exchanges on the connection before the stream: after them Linux delays acknowledgements, as for an agent's later calls. */
const EXCHANGES = 5;

/** A connection of its own on which requests were sent before. */
async function usedConnection(url: string, body: object): Promise<Agent> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let exchange = 0; exchange < EXCHANGES; exchange++) await text(await send(url, body, agent));
  return agent;
}

/** Streams events, each after the one before it was received. Other requests get a short response. */
const withNagle = (received: Received): Server =>
  createServer({ noDelay: false }, (request, response) => {
    request.resume();
    if (request.url !== '/stream') {
      response.end('{}');
      return;
    }
    void (async () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      for (let event = 0; event < EVENTS && !response.destroyed; event++) {
        await received.until(event);
        response.write('data: {"choices":[]}\n\n');
      }
      response.end();
    })();
  });

/**
 * Nagle's algorithm holds a small segment until the one before it is acknowledged, which Linux delays by 40 ms. A server with
 * it and the lane send the same number of events at the same time: the lane must be first.
 */
const onLinux = process.platform === 'linux' ? test : test.skip;
onLinux('a stream through the lane ends before one of a server with Nagle’s algorithm', async () => {
  const [slow, fast] = [new Received(), new Received()];
  const server = withNagle(slow).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const control = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lane = `http://127.0.0.1:${rig.port}/openai/v1/chat/completions`;
  const chat = { ...QUESTION, model: 'gpt-4o-mini' };
  rig.vendor.begin({ name: 'before' });
  const [ofControl, ofLane] = [await usedConnection(control, {}), await usedConnection(lane, chat)];
  rig.vendor.begin({ name: 'nagle', text: 'x'.repeat(PIECE * EVENTS), gate: (event) => fast.until(event) });
  const ended: string[] = [];
  const other = read(`${control}/stream`, {}, { received: slow, agent: ofControl })
    .then(() => ended.push('server with Nagle'))
    // Cut at the end of the test.
    .catch(() => undefined);
  try {
    const count = await read(lane, { ...CHAT, model: 'gpt-4o-mini' }, { received: fast, agent: ofLane });
    ended.push('lane');
    expect(count).toBeGreaterThanOrEqual(EVENTS);
    expect(ended).toEqual(['lane']);
  } finally {
    for (const agent of [ofControl, ofLane]) agent.destroy();
    server.closeAllConnections();
    server.close();
    await other;
  }
});
