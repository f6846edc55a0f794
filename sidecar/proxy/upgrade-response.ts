import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { UpstreamFailureKind } from '../../core/shapes/audit-entry.ts';
import type { Decision } from '../../core/policy/decision.ts';
import type { Recording } from '../audit/recording.ts';
import { respondViolation, withViolations } from '../policy/violation-response.ts';
import { cutOff } from './connection-end.ts';
import { pairsOf, printable, responseHeaders, type HeaderList } from './headers.ts';
import type { Holder, LoadLimits } from './load-limits.ts';
import { writeProblem } from './problem-response.ts';
import type { ProxyContext } from './proxy-context.ts';
import { OpenWebSocket, type StartedUpgrade } from './web-socket.ts';
import { FAILURE_RESPONSES, internalFailure } from './upstream.ts';

/** One upgrade request to the agent, with its connection. */
export interface Passage extends StartedUpgrade {
  request: IncomingMessage;
  recording: Recording;
  requestId: string;
  /** Memory of the head in bytes, above an ordinary head. */
  headBytes: number;
  statusCode?: number;
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

/** The agent's response to an upgrade request. */
interface AgentResponse {
  incoming: IncomingMessage;
  /** Source of the rest of the response. */
  source: Duplex | IncomingMessage;
  /** Passes the response on with these headers. */
  pass: (headers: string[]) => void;
}

/** Judges the response to an upgrade like any other response, so that an upgrade cannot bypass the policy. */
export function judge(
  context: ProxyContext,
  passage: Passage,
  { incoming, source, pass }: AgentResponse,
): void {
  const { recording, client } = passage;
  context.outages.ended();
  const statusCode = incoming.statusCode ?? 0;
  const { headers, platform } = responseHeaders(incoming.rawHeaders, passage.requestId);
  passage.statusCode = statusCode;
  recording.head({ statusCode, platform });
  const decide = (decision: Decision): void => {
    recording.judged(decision);
    if (!client.destroyed && !decision.blocks) {
      pass(withViolations(headers, decision.denials));
      return;
    }
    source.destroy();
    if (!client.destroyed) block(passage, headers, decision.denials);
  };
  // Otherwise the error would end the process.
  const failed = (error: unknown): void => {
    source.destroy();
    context.outages.failed(internalFailure(error), passage.requestId);
    if (!client.destroyed) fail(passage, 'broken');
  };
  try {
    const decision = context.policy.judge(recording.entry, platform);
    if (decision instanceof Promise) passage.judging = decision.then(decide).catch(failed);
    else decide(decision);
  } catch (error) {
    failed(error);
  }
}

function block(passage: Passage, headers: HeaderList, denials: readonly string[]): void {
  const { client, recording } = passage;
  recording.blocked();
  passage.statusCode = 403;
  const response = lastResponse(passage);
  response.assignSocket(client);
  recording.bytesOut(respondViolation(response, denials, headers));
}

/** Called if the agent did not switch protocols: passes its response to the client and ends the connection. */
export function relay(context: ProxyContext, passage: Passage, incoming: IncomingMessage): void {
  holdWhilePaused(context.load, passage.client, [incoming]);
  const pass = (headers: string[]): void => relayWith(headers, incoming, passage);
  judge(context, passage, { incoming, source: incoming, pass });
}

function relayWith(headers: string[], incoming: IncomingMessage, passage: Passage): void {
  // Cut while it was judged: it would never end, and the client would wait for it.
  if (incoming.destroyed) {
    fail(passage, 'broken');
    return;
  }
  const response = lastResponse(passage);
  try {
    response.writeHead(passage.statusCode ?? 0, printable(incoming.statusMessage ?? ''), headers);
  } catch {
    incoming.destroy();
    fail(passage, 'broken');
    return;
  }
  response.assignSocket(passage.client);
  incoming.on('data', (chunk: Buffer) => passage.recording.bytesOut(chunk.length));
  incoming.on('error', () => {
    passage.isCut = true;
    cutOff(response);
  });
  // Writing to a client that has disconnected fails.
  response.on('error', () => undefined);
  incoming.pipe(response);
}

/** A response after which the connection ends. */
function lastResponse({ request, client }: Passage): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  return response.once('finish', () => client.destroySoon());
}

/** Responds in place of the agent. */
export function fail(passage: Passage, kind: UpstreamFailureKind): void {
  const { client, recording, requestId } = passage;
  const problem = FAILURE_RESPONSES[kind];
  recording.failed(kind);
  passage.statusCode = problem.status;
  recording.bytesOut(writeProblem(client, { ...problem, requestId }));
}

/** Passes the switch to WebSocket on to the client with these headers, and connects both sides. */
export function switchProtocols(client: Socket, upstream: Duplex, headers: HeaderList): OpenWebSocket {
  const lines = pairsOf(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  client.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines.join('')}\r\n`,
    'latin1',
  );
  return new OpenWebSocket(client, upstream);
}

/** Registers the connection as stuck while `pipe` pauses one side because the other side does not read. */
export function holdWhilePaused(load: LoadLimits, client: Socket, sides: readonly Readable[]): void {
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
