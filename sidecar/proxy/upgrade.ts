import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createProxyServer } from 'http-proxy-3';
import type { Recording } from '../audit/recording.ts';
import type { ProxyContext } from './exchange.ts';
import { frame, lineOf } from './framing.ts';
import { requestHeaders, responseHeaders, valuesOf, type HeaderList } from './headers.ts';
import { writeProblem } from './problem-answer.ts';
import { requestIdOf } from './request-id.ts';

/** Carries WebSocket connections to the agent; other upgrades (h2c) are refused. */
export interface Upgrader {
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Cuts the connections that are still open. */
  close(): void;
}

interface Passage {
  recording: Recording;
  requestId: string;
  client: Socket;
  statusCode?: number;
  /** The agent's half, once it has switched protocols. */
  agent?: Socket;
  /** Ends the watch over a client that waits for the agent. */
  stopWatch(): void;
}

/** A client has nothing to say before the agent has switched. */
const MAX_EARLY_BYTES = 65_536;

export function createUpgrader(context: ProxyContext, upstreamUrl: URL): Upgrader {
  // toProxy: the path goes on as it came; otherwise it is parsed as a URL, which takes out dot segments.
  const proxy = createProxyServer({ target: upstreamUrl.href, xfwd: false, toProxy: true });
  const passages = new Map<IncomingMessage, Passage>();

  proxy.on('proxyReqWs', (outgoing, request) => {
    const passage = passages.get(request);
    if (passage === undefined) return;
    // The library ends the agent's side only once it has switched protocols.
    passage.client.once('close', () => outgoing.destroy());
    outgoing.on('upgrade', (answer, agent) => {
      passage.agent = agent;
      passage.stopWatch();
      rewriteAnswer(answer, passage);
    });
    outgoing.on('response', (answer) => rewriteAnswer(answer, passage));
  });
  proxy.on('error', (error, request) => {
    const passage = passages.get(request);
    if (passage === undefined || passage.statusCode !== undefined) return;
    const { requestId, client } = passage;
    context.outages.failed({ kind: 'unreachable', error }, requestId);
    passage.statusCode = 502;
    writeProblem(client, { status: 502, detail: 'the agent cannot be reached', requestId });
  });

  return {
    handle(request, socket, head) {
      const admitted = admit(context, request, socket as Socket);
      if (admitted === null) return;
      const passage = { ...admitted, stopWatch: watch(admitted.client, head) };
      passages.set(request, passage);
      passage.client.once('close', () => {
        passages.delete(request);
        finish(context, passage);
      });
      proxy.ws(request, passage.client, Buffer.alloc(0));
    },
    close() {
      for (const { client } of passages.values()) client.destroy();
    },
  };
}

/** Refuses what must not pass, rewrites the head of what may, and opens its record. */
function admit(
  context: ProxyContext,
  request: IncomingMessage,
  client: Socket,
): Omit<Passage, 'stopWatch'> | null {
  client.on('error', () => client.destroy());
  const framed = frame(lineOf(request));
  if (!framed.ok) {
    writeProblem(client, framed);
    return null;
  }
  const wanted = valuesOf(request.rawHeaders, 'upgrade').join(',').trim().toLowerCase();
  const isWebSocket = wanted === 'websocket' && request.method === 'GET' && request.httpVersion === '1.1';
  if (!isWebSocket || framed.body !== 'none') {
    writeProblem(client, { status: 400, detail: 'the only upgrade that passes here is a GET to websocket' });
    return null;
  }
  const requestId = requestIdOf(request.rawHeaders);
  const recording = context.audit.arrive({ requestId, method: 'GET', target: framed.path });
  const head = requestHeaders(request.rawHeaders, {
    requestId,
    host: framed.host,
    remoteAddress: client.remoteAddress ?? 'unknown',
    proto: 'http',
  });
  request.url = framed.path;
  request.headers = { ...recordOf(head), connection: 'Upgrade', upgrade: 'websocket' };
  return { recording, requestId, client };
}

/**
 * A socket that nobody reads does not tell that its other end has gone. Until the agent has switched, it is read here;
 * what comes early is put back for the library to carry.
 */
function watch(client: Socket, head: Buffer): () => void {
  const early: Buffer[] = [head];
  let size = head.length;
  const take = (chunk: Buffer): void => {
    early.push(chunk);
    size += chunk.length;
    if (size > MAX_EARLY_BYTES) client.destroy();
  };
  const leave = (): void => void client.destroy();
  client.on('data', take).on('end', leave);
  return () => {
    client.off('data', take).off('end', leave).pause();
    if (size > 0) client.unshift(Buffer.concat(early));
  };
}

/** The library writes the answer's `headers` to the client, after the listeners that were there before its own. */
function rewriteAnswer(answer: IncomingMessage, passage: Passage): void {
  const statusCode = answer.statusCode ?? 0;
  const { headers, platform } = responseHeaders(answer.rawHeaders, passage.requestId);
  passage.statusCode = statusCode;
  passage.recording.head({ statusCode, contentType: undefined, contentEncoding: undefined, platform });
  const connection =
    statusCode === 101 ? { connection: 'Upgrade', upgrade: 'websocket' } : { connection: 'close' };
  answer.headers = { ...recordOf(headers), ...connection };
}

function recordOf(flat: HeaderList): Record<string, string | string[]> {
  const record: Record<string, string | string[]> = {};
  for (let i = 0; i < flat.length; i += 2) {
    const name = (flat[i] ?? '').toLowerCase();
    const value = flat[i + 1] ?? '';
    const known = record[name];
    record[name] = known === undefined ? value : [...[known].flat(), value];
  }
  return record;
}

function finish(context: ProxyContext, { recording, client, agent, statusCode }: Passage): void {
  recording.bytesIn(agent?.bytesWritten ?? 0);
  recording.bytesOut(agent?.bytesRead ?? 0);
  recording.complete({
    ...(statusCode !== undefined && { statusCode }),
    aborted: statusCode === undefined || client.errored !== null,
    atMs: context.clock.monotonicMs(),
  });
}
