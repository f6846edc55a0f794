import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { isRecord } from '../../core/untrusted/fields.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import type { Json, ModelResponse, Step, ToolCall } from '../frameworks/model-response.ts';
import { VENDOR_HOSTS, vendorRoute, type FoundRoute } from './vendor-routes.ts';

/** What the vendor knows about one call that it served: the truth that the lane's log is compared with. */
export interface LaneVendorCall {
  /** Name in the client's TLS handshake, which is also the `Host`; null: plain HTTP. */
  host: string | null;
  path: string;
  model: string;
  isStream: boolean;
  offered: string[];
  called: string[];
  promptTokens: number;
  completionTokens: number;
  /** The key of the client: `authorization` without its scheme, or the header of the vendor. */
  key: string | null;
  /** The body of the request. */
  body: Json;
}

/** How the vendor responds. */
export interface LaneScenario {
  /** Seed of the ids, so that two runs of a scenario have the same bytes. */
  name: string;
  /** The calls of the first response, if the request offers their tools; afterwards the vendor sends text. */
  calls?: readonly ToolCall[];
  /** The text of responses; default: a sentence. */
  text?: string;
  /** Waited for before each event of a stream. */
  gate?: (event: number) => Promise<void>;
}

/** The public APIs of the vendors, over TLS with a private CA, and without TLS for clients without a sidecar. */
export interface LaneVendor {
  plainUrl: string;
  tlsPort: number;
  /** PEM certificate of the CA. */
  ca: string;
  begin(scenario: LaneScenario): void;
  /** Served calls since `begin`. */
  calls: LaneVendorCall[];
  /** `METHOD host path` of the other requests since `begin`. */
  others: string[];
  close(): Promise<void>;
}

export const TEXT = 'Six times seven is “42”.';
/** All sums are different. */
const PROMPT_TOKENS = [31, 67, 131, 263, 521, 1031, 2063];
const COMPLETION_TOKENS = [5, 11, 23, 47, 97, 193, 389];
const CERTIFICATE_DAYS = 2;

