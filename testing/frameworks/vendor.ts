import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isRecord } from '../../core/untrusted/fields.ts';
import { piecesOf, stepAt, type Json, type ModelResponse, type Protocol } from './model-response.ts';
import { ANTHROPIC } from './wire-anthropic.ts';
import { CHAT } from './wire-chat.ts';
import { RESPONSES } from './wire-responses.ts';

/** One billed model call. */
export interface VendorCall {
  protocol: Protocol;
  promptTokens: number;
  completionTokens: number;
  isStream: boolean;
  /** Id of the model in the request. */
  model: string;
  /** Names of the tools that the response calls. */
  tools: string[];
  /** Whether the response contains these tokens; false for a chat completions stream that did not request usage. */
  isStated: boolean;
  /** The client closed the connection before the response was complete. */
  isCut: boolean;
}

export interface Scenario {
  /** Seed of the ids, so that two runs of a scenario have the same bytes. */
  name: string;
  /**
   * The text response waits until `release` or until the client closes the connection. A stream continues to send text
   * in the meantime, because some servers detect only then that their client has disconnected.
   */
  isHeld?: boolean;
  /** JSON of the arguments of its tool calls. */
  toolInput?: string;
}

/** A model vendor with the wire protocols of OpenAI and Anthropic. It calls every offered tool before its text response. */
export interface Vendor {
  url: string;
  begin(scenario: Scenario): void;
  release(): void;
  /** Whether a call waits for `release`. */
  isHolding(): boolean;
  /** Calls since `begin`. */
  calls: VendorCall[];
  close(): Promise<void>;
}

const WIRES = [CHAT, RESPONSES, ANTHROPIC];

/** Tokens of the first call, the second call, ...: all sums of them are different. */
const PROMPT_TOKENS = [31, 67, 131, 263, 521, 1031, 2063];
const COMPLETION_TOKENS = [5, 11, 23, 47, 97, 193, 389];

/** Milliseconds between two events of a held stream. */
const DRIP_MS = 20;

/** Deterministic bytes for ids. */
function idOf(scenario: string, call: number): string {
  return createHash('sha256').update(`${scenario} ${call}`).digest('hex');
}

export async function startVendor(): Promise<Vendor> {
  let scenario: Scenario = { name: '' };
  let release = (): void => undefined;
  let released = Promise.resolve();
  let holding = 0;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://vendor').pathname;
    const wire = WIRES.find(({ path: end }) => path.endsWith(end));
    const body = await bodyOf(request);
    if (wire === undefined || body === null) {
      // Other requests of clients, such as the list of models.
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"error":{"message":"not found"}}');
      return;
    }
    const index = Math.min(vendor.calls.length, PROMPT_TOKENS.length - 1);
    const isStream = body['stream'] === true;
    const call: VendorCall = {
      protocol: wire.protocol,
      promptTokens: PROMPT_TOKENS[index] ?? 0,
      completionTokens: COMPLETION_TOKENS[index] ?? 0,
      isStream,
      model: typeof body['model'] === 'string' ? body['model'] : 'unknown',
      tools: [],
      isStated: !isStream || wire.statesUsageInStream(body),
      isCut: false,
    };
    vendor.calls.push(call);
    response.once('close', () => (call.isCut = !response.writableFinished));
    const about: ModelResponse = {
      id: idOf(scenario.name, vendor.calls.length),
      model: call.model,
      ...stepAt(vendor.calls.length - 1, wire.toolsOf(body), scenario.toolInput),
      promptTokens: call.promptTokens,
      completionTokens: call.completionTokens,
      statesUsage: call.isStated,
    };
    call.tools = about.tools.map(({ name }) => name);
    const isHeld = scenario.isHeld === true && !about.tools.some(({ name }) => name !== 'final_answer');
    if (!isStream) {
      if (isHeld) await hold(response);
      const text = JSON.stringify(wire.whole(about));
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = wire.stream(about);
    const [piece = ''] = piecesOf(about.text);
    const middle = events.findIndex((event) => isHeld && event.includes(JSON.stringify(piece)));
    for (const [index, event] of events.entries()) {
      response.write(event);
      if (index === middle) await hold(response, event);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };

  /** Waits until `release` or until the client has disconnected; repeats the event in the meantime. */
  const hold = async (response: ServerResponse, event?: string): Promise<void> => {
    holding += 1;
    const again = setInterval(() => event !== undefined && response.write(event), DRIP_MS);
    await Promise.race([released, closed(response)]);
    clearInterval(again);
    holding -= 1;
  };

  const server = createServer((request, response) => {
    void serve(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const vendor: Vendor = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    begin(next) {
      scenario = next;
      vendor.calls = [];
      released =
        next.isHeld === true ? new Promise((resolve) => (release = () => resolve())) : Promise.resolve();
    },
    release: () => release(),
    isHolding: () => holding > 0,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return vendor;
}

const closed = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => response.once('close', () => resolve()));

async function bodyOf(request: IncomingMessage): Promise<Json | null> {
  let text = '';
  for await (const piece of request.setEncoding('utf8') as AsyncIterable<string>) text += piece;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
