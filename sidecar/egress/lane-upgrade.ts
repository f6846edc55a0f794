import { ServerResponse, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { frame } from '../proxy/framing.ts';
import { printable } from '../proxy/headers.ts';
import { OVERLOAD, writeProblem, type ProblemResponse } from '../proxy/problem-response.ts';
import { upgradeRequest } from '../proxy/upgrade-request.ts';
import { holdWhilePaused, switchProtocols } from '../proxy/upgrade-response.ts';
import type { UpstreamFailure } from '../proxy/upstream.ts';
import { watchEarly } from '../proxy/watch-early.ts';
import { cutUpgrade, type StartedUpgrade } from '../proxy/web-socket.ts';
import { stoppedUpgrade } from '../stop/stopped-response.ts';
import { NO_FACTS } from './lane-call.ts';
import type { LaneContext } from './lane-context.ts';
import { admit, type Admitted } from './lane-entrance.ts';
import { clientHeaders, upstreamHeaders } from './lane-headers.ts';
import { FAILURES } from './own-response.ts';

/** Milliseconds until the upstream must have responded. An open WebSocket may be idle without limit. */
const HANDSHAKE_MS = 30_000;

/** A WebSocket through a lane. It passes unread and is counted. */
interface Passage extends Admitted, StartedUpgrade {
  request: IncomingMessage;
  /** Stops watching the client while it waits for the upstream. */
  stopWatch: () => void;
  statusCode: number | null;
}

/** Connects a WebSocket of the agent, such as the realtime API of OpenAI, to the upstream of its lane. */
export function handleLaneUpgrade(
  context: LaneContext,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): void {
  client.on('error', () => client.destroy());
  const { method = 'GET', rawHeaders } = request;
  const result = admit(context, { method, rawHeaders, socket: client, framed: frame(request) });
  if (!('admitted' in result)) {
    writeProblem(client, problemOf(result));
    return;
  }
  const stopWatch = watchEarly(client, head);
  const passage: Passage = { ...result.admitted, request, client, stopWatch, statusCode: null };
  client.once(
    'close',
    context.stop.onStop(() => cutUpgrade(passage)),
  );
  record(context, passage);
  connect(context, passage);
}

function problemOf(result: Exclude<ReturnType<typeof admit>, { admitted: Admitted }>): ProblemResponse {
  if ('problem' in result) return result.problem;
  return 'stopped' in result ? stoppedUpgrade(result.stopped) : OVERLOAD;
}

/** Counts the connection when it ends. */
function record(context: LaneContext, passage: Passage): void {
  const { clock, load, log } = context;
  const { route, request, client, headBytes } = passage;
  const [at, startedAtMs] = [clock.now(), clock.monotonicMs()];
  const entry = context.join(request.rawHeaders);
  log.unread(route.lane.id, 'route');
  client.once('close', () => {
    load.leave();
    load.giveBackHead(headBytes);
    const { statusCode } = passage;
    const durationMs = clock.monotonicMs() - startedAtMs;
    log.add({ route, statusCode, method: 'GET', entry, facts: NO_FACTS, at, durationMs });
  });
}

function connect(context: LaneContext, passage: Passage): void {
  const { open, client } = passage;
  let outgoing: ClientRequest;
  try {
    outgoing = requestOf(context, passage);
  } catch (error) {
    // Otherwise the error would end the process.
    fail(context, passage, { kind: 'broken', error: error as Error });
    return;
  }
  passage.outgoing = outgoing;
  const timer = setTimeout(() => outgoing.destroy(new Error('no response to the handshake')), HANDSHAKE_MS);
  for (const event of ['upgrade', 'response', 'close']) outgoing.once(event, () => clearTimeout(timer));
  client.once('close', () => outgoing.destroy());
  outgoing.on('upgrade', (incoming, socket, rest) => {
    open.outages.ended();
    switchTo(context, passage, { incoming, socket, rest });
  });
  outgoing.on('response', (incoming) => relay(context, passage, incoming));
  outgoing.on('error', (error) => {
    if (passage.statusCode === null && !client.destroyed)
      fail(context, passage, { kind: 'unreachable', error });
  });
  outgoing.end();
}

function requestOf({ tls }: LaneContext, { route, request }: Passage): ClientRequest {
  const { upstream } = route.lane;
  const headers = upstreamHeaders(request.rawHeaders, { host: upstream.host, isRead: false, isWhole: false });
  return upgradeRequest({ url: upstream, path: route.upstreamPath, headers, agent: false, tls });
}

/** Responds in place of the upstream. */
function fail({ log }: LaneContext, passage: Passage, failure: UpstreamFailure): void {
  const { open, route, client } = passage;
  log.failed(route.lane.id);
  open.outages.failed(failure, null);
  const { status, message } = FAILURES[failure.kind];
  passage.statusCode = status;
  writeProblem(client, { status, detail: message });
}

interface Switched {
  incoming: IncomingMessage;
  socket: Duplex;
  rest: Buffer;
}

function switchTo({ load }: LaneContext, passage: Passage, { incoming, socket, rest }: Switched): void {
  const { client } = passage;
  passage.statusCode = 101;
  passage.stopWatch();
  if (rest.length > 0) socket.unshift(rest);
  socket.on('error', () => client.destroy());
  socket.once('close', () => client.destroySoon());
  client.once('close', () => socket.destroy());
  holdWhilePaused(load, client, [socket, client]);
  const headers = clientHeaders(incoming.rawHeaders, { isChanged: false }, passage);
  passage.webSocket = switchProtocols(client, socket, headers);
}

/** The upstream did not switch: its response is passed on, and the connection ends. */
function relay(context: LaneContext, passage: Passage, incoming: IncomingMessage): void {
  const { client, request } = passage;
  const { statusCode = 0, statusMessage = '', rawHeaders } = incoming;
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.writeHead(
      statusCode,
      printable(statusMessage),
      clientHeaders(rawHeaders, { isChanged: false }, passage),
    );
  } catch (error) {
    // Otherwise the error would end the process.
    fail(context, passage, { kind: 'broken', error: error as Error });
    return;
  }
  passage.statusCode = statusCode;
  response.on('error', () => undefined).once('finish', () => client.destroySoon());
  response.assignSocket(client);
  incoming.on('error', () => client.destroy());
  incoming.pipe(response);
}
