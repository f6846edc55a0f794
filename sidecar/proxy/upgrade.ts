import { Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { UpstreamFailureKind } from '../../core/shapes/audit-entry.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import { agentRequest } from './agent-request.ts';
import { cutLater } from './connection-end.ts';
import { frame } from './framing.ts';
import { valuesOf, without } from './headers.ts';
import { costOfHead } from './load-limits.ts';
import type { ProxyContext } from './proxy-context.ts';
import { OVERLOAD, writeProblem } from './problem-response.ts';
import { requestIdOf } from './request-id.ts';
import { stoppedProblem } from '../stop/stopped-response.ts';
import { upgradeRequest } from './upgrade-request.ts';
import { fail, holdWhilePaused, judge, relay, switchProtocols, type Passage } from './upgrade-response.ts';
import { connectTimeoutOf, UNBUFFERED, type UpstreamOptions, type UpstreamRequest } from './upstream.ts';
import { watchEarly } from './watch-early.ts';
import { cutUpgrade } from './web-socket.ts';

/** Milliseconds until the first probe of an idle connection, which detects an agent that has vanished. */
const PROBE_MS = 60_000;

export interface Upgrader {
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Cuts the connections that are still open. */
  close(): void;
}

/** Proxies WebSocket connections to the agent and rejects invalid WebSocket requests. */
export function createUpgrader(context: ProxyContext, options: UpstreamOptions): Upgrader {
  const send = senderTo(options);
  const passages = new Set<Passage>();
  return {
    handle(request, socket, head) {
      const admitted = admit(context, request, socket as Socket);
      if (admitted === null) return;
      const { client } = admitted.passage;
      const passage = { ...admitted.passage, stopWatch: watchEarly(client, head) };
      passages.add(passage);
      const ended = context.stop.onStop(() => cutUpgrade(passage));
      client.once('close', () => {
        context.load.leave();
        context.load.giveBackHead(passage.headBytes);
        passages.delete(passage);
        ended();
        afterJudging(passage, () => finish(context, passage));
      });
      try {
        connect(context, passage, send(admitted.target), options);
      } catch (error) {
        // Otherwise the error would end the process.
        failed(context, passage, error as Error);
      }
    },
    close() {
      for (const { client } of passages) client.destroy();
    },
  };
}

/** What the agent is asked for. */
type Target = Pick<UpstreamRequest, 'path' | 'headers'>;

function senderTo({ url, tls }: UpstreamOptions): (target: Target) => ClientRequest {
  const options = { keepAlive: false, ...UNBUFFERED };
  const agent = url.protocol === 'https:' ? new TlsAgent(options) : new Agent(options);
  const prefix = url.pathname.replace(/\/$/, '');
  // Node.js rejects a request that announces trailers and has no body.
  return ({ path, headers }) =>
    upgradeRequest({ url, path: prefix + path, headers: without(headers, 'trailer'), agent, tls });
}

/** Sends the request, and handles what the agent responds. */
function connect(
  context: ProxyContext,
  passage: Passage,
  outgoing: ClientRequest,
  options: UpstreamOptions,
): void {
  const { client } = passage;
  passage.outgoing = outgoing;
  client.once('close', () => outgoing.destroy());
  limitConnect(outgoing, passage, connectTimeoutOf(options));
  if (options.timeoutMs !== null) limitWait(outgoing, passage, options.timeoutMs);
  outgoing.on('upgrade', (incoming, agent: Socket, rest) => {
    passage.agent = agent;
    passage.atSwitch = { read: agent.bytesRead - rest.length, written: agent.bytesWritten };
    agent
      .setKeepAlive(true, PROBE_MS)
      .on('error', () => (passage.isCut = true))
      .once('close', () => afterJudging(passage, () => closeAbandoned(client)));
    // At once: without these bytes, a socket that ends while its head is judged would be over.
    if (rest.length > 0) agent.unshift(rest);
    client.once('close', () => closeAbandoned(agent));
    passage.stopWatch();
    holdWhilePaused(context.load, client, [agent, client]);
    const pass = (headers: string[]): void => {
      passage.webSocket = switchProtocols(client, agent, headers);
    };
    judge(context, passage, { incoming, source: agent, pass });
  });
  outgoing.on('response', (incoming) => relay(context, passage, incoming));
  outgoing.on('error', (error) => {
    if (passage.statusCode === undefined && !client.destroyed) failed(context, passage, error);
  });
  outgoing.end();
}

function failed({ outages }: ProxyContext, passage: Passage, error: Error): void {
  const { isTimedOut, isConnected, requestId } = passage;
  const kind: UpstreamFailureKind = isTimedOut ? 'timeout' : isConnected ? 'broken' : 'unreachable';
  outages.failed({ kind, error }, requestId);
  fail(passage, kind);
}

/** Rejects invalid requests, and starts the audit entry of a valid one. */
function admit(
  context: ProxyContext,
  request: IncomingMessage,
  client: Socket,
): { passage: Omit<Passage, 'stopWatch'>; target: Target } | null {
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
  if (context.stop.current !== null) {
    context.stop.refused.proxy += 1;
    writeProblem(client, stoppedProblem(context.manifest(), context.stop.current));
    return null;
  }
  const headBytes = costOfHead(request.url ?? '', request.rawHeaders);
  if (!context.load.admit(headBytes)) {
    writeProblem(client, OVERLOAD);
    return null;
  }
  const requestId = requestIdOf(request.rawHeaders, context.audit.ring);
  const recording = context.audit.arrive({ requestId, method: 'GET', target: framed.path });
  context.onArrival?.(recording.entry, request);
  const traceparent = context.traces?.join(request.rawHeaders, requestId) ?? null;
  const passage = {
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
  return { passage, target: agentRequest(request, framed, { requestId, traceparent }) };
}

/** Calls `go` once the agent's head is judged and the decision is applied. */
function afterJudging({ judging }: Passage, go: () => void): void {
  if (judging === null) go();
  else void judging.then(go);
}

/**
 * Closes this side after the other side has disconnected. Nothing reads this side any more. Its end would not be detected,
 * unread bytes would block it, and the connection would leak.
 */
function closeAbandoned(socket: Socket): void {
  cutLater(socket);
  socket.end();
  // After the end of the pipe, which pauses the socket.
  setImmediate(() => socket.resume());
}

/** Limits the time to the connection, and records it. */
function limitConnect(outgoing: ClientRequest, passage: Passage, timeoutMs: number): void {
  const timer = timeOut(outgoing, passage, `no connection within ${timeoutMs} ms`, timeoutMs);
  outgoing.once('socket', (agent) =>
    agent.once('connect', () => {
      clearTimeout(timer);
      passage.isConnected = true;
      passage.recording.sent();
    }),
  );
}

/** Limits the time to the first byte of the agent's response. An open WebSocket may be idle without limit. */
function limitWait(outgoing: ClientRequest, passage: Passage, timeoutMs: number): void {
  const timer = timeOut(outgoing, passage, `no response within ${timeoutMs} ms`, timeoutMs);
  for (const event of ['upgrade', 'response']) outgoing.once(event, () => clearTimeout(timer));
}

function timeOut(outgoing: ClientRequest, passage: Passage, reason: string, ms: number): NodeJS.Timeout {
  const timer = setTimeout(() => {
    passage.isTimedOut = true;
    outgoing.destroy(new Error(reason));
  }, ms);
  outgoing.once('close', () => clearTimeout(timer));
  return timer;
}

function finish(context: ProxyContext, passage: Passage): void {
  const { recording, client, agent, atSwitch, statusCode, isCut } = passage;
  recording.bytesIn((agent?.bytesWritten ?? 0) - atSwitch.written);
  recording.bytesOut((agent?.bytesRead ?? 0) - atSwitch.read);
  recording.complete({
    ...(statusCode !== undefined && { statusCode }),
    aborted: statusCode === undefined || isCut || client.errored !== null,
    atMs: context.clock.monotonicMs(),
  });
}
