import { Agent, ServerResponse, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { createProxyServer } from 'http-proxy-3';
import type { UpstreamFailureKind } from '../../core/behavior/audit-entry.ts';
import type { Verdict } from '../../core/policy/verdict.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { Recording } from '../audit/recording.ts';
import { answerViolation, withViolations } from '../policy/violation-answer.ts';
import { cutOff } from './connection-end.ts';
import { frame, lineOf } from './framing.ts';
import {
  printable,
  recordOf,
  requestHeaders,
  responseHeaders,
  valuesOf,
  type ResponseHead,
} from './headers.ts';
import { costOfHead, type Holder, type LoadLimits } from './load-limits.ts';
import type { ProxyContext } from './proxy-context.ts';
import { OVERLOAD, writeProblem } from './problem-response.ts';
import { requestIdOf } from './request-id.ts';
import { connectTimeoutOf, FAILURE_RESPONSES, UNBUFFERED, type UpstreamOptions } from './upstream.ts';

/** Proxies WebSocket connections to the agent and rejects invalid WebSocket requests. */
export interface Upgrader {
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Cuts the connections that are still open. */
  close(): void;
}

interface Passage {
  recording: Recording;
  requestId: string;
  client: Socket;
  /** Memory of the head in bytes, above an ordinary head. */
  headBytes: number;
  statusCode?: number;
  /** The agent's socket, set once the agent has switched protocols. */
  agent?: Socket;
  /** Bytes transferred on the agent's socket before the switch. */
  atSwitch: { read: number; written: number };
  /** true: the agent's response or its connection was cut. */
  isCut: boolean;
  isTimedOut: boolean;
  /** true: the connection to the agent is established. */
  isConnected: boolean;
  /** Pending policy evaluation of the agent's head. The audit entry is completed only after it. */
  judging: Promise<void> | null;
  /** Stops watching the client while it waits for the agent. */
  stopWatch(): void;
}

/** Maximum bytes that a client may send before the agent has switched protocols. Normally there are none. */
const MAX_EARLY_BYTES = 16 * 1024;
/** How long a side may read the last bytes after the other side has disconnected. */
const LINGER_MS = 5_000;

export function createUpgrader(context: ProxyContext, { url, timeoutMs }: UpstreamOptions): Upgrader {
  // toProxy: passes the path unchanged. Otherwise the path is parsed as a URL, which removes dot segments.
  const connectTimeout = connectTimeoutOf(timeoutMs);
  const agent = agentOf(url);
  const proxy = createProxyServer({ target: url.href, xfwd: false, toProxy: true, connectTimeout, agent });
  const passages = new Map<IncomingMessage, Passage>();

  proxy.on('proxyReqWs', (outgoing, request) => {
    const passage = passages.get(request);
    if (passage === undefined) return;
    prepare(outgoing, passage, timeoutMs);
    outgoing.on('upgrade', (incoming, agent, head: Buffer) => {
      context.outages.ended();
      passage.agent = agent;
      passage.atSwitch = { read: agent.bytesRead - head.length, written: agent.bytesWritten };
      agent.on('error', () => (passage.isCut = true)).once('close', () => closeAbandoned(passage.client));
      switched(context, passage, agent);
      const pass = (headers: string[]): void => {
        // The library writes these headers to the client.
        incoming.headers = { ...recordOf(headers), connection: 'Upgrade', upgrade: 'websocket' };
        carry(incoming, agent, head);
      };
      judge(context, { request, passage, source: agent, head: recordHead(incoming, passage), pass });
    });
    let carry: (...upgrade: unknown[]) => void = () => undefined;
    const own = outgoing.listeners('upgrade');
    process.nextTick(() => {
      carry = deferUpgrade(outgoing, own);
      // The library's own 'response' listener handles neither slow clients nor truncated responses.
      outgoing.removeAllListeners('response').on('response', (incoming) => {
        context.outages.ended();
        relay(context, incoming, request, passage);
      });
    });
  });
  proxy.on('error', (error, request) => {
    const passage = passages.get(request);
    if (passage === undefined || passage.statusCode !== undefined) return;
    const { requestId, client } = passage;
    const kind = failureOf(error, passage);
    passage.recording.failed(kind);
    context.outages.failed({ kind, error }, requestId);
    passage.statusCode = FAILURE_RESPONSES[kind].status;
    passage.recording.bytesOut(writeProblem(client, { ...FAILURE_RESPONSES[kind], requestId }));
  });

  return {
    handle(request, socket, head) {
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
    close() {
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
  const framed = frame(lineOf(request));
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
  const head = requestHeaders(request.rawHeaders, {
    requestId,
    host: framed.host,
    remoteAddress: client.remoteAddress ?? 'unknown',
  });
  request.url = framed.path;
  request.headers = { ...recordOf(head), connection: 'Upgrade', upgrade: 'websocket' };
  const atSwitch = { read: 0, written: 0 };
  return {
    recording,
    requestId,
    client,
    headBytes,
    atSwitch,
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

interface Judged {
  request: IncomingMessage;
  passage: Passage;
  /** Source of the rest of the agent's response. */
  source: Duplex | IncomingMessage;
  head: ResponseHead;
  /** Passes the response on with these headers. */
  pass: (headers: string[]) => void;
}

/** Judges the response to an upgrade like any other response, so that an upgrade cannot bypass the policy. */
function judge(context: ProxyContext, judged: Judged): void {
  const { passage, source, head, pass } = judged;
  const { recording, client } = passage;
  const decide = (verdict: Verdict): void => {
    recording.judged(verdict);
    if (client.destroyed) source.destroy();
    else if (verdict.blocks) block(judged, verdict.denials);
    else pass(withViolations(head.headers, verdict.denials));
  };
  const verdict = context.policy.judge(recording.entry, head.platform);
  if (verdict instanceof Promise) passage.judging = verdict.then(decide);
  else decide(verdict);
}

function block({ request, passage, source, head }: Judged, denials: readonly string[]): void {
  const { client, recording } = passage;
  source.destroy();
  recording.blocked();
  passage.statusCode = 403;
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(client);
  response.once('finish', () => client.destroySoon());
  recording.bytesOut(answerViolation(response, denials, head.headers));
}

function switched({ load }: ProxyContext, passage: Passage, agent: Socket): void {
  const { client } = passage;
  client.once('close', () => closeAbandoned(agent));
  passage.stopWatch();
  holdWhilePaused(load, client, [agent, client]);
}

/** Registers the connection as stuck while `pipe` pauses one side because the other side does not read. */
function holdWhilePaused(load: LoadLimits, client: Socket, sides: readonly Readable[]): void {
  const holder: Holder = { shed: () => client.destroy() };
  const isPaused = (): boolean => !client.destroyed && sides.some((side) => side.isPaused());
  const release = (): void => {
    if (!isPaused()) load.release(holder);
  };
  // If the kernel accepts the bytes, a side is paused only within one turn of the event loop.
  const hold = (): void => void setImmediate(() => isPaused() && load.hold(holder));
  for (const side of sides) side.on('pause', hold).on('resume', release);
  client.once('close', () => load.release(holder));
}

/** Called if the agent did not switch protocols: passes its response to the client and ends the connection. */
function relay(
  context: ProxyContext,
  incoming: IncomingMessage,
  request: IncomingMessage,
  passage: Passage,
): void {
  const head = recordHead(incoming, passage);
  const pass = (headers: string[]): void => relayWith(headers, incoming, request, passage);
  holdWhilePaused(context.load, passage.client, [incoming]);
  judge(context, { request, passage, source: incoming, head, pass });
}

function relayWith(
  headers: string[],
  incoming: IncomingMessage,
  request: IncomingMessage,
  passage: Passage,
): void {
  const { client, recording, requestId } = passage;
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.writeHead(passage.statusCode ?? 0, printable(incoming.statusMessage ?? ''), headers);
  } catch {
    incoming.destroy();
    passage.statusCode = FAILURE_RESPONSES.broken.status;
    recording.failed('broken');
    recording.bytesOut(writeProblem(client, { ...FAILURE_RESPONSES.broken, requestId }));
    return;
  }
  response.assignSocket(client);
  incoming.on('data', (chunk: Buffer) => recording.bytesOut(chunk.length));
  incoming.on('error', () => {
    passage.isCut = true;
    cutOff(response);
  });
  // Writing to a client that has disconnected fails.
  response.on('error', () => undefined).once('finish', () => client.destroySoon());
  incoming.pipe(response);
}

function recordHead(incoming: IncomingMessage, passage: Passage): ResponseHead {
  const statusCode = incoming.statusCode ?? 0;
  const head = responseHeaders(incoming.rawHeaders, passage.requestId);
  const { platform } = head;
  passage.statusCode = statusCode;
  passage.recording.head({ statusCode, contentType: undefined, contentEncoding: undefined, platform });
  return head;
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
