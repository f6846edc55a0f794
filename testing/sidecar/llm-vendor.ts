import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';
import type { Json } from '../frameworks/model-response.ts';
import { ANTHROPIC } from '../frameworks/wire-anthropic.ts';
import { CHAT } from '../frameworks/wire-chat.ts';
import type { TestServers } from '../http/sockets.ts';

export interface VendorRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Json;
}

/** Writes one response. @param events gives the events of a streamed response in the protocol of the request */
export type VendorReply = (
  response: ServerResponse,
  events: (response: string, end?: string) => string[],
) => void;

export interface LlmVendor {
  /** Without the path of the version. */
  url: string;
  requests: VendorRequest[];
  /** The replies to the next requests. The last one stays. */
  replies: VendorReply[];
}

/** Tokens of each response; the protocol of Anthropic counts cached input tokens apart. */
export const VENDOR_TOKENS = { prompt: 31, completion: 5 };

/** A model vendor with the protocols of OpenAI's chat completions and of Anthropic, whose replies a test decides. */
export async function startLlmVendor(servers: TestServers, ...replies: VendorReply[]): Promise<LlmVendor> {
  const vendor: LlmVendor = { url: '', requests: [], replies };
  const port = await servers.http((request, response) => {
    const serve = (sent: string) => {
      const parsed = jsonOf(sent);
      const body = isRecord(parsed) ? parsed : {};
      const path = request.url ?? '';
      vendor.requests.push({ path, headers: request.headers, body });
      const reply = vendor.replies.length > 1 ? vendor.replies.shift() : vendor.replies[0];
      reply?.(response, (content, end) => eventsOf(path, body, content, end));
    };
    // A client that is interrupted closes the connection.
    void text(request).then(serve, () => undefined);
  });
  vendor.url = `http://127.0.0.1:${port}`;
  return vendor;
}

function eventsOf(path: string, body: Json, response: string, end: string | undefined): string[] {
  const wire = path.endsWith(ANTHROPIC.path) ? ANTHROPIC : CHAT;
  return wire.stream({
    id: '0'.repeat(64),
    model: `${String(body['model'])}-0001`,
    tools: [],
    text: response,
    promptTokens: VENDOR_TOKENS.prompt,
    completionTokens: VENDOR_TOKENS.completion,
    statesUsage: wire.statesUsageInStream(body),
    ...(end === undefined ? {} : { end }),
  });
}

const EVENT_STREAM = { 'content-type': 'text/event-stream' };

/** Streams a response. @param end the vendor's reason for the end */
export const streams =
  (content: string, end?: string): VendorReply =>
  (response, events) => {
    response.writeHead(200, EVENT_STREAM).end(events(content, end).join(''));
  };

/** Streams only the first events of a response, then acts on the open response. */
export const streamsOnly =
  (count: number, content: string, then: (response: ServerResponse) => void): VendorReply =>
  (response, events) => {
    response.writeHead(200, EVENT_STREAM);
    response.write(events(content).slice(0, count).join(''), () => then(response));
  };

/** Sends these bytes as an event stream. */
export const sends =
  (bytes: string): VendorReply =>
  (response) => {
    response.writeHead(200, EVENT_STREAM).end(bytes);
  };

/** Responds with a status and a JSON body. A retry follows at once. */
export const responds =
  (status: number, body: unknown, headers: Record<string, string> = {}): VendorReply =>
  (response) => {
    response
      .writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1', ...headers })
      .end(JSON.stringify(body));
  };
