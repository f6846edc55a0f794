import { Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createProxyServer } from 'http-proxy-3';
import type { UpstreamFailureKind } from '../../core/behavior/audit-entry.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import { agentRequest } from './agent-request.ts';
import { frame } from './framing.ts';
import { recordOf, valuesOf } from './headers.ts';
import { costOfHead, type LoadLimits } from './load-limits.ts';
import type { ProxyContext } from './proxy-context.ts';
import { OVERLOAD, writeProblem } from './problem-response.ts';
import { requestIdOf } from './request-id.ts';
import { fail, holdWhilePaused, judge, relay, type Passage } from './upgrade-response.ts';
import { connectTimeoutOf, UNBUFFERED, type UpstreamOptions } from './upstream.ts';

export type Upgrader = ReturnType<typeof createUpgrader>;

/** Maximum bytes that a client may send before the agent has switched protocols. Normally there are none. */
const MAX_EARLY_BYTES = 16 * 1024;
/** How long a side may read the last bytes after the other side has disconnected. */
const LINGER_MS = 5_000;

/** Proxies WebSocket connections to the agent and rejects invalid WebSocket requests. */
export function createUpgrader(context: ProxyContext, { url, timeoutMs }: UpstreamOptions) {
  // toProxy: passes the path unchanged. Otherwise the path is parsed as a URL, which removes dot segments.
  const connectTimeout = connectTimeoutOf({ timeoutMs });
  const agent = agentOf(url);
  const proxy = createProxyServer({ target: url.href, xfwd: false, toProxy: true, connectTimeout, agent });
  const passages = new Map<IncomingMessage, Passage>();

  proxy.on('proxyReqWs', (outgoing, request) => {
    const passage = passages.get(request);
    if (passage === undefined) return;
    prepare(outgoing, passage, timeoutMs);
    awaitResponse(context, outgoing, passage);
  });
  proxy.on('error', (error, request) => {
    const passage = passages.get(request);
    if (passage === undefined || passage.statusCode !== undefined) return;
    const kind = failureOf(error, passage);
    context.outages.failed({ kind, error }, passage.requestId);
    fail(passage, kind);
  });

  return {
    handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      const admitted = admit(context, request, socket as Socket);
      if (admitted === null) return;
      socket.once('close', () => leave(context.load, admitted));
      const passage = { ...admitted, stopWatch: watch(admitted.client, head) };
      passages.set(request, passage);
      passage.client.once('close', () => {
        passages.delete(request);
        if (passage.judging === null) finish(context, passage);
        else void passage.judging.then(() => finish(context, passage));
      });
      proxy.ws(request, passage.client, Buffer.alloc(0));
    },
    /** Cuts the connections that are still open. */
    close(): void {
      for (const { client } of passages.values()) client.destroy();
    },
  };
}

function agentOf({ protocol }: URL): Agent {
  const options = { keepAlive: false, ...UNBUFFERED };
  return protocol === 'https:' ? new TlsAgent(options) : new Agent(options);
}

function leave(load: LoadLimits, { headBytes }: Pick<Passage, 'headBytes'>): void {
  load.leave();
  load.giveBackHead(headBytes);
}

/** Rejects invalid requests. Rewrites the head of a valid request and starts its audit entry. */
function admit(
  context: ProxyContext,
  request: IncomingMessage,
  client: Socket,
): Omit<Passage, 'stopWatch'> | null {
  client.on('error', () => client.destroy());
  const framed = frame(request);
  if (!framed.ok) {
    writeProblem(client, framed);
    return null;
  }
  const wanted = withoutBlanks(valuesOf(request.rawHeaders, 'upgrade').join(',')).toLowerCase();
  const isWebSocket = wanted === 'websocket' && request.method === 'GET' && request.httpVersion === '1.1';
  if (!isWebSocket || framed.body !== 'none') {
    writeProblem(client, { status: 400, detail: 'the only supported upgrade is a GET request to websocket' });
    return null;
  }
  const headBytes = costOfHead(request.url ?? '', request.rawHeaders);
  if (!context.load.admit(headBytes)) {
    writeProblem(client, OVERLOAD);
    return null;
  }
  const requestId = requestIdOf(request.rawHeaders, context.audit.ring);
  const recording = context.audit.arrive({ requestId, method: 'GET', target: framed.path });
  const traceparent = context.traces?.join(request.rawHeaders, requestId) ?? null;
  const { headers } = agentRequest(request, framed, { requestId, traceparent });
  request.url = framed.path;
  request.headers = { ...recordOf(headers), connection: 'Upgrade', upgrade: 'websocket' };
  return {
    request,
    recording,
    requestId,
    client,
    headBytes,
    atSwitch: { read: 0, written: 0 },
    isCut: false,
    isTimedOut: false,
    isConnected: false,
    judging: null,
  };
}

