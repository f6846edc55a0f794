import { codingOf } from '../../core/usage/coding.ts';
import { RequestContent } from '../../core/usage/request-content.ts';
import { decodeBody } from '../usage/decode-body.ts';
import { reportsBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import type { Decision } from '../../core/policy/decision.ts';
import type { Recording } from '../audit/recording.ts';
import { respondViolation, withViolations } from '../policy/violation-response.ts';
import { agentRequest, isRepeatable, isSafe } from './agent-request.ts';
import { ResponseWriter, type Source } from './response-writer.ts';
import type { ClientBody, ClientRequest, ClientResponse } from './client-message.ts';
import { afterResponse, cutOff } from './connection-end.ts';
import type { Framed } from './framing.ts';
import {
  mayHaveTrailers,
  pairsOf,
  printable,
  responseHeaders,
  responseTrailers,
  valuesOf,
  without,
  type HeaderList,
} from './headers.ts';
import { writeInformation } from './information.ts';
import type { QueueSlot } from './pipeline.ts';
import type { ProxyContext } from './proxy-context.ts';
import { respondWithProblem, writeProblemAndLinger, type ProblemResponse } from './problem-response.ts';
import { BlockedResponse } from './blocked-response.ts';
import { StalledPeer } from './stalled-peer.ts';
import { WaitingEvents } from './waiting-events.ts';
import {
  FAILURE_RESPONSES,
  internalFailure,
  type UpstreamRequestHandle,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamRequest,
} from './upstream.ts';

/** Bytes of a response that wait for the decision. Above this number, its connection is not read. */
const MAX_HELD = 16 * 1024;

/** The agent's response head as it is passed on. */
interface Head {
  status: number;
  message: string;
  headers: string[];
}

export interface ExchangeInput {
  request: ClientRequest;
  response: ClientResponse;
  framed: Framed & { ok: true };
  /** null: the request has no body. */
  body: ClientBody | null;
  requestId: string;
  /** When the request head was complete; monotonic clock. */
  arrivedAtMs: number;
  /** Called once, when the complete response is sent. */
  onResponseSent(): void;
}

function contentOf({ rawHeaders }: ClientRequest, bytes: number): RequestContent {
  const [coding] = valuesOf(rawHeaders, 'content-encoding');
  return new RequestContent(codingOf(coding), decodeBody, bytes);
}

/** One request to the agent, with its response. */
export class Exchange implements UpstreamHandler, Source, QueueSlot {
  readonly isSafe: boolean;
  readonly #context: ProxyContext;
  readonly #input: ExchangeInput;
  readonly #recording: Recording;
  readonly #outgoing: UpstreamRequest;
  readonly #writer: ResponseWriter;
  readonly #stuck: StalledPeer;
  #control: UpstreamRequestHandle | null = null;
  /** false: the request has a body, which is dropped once it is sent, or it was sent twice. */
  #mayRepeat = true;
  #isOver = false;
  #isClosed = false;
  #isBroken = false;
  #overheadMs = 0;
  /** Events that wait until the policy engine has judged the head. */
  readonly #waiting = new WaitingEvents();
  #heldBytes = 0;
  /** Pending policy evaluation. The audit entry is completed only after it. */
  #judging: Promise<void> | null = null;
  /** Set if the response was blocked. */
  #blocked: BlockedResponse | null = null;

  constructor(context: ProxyContext, input: ExchangeInput) {
    const { request, response, framed, requestId, arrivedAtMs } = input;
    this.#context = context;
    this.#input = input;
    const method = request.method ?? 'GET';
    const content = input.body === null ? undefined : contentOf(request, framed.bodyBytes);
    const arrival = { requestId, method, target: framed.path, atMs: arrivedAtMs, content };
    this.#recording = context.audit.arrive(arrival);
    context.onArrival?.(this.#recording.entry, request);
    const traceparent = context.traces?.join(request.rawHeaders, requestId) ?? null;
    this.#outgoing = agentRequest(request, framed, { requestId, traceparent });
    this.isSafe = isSafe(this.#outgoing, framed);
    this.#writer = new ResponseWriter(response, this);
    const forget = (): void => this.#recording.forget();
    this.#stuck = new StalledPeer(context.load, { shed: () => request.socket.destroy(), forget });
    response.on('close', this.#closed);
    // A pipelined request before its turn has no socket in its response, so its response emits no 'close'.
    if (response.socket === null) request.socket.setMaxListeners(0).once('close', this.#closed);
    response.on('finish', () => {
      input.body?.drop();
      input.onResponseSent();
    });
  }

  get isReceived(): boolean {
    return this.#input.request.complete;
  }

  start(hasWaited: boolean, isEarly: boolean): void {
    this.#stuck.hasRoom = isEarly;
    const fromMs = hasWaited ? this.#context.clock.monotonicMs() : this.#input.arrivedAtMs;
    if (this.#input.request.complete || this.#input.body === null) this.#send(fromMs);
    // The body is read in this turn of the event loop, but after the head.
    else process.nextTick(() => this.#send(fromMs));
  }

  #send(fromMs: number): void {
    if (this.#isOver) return;
    const { body, framed } = this.#input;
    if (body !== null) {
      this.#mayRepeat = false;
      const onChunk = (chunk: Buffer): void => this.#recording.received(chunk);
      this.#outgoing.body = body.take(framed.bodyBytes, onChunk, this.#stuck);
    }
    this.#context.upstream.send(this.#outgoing, this);
    this.#overheadMs = this.#context.clock.monotonicMs() - fromMs;
  }

  pause(): void {
    this.#control?.pause();
    this.#stuck.hold();
  }

  resume(): void {
    this.#stuck.release();
    this.#control?.resume();
  }

  onStart(control: UpstreamRequestHandle): void {
    this.#control = control;
    if (this.#isOver) control.abort();
    else this.#recording.sent();
  }

  onInformation(status: number, raw: HeaderList): void {
    const { response, requestId } = this.#input;
    writeInformation(response, requestId, status, raw);
  }

  onHead(status: number, message: string, raw: HeaderList): void {
    const { request, requestId } = this.#input;
    if (this.#isOver) return;
    this.#context.outages.ended();
    const head = responseHeaders(raw, requestId);
    const { platform } = head;
    const headers = mayHaveTrailers(request, status) ? head.headers : without(head.headers, 'trailer');
    this.#recording.head({
      statusCode: status,
      contentType: valuesOf(headers, 'content-type')[0],
      contentEncoding: valuesOf(headers, 'content-encoding')[0],
      platform,
    });
    const outgoing = { status, message, headers };
    const { policy, clock } = this.#context;
    const headAtMs = clock.monotonicMs();
    const decision = policy.judge(this.#recording.entry, platform);
    const forward = (final: Decision): void => {
      this.#decide(outgoing, final);
      this.#context.onOverhead(this.#overheadMs + clock.monotonicMs() - headAtMs);
    };
    if (decision instanceof Promise) this.#judging = this.#holdFor(decision, forward);
    else forward(decision);
  }

  /**
   * Holds back the whole response until the decision. The agent's connection is read on up to a limit: to stop it and to start it
   * again costs two system calls, and the decision is usually there before the next bytes.
   */
  #holdFor(decision: Promise<Decision>, forward: (final: Decision) => void): Promise<void> {
    this.#waiting.begin();
    return decision.then(
      (final) => this.#settle(() => forward(final)),
      (error: unknown) =>
        this.#settle(() => {
          throw error as Error;
        }),
    );
  }

  #settle(go: () => void): void {
    this.#waiting.settle(go, {
      writer: this.#writer,
      control: () => this.#control,
      onError: (failure) => this.onError(failure),
    });
  }

  #decide(head: Head, decision: Decision): void {
    this.#recording.judged(decision);
    if (this.#isOver) return;
    if (this.#context.isDraining()) this.#input.response.shouldKeepAlive = false;
    if (decision.blocks) this.#block(head, decision.denials);
    else this.#pass(head, decision.denials);
  }

  #pass({ status, message, headers }: Head, denials: readonly string[]): void {
    try {
      this.#input.response.writeHead(status, printable(message), withViolations(headers, denials));
    } catch (error) {
      this.#control?.abort();
      this.onError({ kind: 'broken', error: error as Error });
      return;
    }
    this.#writer.begin();
  }

  /** Sends the denial to the client. The agent has already acted. */
  #block({ headers }: Head, denials: readonly string[]): void {
    this.#isOver = true;
    this.#recording.blocked();
    this.#recording.bytesOut(respondViolation(this.#input.response, denials, headers));
    const length = valuesOf(headers, 'content-length')[0];
    this.#blocked = new BlockedResponse(this.#control, length, (chunk) => this.#recording.unsent(chunk));
  }

  onData(chunk: Buffer): void {
    if (this.#waiting.isPending) {
      this.#heldBytes += chunk.length;
      if (this.#heldBytes > MAX_HELD) this.#control?.pause();
      this.#waiting.add(() => this.onData(chunk));
      return;
    }
    this.#blocked?.take(chunk);
    if (this.#isOver) return;
    this.#writer.write(chunk);
    this.#recording.chunk(chunk);
  }

  onRead(): void {
    if (!this.#waiting.isPending) this.#writer.flush();
  }

  onEnd(rawTrailers: HeaderList): void {
    const { response } = this.#input;
    if (this.#waiting.isPending) return void this.#waiting.add(() => this.onEnd(rawTrailers));
    this.#blocked?.end();
    if (this.#isOver) return;
    if (rawTrailers.length > 0) {
      const { headers, platform } = responseTrailers(rawTrailers);
      this.#recording.behavior(platform);
      const { policy } = this.#context;
      if (policy.mode !== 'off' && reportsBehavior(platform)) void policy.review(this.#recording.entry);
      if (headers.length > 0) response.addTrailers(pairsOf(headers));
    }
    this.#writer.end();
  }

  onError(failure: UpstreamFailure): void {
    if (this.#waiting.isPending) return void this.#waiting.add(() => this.onError(failure));
    try {
      this.#fail(failure);
    } catch (error) {
      // Otherwise the error would end the process.
      this.#isOver = true;
      cutOff(this.#input.response);
      this.#context.outages.failed(internalFailure(error), this.#input.requestId);
    }
  }

  #fail(failure: UpstreamFailure): void {
    const { response, requestId } = this.#input;
    this.#blocked?.end();
    const isInternal = failure.isInternal === true;
    if (isInternal) this.#context.outages.failed(failure, requestId);
    if (this.#isOver) {
      // The error came after the decision how the response ends, but before its end.
      if (isInternal && !response.writableEnded) this.#writer.cut();
      return;
    }
    if (
      failure.kind === 'stale' &&
      this.#mayRepeat &&
      !response.headersSent &&
      isRepeatable(this.#outgoing)
    ) {
      this.#mayRepeat = false;
      this.#recording.retried();
      this.#context.upstream.send(this.#outgoing, this);
      return;
    }
    this.#recording.failed(failure.kind);
    if (response.headersSent) {
      this.#writer.cut();
      return;
    }
    if (!isInternal) this.#context.outages.failed(failure, requestId);
    this.#respond({ ...FAILURE_RESPONSES[failure.kind], close: this.#context.isDraining() });
  }

  /**
   * The next bytes on the connection are not valid HTTP. If they belong to this request, the request ends with `problem`.
   * If this request was complete, its response is sent before `problem`.
   */
  breakOff(problem: ProblemResponse): void {
    const { request, response } = this.#input;
    if (this.#isBroken) return;
    this.#isBroken = true;
    if (request.complete) {
      afterResponse(response, (socket) => writeProblemAndLinger(socket, problem));
      return;
    }
    if (!response.headersSent) {
      this.#respond({ ...problem, close: true });
      this.#control?.abort();
    } else this.#writer.cut();
  }

  /** Responds in place of the agent. */
  #respond(problem: ProblemResponse): void {
    const { response, requestId } = this.#input;
    this.#isOver = true;
    this.#recording.bytesOut(respondWithProblem(response, { ...problem, requestId }));
  }

  /** Called when the response has finished or the client has disconnected. */
  readonly #closed = (): void => {
    const { request, response } = this.#input;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stuck.close();
    this.#isOver = true;
    if (response.socket === null) request.socket.off('close', this.#closed);
    const aborted = !response.writableFinished;
    if (aborted) {
      this.#control?.abort();
      this.#blocked?.end();
    }
    const end = {
      ...(response.headersSent && { statusCode: response.statusCode }),
      aborted,
      atMs: this.#context.clock.monotonicMs(),
    };
    if (this.#judging === null && this.#blocked === null) this.#recording.complete(end);
    else void Promise.all([this.#judging, this.#blocked?.over]).then(() => this.#recording.complete(end));
  };
}
