import type { IncomingMessage, ServerResponse } from 'node:http';
import { reportsBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import type { Verdict } from '../../core/policy/verdict.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Recording } from '../audit/recording.ts';
import type { PolicyEvaluator } from '../policy/policy-evaluator.ts';
import { answerViolation, withViolations } from '../policy/violation-answer.ts';
import { ResponseWriter, type Source } from './response-writer.ts';
import { afterResponse, lingerOver } from './connection-end.ts';
import type { Framed } from './framing.ts';
import {
  mayHaveTrailers,
  pairsOf,
  printable,
  recordOf,
  requestHeaders,
  requestTrailers,
  responseHeaders,
  responseTrailers,
  valuesOf,
  without,
  type HeaderList,
} from './headers.ts';
import type { LoadLimits } from './load-limits.ts';
import type { OutageLog } from './outage-log.ts';
import type { Turn } from './pipeline.ts';
import { respondWithProblem, writeProblemAndLinger, type ProblemResponse } from './problem-response.ts';
import { BodyInlet, RequestBody } from './request-body.ts';
import { BlockedResponse } from './blocked-response.ts';
import { Stuck } from './stuck.ts';
import {
  FAILURE_RESPONSES,
  type Upstream,
  type UpstreamControl,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamRequest,
} from './upstream.ts';

export interface ProxyContext {
  upstream: Upstream;
  audit: AuditLog;
  policy: PolicyEvaluator;
  clock: Clock;
  outages: OutageLog;
  load: LoadLimits;
  /** true: the process or its pod is stopping, so connections end with their current request. */
  isDraining(): boolean;
  /** Called with the milliseconds that the sidecar added to a request until its response head, without the agent's time. */
  onOverhead(ms: number): void;
}

/** The agent's response head as it is passed on. */
interface Head {
  status: number;
  message: string;
  headers: string[];
}

export interface ExchangeInput {
  request: IncomingMessage;
  response: ServerResponse;
  framed: Framed & { ok: true };
  requestId: string;
  /** When the request head was complete; monotonic clock. */
  arrivedAtMs: number;
  /** Called once, when the complete response is sent. */
  onResponseSent(): void;
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY']);

/** Methods that may be sent twice: the agent may have received the first request. */
const IDEMPOTENT: ReadonlySet<string> = new Set([...SAFE, 'PUT', 'DELETE']);

/** One request to the agent, with its response. */
export class Exchange implements UpstreamHandler, Source, Turn {
  readonly isSafe: boolean;
  readonly #context: ProxyContext;
  readonly #input: ExchangeInput;
  readonly #recording: Recording;
  readonly #outgoing: UpstreamRequest;
  readonly #writer: ResponseWriter;
  readonly #stuck: Stuck;
  /** null: the request has no body. */
  readonly #inlet: BodyInlet | null;
  #control: UpstreamControl | null = null;
  #hasRetried = false;
  #isOver = false;
  #isClosed = false;
  #isBroken = false;
  #overheadMs = 0;
  /** Events deferred until the policy engine has judged the head; null: no judgement is pending. */
  #held: (() => void)[] | null = null;
  /** Pending policy evaluation. The audit entry is completed only after it. */
  #judging: Promise<void> | null = null;
  /** Set if the response was blocked. */
  #blocked: BlockedResponse | null = null;

  constructor(context: ProxyContext, input: ExchangeInput) {
    const { request, response, framed, requestId } = input;
    const method = request.method ?? 'GET';
    this.#context = context;
    this.#input = input;
    this.#recording = context.audit.arrive({ requestId, method, target: framed.path });
    this.#outgoing = {
      method,
      path: framed.path,
      headers: requestHeaders(request.rawHeaders, {
        requestId,
        host: framed.host,
        remoteAddress: request.socket.remoteAddress ?? 'unknown',
        proto: 'http',
      }),
      body: null,
      chunked: framed.body === 'chunked',
      trailers: () => requestTrailers(request.rawTrailers),
    };
    this.#writer = new ResponseWriter(response, this);
    this.#inlet = framed.body === 'none' ? null : new BodyInlet(request);
    const forget = (): void => this.#recording.forget();
    this.#stuck = new Stuck(context.load, { shed: () => request.socket.destroy(), forget });
    response.on('close', this.#closed);
    // A pipelined request before its turn has no socket in its response, so its response emits no 'close'.
    if (response.socket === null) request.socket.setMaxListeners(0).once('close', this.#closed);
    response.on('finish', () => {
      this.#inlet?.drop();
      lingerOver(request);
      input.onResponseSent();
    });
    this.isSafe = SAFE.has(method) && framed.body === 'none';
  }

  start(hasWaited: boolean, isEarly: boolean): void {
    this.#stuck.hasRoom = isEarly;
    const fromMs = hasWaited ? this.#context.clock.monotonicMs() : this.#input.arrivedAtMs;
    if (this.#input.framed.body === 'none') this.#send(fromMs);
    // The body is read in this turn of the event loop, but after the head.
    else process.nextTick(() => this.#send(fromMs));
  }

  #send(fromMs: number): void {
    if (this.#isOver) return;
    this.#outgoing.body = this.#takeBody();
    this.#context.upstream.send(this.#outgoing, this);
    this.#overheadMs = this.#context.clock.monotonicMs() - fromMs;
  }

  /** A short body that arrived with its head needs no stream: head and body are sent in one write. */
  #takeBody(): UpstreamRequest['body'] {
    const { request, framed } = this.#input;
    const inlet = this.#inlet;
    if (inlet === null) return null;
    const onBytes = (count: number): void => this.#recording.bytesIn(count);
    const whole = framed.body === 'sized' ? inlet.whole() : null;
    if (whole === null) return new RequestBody({ request, inlet }, onBytes, this.#stuck);
    onBytes(whole.length);
    return whole;
  }

  pause(): void {
    this.#control?.pause();
    this.#stuck.hold();
  }

  resume(): void {
    this.#stuck.release();
    this.#control?.resume();
  }

  onStart(control: UpstreamControl): void {
    this.#control = control;
    if (this.#isOver) control.abort();
    else this.#recording.sent();
  }

  onInformation(status: number, raw: HeaderList): void {
    const { request, response, requestId } = this.#input;
    if (request.httpVersion === '1.0' || response.headersSent) return;
    if (status === 102) response.writeProcessing();
    if (status !== 103) return;
    const hints = recordOf(responseHeaders(raw, requestId).headers);
    try {
      if (hints['link'] !== undefined) response.writeEarlyHints(hints);
    } catch {
      // Node.js accepts only some forms of Link. Early hints are optional.
    }
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
    const verdict = policy.judge(this.#recording.entry, platform);
    const passOn = (final: Verdict): void => {
      this.#decide(outgoing, final);
      this.#context.onOverhead(this.#overheadMs + clock.monotonicMs() - headAtMs);
    };
    if (verdict instanceof Promise) this.#judging = this.#holdFor(verdict, passOn);
    else passOn(verdict);
  }

  /** Holds back the whole response until the verdict. */
  async #holdFor(verdict: Promise<Verdict>, passOn: (final: Verdict) => void): Promise<void> {
    const held: (() => void)[] = [];
    this.#held = held;
    this.#control?.pause();
    const final = await verdict;
    this.#held = null;
    passOn(final);
    for (const go of held) go();
    if (!this.#writer.isFull) this.#control?.resume();
  }

  #decide(head: Head, verdict: Verdict): void {
    this.#recording.judged(verdict);
    if (this.#isOver) return;
    if (verdict.blocks) this.#block(head, verdict.denials);
    else this.#pass(head, verdict.denials);
  }

  #pass({ status, message, headers }: Head, denials: readonly string[]): void {
    const { response } = this.#input;
    if (this.#context.isDraining()) response.shouldKeepAlive = false;
    try {
      response.writeHead(status, printable(message), withViolations(headers, denials));
    } catch (error) {
      this.#control?.abort();
      this.onError({ kind: 'broken', error: error as Error });
      return;
    }
    this.#writer.flushSoon();
  }

  /** Sends the denial to the client. The agent has already acted. */
  #block({ headers }: Head, denials: readonly string[]): void {
    const { response } = this.#input;
    this.#isOver = true;
    this.#recording.blocked();
    if (this.#context.isDraining()) response.shouldKeepAlive = false;
    this.#recording.bytesOut(answerViolation(response, denials, headers));
    const length = valuesOf(headers, 'content-length')[0];
    this.#blocked = new BlockedResponse(this.#control, length, (chunk) => this.#recording.unsent(chunk));
  }

  onData(chunk: Buffer): void {
    if (this.#held !== null) {
      this.#held.push(() => this.onData(chunk));
      return;
    }
    this.#blocked?.take(chunk);
    if (this.#isOver) return;
    this.#writer.write(chunk);
    this.#recording.chunk(chunk);
  }

  onEnd(rawTrailers: HeaderList): void {
    const { response } = this.#input;
    if (this.#held !== null) {
      this.#held.push(() => this.onEnd(rawTrailers));
      return;
    }
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
    const { response, requestId } = this.#input;
    if (this.#held !== null) {
      this.#held.push(() => this.onError(failure));
      return;
    }
    this.#blocked?.end();
    if (this.#isOver) return;
    if (failure.kind === 'stale' && this.#mayRetry()) {
      this.#hasRetried = true;
      this.#recording.retried();
      this.#context.upstream.send(this.#outgoing, this);
      return;
    }
    this.#recording.failed(failure.kind);
    if (response.headersSent) {
      this.#writer.cut();
      return;
    }
    this.#context.outages.failed(failure, requestId);
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

  #mayRetry(): boolean {
    const { method, body } = this.#outgoing;
    return !this.#hasRetried && body === null && IDEMPOTENT.has(method) && !this.#input.response.headersSent;
  }

  /** Called when the response has finished or the client has disconnected. */
  readonly #closed = (): void => {
    const { request, response } = this.#input;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stuck.close();
    this.#isOver = true;
    request.socket.off('close', this.#closed);
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