export async function startLaneVendor(): Promise<LaneVendor> {
  const validity = { now: new Date(), days: CERTIFICATE_DAYS };
  const ca = await issueCa(validity);
  const leaf = await issueLeaf(ca, VENDOR_HOSTS, validity);
  let scenario: LaneScenario = { name: '' };
  const handler: RequestListener = (request, response) => void serve(request, response, { vendor, scenario });
  const plain = createServer(handler);
  const tls = createTlsServer(leaf, handler);
  tls.on('upgrade', openRealtime);
  const [plainPort, tlsPort] = await Promise.all([plain, tls].map(listen));
  const vendor: LaneVendor = {
    plainUrl: `http://127.0.0.1:${plainPort}`,
    tlsPort: tlsPort ?? 0,
    ca: ca.cert,
    calls: [],
    others: [],
    begin(next) {
      scenario = next;
      vendor.calls = [];
      vendor.others = [];
    },
    close: async () => {
      for (const server of [plain, tls]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
  return vendor;
}

/** A session of OpenAI's realtime API: its first event, as one text frame of WebSocket. */
export const SESSION_CREATED = {
  type: 'session.created',
  event_id: 'event_1',
  session: { type: 'realtime', object: 'realtime.session', id: 'sess_1', model: 'gpt-realtime' },
};
/** Of RFC 6455. */
const WEBSOCKET_ID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

function openRealtime({ headers }: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${WEBSOCKET_ID}`).digest('base64');
  // The native WebSocket sends the key of the client next to this protocol, and requires a choice.
  const protocol = headers['sec-websocket-protocol']?.split(/, */).find((each) => each === 'realtime');
  const chosen = protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`;
  const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${chosen}Sec-WebSocket-Accept: ${accept}\r\n\r\n`;
  const text = Buffer.from(JSON.stringify(SESSION_CREATED));
  // One whole text frame with a length of two bytes.
  const frame = Buffer.concat([Buffer.from([0x81, 126, text.length >> 8, text.length & 0xff]), text]);
  socket.on('error', () => socket.destroy()).on('data', () => socket.end());
  socket.write(Buffer.concat([Buffer.from(head), frame]));
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { vendor, scenario }: { vendor: LaneVendor; scenario: LaneScenario },
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://vendor');
  const host = 'encrypted' in request.socket ? String((request.socket as TLSSocket).servername) : null;
  const body = await bodyOf(request);
  const route = request.method === 'POST' ? vendorRoute(host, pathname) : null;
  // A client that puts another host into the header than into the handshake would reach no vendor.
  const isMisdirected = host !== null && request.headers.host !== host;
  if (route === null || body === null || isMisdirected) {
    vendor.others.push(`${request.method} ${host ?? ''} ${request.url}`);
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not found"}}');
    return;
  }
  const call = callOf(request, body, {
    ...{ host, path: pathname, route, index: vendor.calls.length },
    keyInQuery: searchParams.get('key'),
  });
  const step = stepOf(call.offered, vendor.calls.length, scenario);
  call.called = step.tools.map(({ name }) => name);
  vendor.calls.push(call);
  await respond(response, { route, call, scenario, step, index: vendor.calls.length });
}

interface Arrived {
  host: string | null;
  path: string;
  route: FoundRoute;
  /** Calls before this one. */
  index: number;
  keyInQuery: string | null;
}

function callOf(
  { headers }: IncomingMessage,
  body: Json,
  { host, path, route, index, keyInQuery }: Arrived,
): LaneVendorCall {
  const at = Math.min(index, PROMPT_TOKENS.length - 1);
  const { wire } = route;
  const given =
    headers['x-api-key'] ?? headers['api-key'] ?? headers['x-goog-api-key'] ?? headers.authorization;
  const key = typeof given === 'string' ? given.replace(/^Bearer /i, '') : keyInQuery;
  return {
    ...{ host, path, key, body, called: [] },
    model: route.model ?? (typeof body['model'] === 'string' ? body['model'] : 'unknown'),
    isStream: route.isStream || (body['stream'] ?? wire.isStreamByDefault) === true,
    offered: wire.toolsOf(body),
    promptTokens: PROMPT_TOKENS[at] ?? 0,
    completionTokens: wire.name === 'embeddings' ? 0 : (COMPLETION_TOKENS[at] ?? 0),
  };
}

/** Some frameworks receive the text through a tool named `final_answer`. */
function stepOf(offered: readonly string[], index: number, { calls = [], text = TEXT }: LaneScenario): Step {
  const tools = index === 0 ? calls.filter(({ name }) => offered.includes(name)) : [];
  if (tools.length > 0) return { tools: [...tools], text: '' };
  return offered.includes('final_answer')
    ? { tools: [{ name: 'final_answer', input: JSON.stringify({ answer: text }) }], text: '' }
    : { tools: [], text };
}

interface Responding {
  route: FoundRoute;
  call: LaneVendorCall;
  scenario: LaneScenario;
  step: Step;
  index: number;
}

async function respond(
  response: ServerResponse,
  { route: { wire }, call, scenario, step, index }: Responding,
): Promise<void> {
  const { model, promptTokens, completionTokens, isStream, body } = call;
  const about: ModelResponse = {
    id: createHash('sha256').update(`${scenario.name} ${index}`).digest('hex'),
    ...{ model, promptTokens, completionTokens, ...step },
    statesUsage: !isStream || (wire.statesUsageInStream?.(body) ?? true),
  };
  if (!isStream) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(wire.whole(about)));
    return;
  }
  response.writeHead(200, { 'content-type': wire.streamType });
  response.flushHeaders();
  for (const [event, text] of wire.stream(about).entries()) {
    await (scenario.gate?.(event) ?? new Promise((resolve) => setImmediate(resolve)));
    response.write(text);
  }
  response.end();
}

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
