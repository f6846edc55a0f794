import { Agent, ServerResponse, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { createProxyServer } from 'http-proxy-3';
import type { UpstreamFailureKind } from '../../core/behavior/audit-entry.ts';
import { reportsBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import type { Recording } from '../audit/recording.ts';
import type { Verdict } from '../policy/policy-evaluator.ts';
import { answerViolation, VIOLATIONS_HEADER, violationsValue } from '../policy/violation-answer.ts';
import { cutOff } from './connection-end.ts';
import type { ProxyContext } from './exchange.ts';
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
import { OVERLOAD, writeProblem } from './problem-answer.ts';
import { requestIdOf } from './request-id.ts';
import { ANSWERS, connectTimeoutOf, UNBUFFERED, type UpstreamOptions } from './upstream.ts';

/** Carries WebSocket connections to the agent; whatever else calls itself one is refused. */
export interface Upgrader {
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Cuts the connections that are still open. */
  close(): void;
}

interface Passage {
  recording: Recording;
  requestId: string;
  client: Socket;
  /** What its head costs beyond an ordinary one. */
  headBytes: number;
  statusCode?: number;
  /** The agent's half, once it has switched protocols, and what had passed on it by then. */
  agent?: Socket;
  atSwitch: { read: number; written: number };
  /** The agent's answer was cut, or its half of the connection. */
  isCut: boolean;
  isTimedOut: boolean;
  /** There is a connection to the agent. */
  isConnected: boolean;
  /** The policy engine is asked about the agent's head; the entry is complete only after it. */
  judging: Promise<void> | null;
  /** Ends the watch over a client that waits for the agent. */
  stopWatch(): void;
}

/** A client has nothing to say before the agent has switched. */
const MAX_EARLY_BYTES = 16 * 1024;
/** How long a side has to take the last bytes of the other one that has gone. */
const LINGER_MS = 5_000;

export function createUpgrader(context: ProxyContext, { url, timeoutMs }: UpstreamOptions): Upgrader {
  // toProxy: the path goes on as it came; otherwise it is parsed as a URL, which takes out dot segments.
  const connectTimeout = connectTimeoutOf(timeoutMs);
  const agent = agentOf(url);
  const proxy = createProxyServer({ target: url.href, xfwd: false, toProxy: true, connectTimeout, agent });
  const passages = new Map<IncomingMessage, Passage>();

  proxy.on('proxyReqWs', (outgoing, request) => {
    const passage = passages.get(request);
    if (passage === undefined) return;
    prepare(outgoing, passage, timeoutMs);
    outgoing.on('upgrade', (answer, agent, head: Buffer) => {
      context.outages.ended();
      passage.agent = agent;
      passage.atSwitch = { read: agent.bytesRead - head.length, written: agent.bytesWritten };
      agent.on('error', () => (passage.isCut = true)).once('close', () => letGo(passage.client));
      switched(context, passage, agent);
      const pass = (headers: string[]): void => {
        // What the library writes to the client.
        answer.headers = { ...recordOf(headers), connection: 'Upgrade', upgrade: 'websocket' };
        carry(answer, agent, head);
      };
      judge(context, { request, passage, source: agent, head: recordHead(answer, passage), pass });
    });
    let carry: (...upgrade: unknown[]) => void = () => undefined;
    const own = outgoing.listeners('upgrade');
    process.nextTick(() => {
      carry = withhold(outgoing, own);
      // Its own listener for an answer heeds neither a slow client nor an answer that is cut.
      outgoing.removeAllListeners('response').on('response', (answer) => {
        context.outages.ended();
        relay(context, answer, request, passage);
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
    passage.statusCode = ANSWERS[kind].status;
    passage.recording.bytesOut(writeProblem(client, { ...ANSWERS[kind], requestId }));
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
  const wanted = withoutBlanks(valuesOf(request.rawHeaders, 'upgrade').join(',')).toLowerCase();
  const isWebSocket = wanted === 'websocket' && request.method === 'GET' && request.httpVersion === '1.1';
  if (!isWebSocket || framed.body !== 'none') {
    writeProblem(client, { status: 400, detail: 'the only upgrade that passes here is a GET to websocket' });
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
    proto: 'http',
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
 * A socket that nobody reads does not tell that its other end has gone. Until the agent has switched, it is read here;
 * what comes early is put back for the library to carry.
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

/** The library would switch before the agent's head is judged: takes its listeners away, and gives a call that runs them. */
function withhold(outgoing: ClientRequest, own: readonly unknown[]): (...upgrade: unknown[]) => void {
  const theirs = outgoing.listeners('upgrade').filter((each) => !own.includes(each));
  for (const each of theirs) outgoing.off('upgrade', each as () => void);
  return (...upgrade) => theirs.forEach((each) => void Reflect.apply(each, outgoing, upgrade));
}

/**
 * The other side has gone: nobody reads this one any more, so its end would never be heard, and what it says would hold it
 * back; the connection would stay.
 */
function letGo(socket: Socket): void {
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(cut));
  socket.end();
  // After the library has taken its pipe away, which pauses it.
  setImmediate(() => socket.resume());
}

function prepare(outgoing: ClientRequest, passage: Passage, timeoutMs: number | null): void {
  // Node would drop the answer's header lines beyond a limit without a word.
  outgoing.maxHeadersCount = 0;
  // The library ends the agent's side only once it has switched protocols.
  passage.client.once('close', () => outgoing.destroy());
  if (timeoutMs !== null) limitWait(outgoing, passage, timeoutMs);
  noteConnection(outgoing, passage);
}

function noteConnection(outgoing: ClientRequest, passage: Passage): void {
  const connected = (): void => {
    passage.isConnected = true;
    passage.recording.sent();
  };
  outgoing.once('socket', (agent) => {
    if (agent.connecting) agent.once('connect', connected);
    else connected();
  });
}

/** Of an attempt that brought no answer. */
function failureOf(error: Error, { isTimedOut, isConnected }: Passage): UpstreamFailureKind {
  if (isTimedOut || (error as NodeJS.ErrnoException).code === 'ECONNECT_TIMEOUT') return 'timeout';
  return isConnected ? 'broken' : 'unreachable';
}

/** To the first byte of the agent's answer; a WebSocket that is open may be silent for as long as it likes. */
function limitWait(outgoing: ClientRequest, passage: Passage, timeoutMs: number): void {
  const timer = setTimeout(() => {
    passage.isTimedOut = true;
    outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`));
  }, timeoutMs);
  for (const event of ['upgrade', 'response', 'close']) outgoing.once(event, () => clearTimeout(timer));
}

interface Judged {
  request: IncomingMessage;
  passage: Passage;
  /** Where the rest of the agent's answer comes from. */
  source: Duplex | IncomingMessage;
  head: ResponseHead;
  /** Lets the answer pass with these headers. */
  pass: (headers: string[]) => void;
}

/** The head of an upgrade's answer is judged as any other: a client that asks for one must not get around it. */
function judge(context: ProxyContext, judged: Judged): void {
  const { passage, source, head, pass } = judged;
  const { recording, client } = passage;
  const decide = (verdict: Verdict | null): void => {
    if (verdict !== null) recording.judged(verdict);
    const denials = verdict?.denials ?? [];
    if (client.destroyed) source.destroy();
    else if (denials.length === 0) pass(head.headers);
    else if (context.policy.mode !== 'enforce')
      pass([...head.headers, VIOLATIONS_HEADER, violationsValue(denials)]);
    else block(judged, denials);
  };
  const verdict = reportsBehavior(head.platform) ? context.policy.judge(recording.entry) : null;
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
  client.once('close', () => letGo(agent));
  passage.stopWatch();
  holdWhilePaused(load, client, [agent, client]);
}

/** `pipe` pauses a side while the other one takes no more. */
function holdWhilePaused(load: LoadLimits, client: Socket, sides: readonly Readable[]): void {
  const holder: Holder = { shed: () => client.destroy() };
  const isPaused = (): boolean => !client.destroyed && sides.some((side) => side.isPaused());
  const release = (): void => {
    if (!isPaused()) load.release(holder);
  };
  // A side whose bytes the kernel takes is paused only within a turn of the event loop.
  const hold = (): void => void setImmediate(() => isPaused() && load.hold(holder));
  for (const side of sides) side.on('pause', hold).on('resume', release);
  client.once('close', () => load.release(holder));
}

/** The agent did not switch: its answer goes to the client as that of any request, and ends the connection. */
function relay(
  context: ProxyContext,
  answer: IncomingMessage,
  request: IncomingMessage,
  passage: Passage,
): void {
  const head = recordHead(answer, passage);
  const pass = (headers: string[]): void => relayWith(headers, answer, request, passage);
  holdWhilePaused(context.load, passage.client, [answer]);
  judge(context, { request, passage, source: answer, head, pass });
}

function relayWith(
  headers: string[],
  answer: IncomingMessage,
  request: IncomingMessage,
  passage: Passage,
): void {
  const { client, recording, requestId } = passage;
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.writeHead(passage.statusCode ?? 0, printable(answer.statusMessage ?? ''), headers);
  } catch {
    answer.destroy();
    passage.statusCode = ANSWERS.broken.status;
    recording.failed('broken');
    recording.bytesOut(writeProblem(client, { ...ANSWERS.broken, requestId }));
    return;
  }
  response.assignSocket(client);
  answer.on('data', (chunk: Buffer) => recording.bytesOut(chunk.length));
  answer.on('error', () => {
    passage.isCut = true;
    cutOff(response);
  });
  // A client that has left takes no more.
  response.on('error', () => undefined).once('finish', () => client.destroySoon());
  answer.pipe(response);
}

function recordHead(answer: IncomingMessage, passage: Passage): ResponseHead {
  const statusCode = answer.statusCode ?? 0;
  const head = responseHeaders(answer.rawHeaders, passage.requestId);
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