/**
 * A socket must be read to detect that the client has disconnected. This function reads it until the agent has switched
 * protocols. Early bytes are put back for the library.
 */
function watch(client: Socket, head: Buffer): () => void {
  const early = new ChunkStore();
  const take = (chunk: Buffer): void => {
    early.add(chunk);
    if (early.bytes > MAX_EARLY_BYTES) client.destroy();
  };
  if (head.length > 0) take(head);
  const leave = (): void => void client.destroy();
  client.on('data', take).on('end', leave);
  return () => {
    client.off('data', take).off('end', leave).pause();
    if (early.bytes > 0) client.unshift(early.take());
  };
}

/** Removes the library's listeners, which would switch before the agent's head is judged. Returns a function that runs them. */
function deferUpgrade(outgoing: ClientRequest, own: readonly unknown[]): (...upgrade: unknown[]) => void {
  const theirs = outgoing.listeners('upgrade').filter((each) => !own.includes(each));
  for (const each of theirs) outgoing.off('upgrade', each as () => void);
  return (...upgrade) => theirs.forEach((each) => void Reflect.apply(each, outgoing, upgrade));
}

/**
 * Closes this side after the other side has disconnected. Nothing reads this side any more. Its end would not be detected,
 * unread bytes would block it, and the connection would leak.
 */
function closeAbandoned(socket: Socket): void {
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(cut));
  socket.end();
  // After the library has removed its pipe, which pauses the socket.
  setImmediate(() => socket.resume());
}

function prepare(outgoing: ClientRequest, passage: Passage, timeoutMs: number | null): void {
  // Node would silently drop response headers above its limit.
  outgoing.maxHeadersCount = 0;
  // The library closes the agent's side only after the agent has switched protocols.
  passage.client.once('close', () => outgoing.destroy());
  if (timeoutMs !== null) limitWait(outgoing, passage, timeoutMs);
  recordConnection(outgoing, passage);
}

function awaitResponse(context: ProxyContext, outgoing: ClientRequest, passage: Passage): void {
  let carry: (...upgrade: unknown[]) => void = () => undefined;
  outgoing.on('upgrade', (incoming, agent, head: Buffer) => {
    passage.agent = agent;
    passage.atSwitch = { read: agent.bytesRead - head.length, written: agent.bytesWritten };
    agent.on('error', () => (passage.isCut = true)).once('close', () => closeAbandoned(passage.client));
    switched(context, passage, agent);
    const pass = (headers: string[]): void => {
      // The library writes these headers to the client.
      incoming.headers = { ...recordOf(headers), connection: 'Upgrade', upgrade: 'websocket' };
      carry(incoming, agent, head);
    };
    judge(context, passage, { incoming, source: agent, pass });
  });
  const own = outgoing.listeners('upgrade');
  process.nextTick(() => {
    carry = deferUpgrade(outgoing, own);
    // The library's own 'response' listener handles neither slow clients nor truncated responses.
    outgoing.removeAllListeners('response').on('response', (incoming) => relay(context, passage, incoming));
  });
}

function recordConnection(outgoing: ClientRequest, passage: Passage): void {
  const connected = (): void => {
    passage.isConnected = true;
    passage.recording.sent();
  };
  outgoing.once('socket', (agent) => {
    if (agent.connecting) agent.once('connect', connected);
    else connected();
  });
}

/** The kind of a failure without a response. */
function failureOf(error: Error, { isTimedOut, isConnected }: Passage): UpstreamFailureKind {
  if (isTimedOut || (error as NodeJS.ErrnoException).code === 'ECONNECT_TIMEOUT') return 'timeout';
  return isConnected ? 'broken' : 'unreachable';
}

/** Limits the time to the first byte of the agent's response. An open WebSocket may be idle without limit. */
function limitWait(outgoing: ClientRequest, passage: Passage, timeoutMs: number): void {
  const timer = setTimeout(() => {
    passage.isTimedOut = true;
    outgoing.destroy(new Error(`no response within ${timeoutMs} ms`));
  }, timeoutMs);
  for (const event of ['upgrade', 'response', 'close']) outgoing.once(event, () => clearTimeout(timer));
}

function switched({ load }: ProxyContext, passage: Passage, agent: Socket): void {
  const { client } = passage;
  client.once('close', () => closeAbandoned(agent));
  passage.stopWatch();
  holdWhilePaused(load, client, [agent, client]);
}

function finish(
  context: ProxyContext,
  { recording, client, agent, atSwitch, statusCode, isCut }: Passage,
): void {
  recording.bytesIn((agent?.bytesWritten ?? 0) - atSwitch.written);
  recording.bytesOut((agent?.bytesRead ?? 0) - atSwitch.read);
  recording.complete({
    ...(statusCode !== undefined && { statusCode }),
    aborted: statusCode === undefined || isCut || client.errored !== null,
    atMs: context.clock.monotonicMs(),
  });
}
