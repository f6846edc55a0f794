import type { Readable } from 'node:stream';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { withViolations } from '../policy/violation-response.ts';
import type { HeaderList } from '../proxy/headers.ts';
import type { ClientBody } from '../proxy/client-message.ts';
import { ResponseWriter, type Source } from '../proxy/response-writer.ts';
import { StalledPeer } from '../proxy/stalled-peer.ts';
import { WaitingEvents } from '../proxy/waiting-events.ts';
import {
  internalFailure,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamRequestHandle,
} from '../proxy/upstream.ts';
import type { BodyStep } from './body-step.ts';
import { createCall } from './create-call.ts';
import { NO_BODY, readRequestBody } from './json-body.ts';
import { readBody, unread } from './lane-body.ts';
import {
  NO_FACTS,
  type LaneCall,
  type OwnResponse,
  type RequestStep,
  type UnreadReason,
} from './lane-call.ts';
import type { LaneClient } from './lane-client.ts';
import type { LaneContext } from './lane-context.ts';
import { SniffedResponse } from './sniffed-response.ts';
import type { Admitted } from './lane-entrance.ts';
import { clientHeaders, upstreamHeaders } from './lane-headers.ts';
import { failureOf, respondWith } from './own-response.ts';

const IGNORED = (): void => undefined;

/** One call of the agent through a lane, with its response. */
export class LaneExchange implements UpstreamHandler, Source {
  readonly #context: LaneContext;
  readonly #client: LaneClient;
  readonly #input: Admitted;
  /** null: the call passes unread. */
  readonly #call: LaneCall | null;
  readonly #entry: AuditEntry | null;
  /** null: the request has no body. */
  readonly #body: ClientBody | null;
  /** The body if it did not arrive as a whole. */
  #stream: Readable | null = null;
  readonly #writer: ResponseWriter;
  readonly #stuck: StalledPeer;
  readonly #arrived: { at: Date; ms: number };
  #control: UpstreamRequestHandle | null = null;
  #response: SniffedResponse | null = null;
  /** Head of the upstream's response. */
  #head: { status: number; message: string; raw: HeaderList } | null = null;
  /** Events that wait for a step of the call. */
  readonly #waiting = new WaitingEvents();
  #keptBytes = 0;
  #isOver = false;
  #isClosed = false;

  constructor(context: LaneContext, client: LaneClient, input: Admitted) {
    const { route, target } = input;
    this.#context = context;
    this.#client = client;
    this.#input = input;
    this.#arrived = { at: context.clock.now(), ms: context.clock.monotonicMs() };
    this.#entry = context.join(client.rawHeaders);
    this.#call = createCall({
      ...context.calls,
      ...{ route, target, entry: this.#entry },
      ...{ keep: this.#keep, onUnread: this.#unread },
    });
    if (this.#call === null) this.#unread('route');
    this.#writer = new ResponseWriter(client.response, this);
    this.#stuck = new StalledPeer(context.load, { shed: () => client.destroy(), forget: IGNORED });
    this.#body = input.bodyBytes === 0 ? null : client.receive();
    client.response.on('close', this.#closed).on('finish', () => {
      this.#body?.drop();
      client.sent();
    });
    client.onDisconnect(this.#closed);
  }

  start(): void {
    const call = this.#call;
    // The body is read in this turn of the event loop, but after the head.
    if (this.#body !== null) process.nextTick(this.#begin);
    else if (call === null) this.#send(null);
    else this.#requested(() => call.request(NO_BODY, Buffer.alloc(0)));
  }

  readonly #begin = (): void => {
    const call = this.#call;
    const { bodyBytes } = this.#input;
    const body = this.#isOver ? undefined : this.#body?.take(bodyBytes, IGNORED, this.#stuck);
    if (body === undefined) return;
    if (!Buffer.isBuffer(body)) this.#stream = body;
    const { maxEgressBody } = this.#context.load;
    if (call === null) this.#send(unread(body));
    else if (bodyBytes !== Infinity && bodyBytes > maxEgressBody) this.#passUnread(call, unread(body));
    else if (!Buffer.isBuffer(body))
      readBody(body, {
        maxBytes: maxEgressBody,
        keep: this.#keep,
        onWhole: (whole) => this.#readRequest(call, whole),
        onTooLarge: (rest) => this.#passUnread(call, rest),
      });
    else if (this.#keep(body.length)) this.#readRequest(call, body);
    else this.#passUnread(call, body);
  };

  #readRequest(call: LaneCall, raw: Buffer): void {
    const body = readRequestBody(raw, this.#client.rawHeaders, this.#context.load.maxEgressBody);
    if (body === 'too-large') this.#passUnread(call, raw);
    else this.#requested(() => call.request(body, raw));
  }

  /** The body is too large to be read. */
  #passUnread(call: LaneCall, body: Buffer | Readable): void {
    const { bodyBytes } = this.#input;
    this.#unread('size');
    this.#after(
      () => call.unreadRequest(bodyBytes === Infinity ? null : bodyBytes),
      (response) => (response === null ? this.#send(body) : this.#respond(response)),
    );
  }

  #requested(step: () => RequestStep | Promise<RequestStep>): void {
    this.#after(step, (ready) => {
      if ('respond' in ready) this.#respond(ready.respond);
      else this.#send(ready.send.length === 0 ? null : ready.send);
    });
  }

  #send(body: Buffer | Readable | null): void {
    if (this.#isOver) return;
    const { open, route } = this.#input;
    const client = this.#client;
    const headers = upstreamHeaders(client.rawHeaders, {
      host: route.lane.upstream.host,
      isRead: this.#call !== null,
      isWhole: Buffer.isBuffer(body),
    });
    const request = { method: client.method, path: route.upstreamPath, headers, body };
    open.upstream.send({ ...request, chunked: false, trailers: () => [] }, this);
  }

  /**
   * Runs a step of the call and continues with its result. Later events wait for it. After the end of the call no step runs: it
   * could reserve a budget that nothing gives back. A step that fails for a body from outside ends only this call.
   */
  #after<T>(run: () => T | Promise<T>, go: (result: T) => void): void {
    if (this.#isOver) return;
    let step: T | Promise<T>;
    try {
      step = run();
    } catch (error) {
      this.onError({ kind: 'broken', error: error as Error });
      return;
    }
    if (!(step instanceof Promise)) {
      if (!this.#isOver) go(step);
      return;
    }
    this.#waiting.begin();
    this.#control?.pause();
    const proceed = (next: () => void): void =>
      this.#waiting.settle(
        () => {
          if (!this.#isOver) next();
        },
        {
          writer: this.#writer,
          control: () => this.#control,
          onError: (failure) => this.onError(failure),
        },
      );
    step.then(
      (result) => proceed(() => go(result)),
      (error: unknown) => proceed(() => this.onError({ kind: 'broken', error: error as Error })),
    );
  }

  pause(): void {
    this.#control?.pause();
    this.#stuck.hold();
  }

  resume(): void {
    this.#stuck.release();
    if (!this.#waiting.isPending) this.#control?.resume();
  }

  onStart(control: UpstreamRequestHandle): void {
    this.#control = control;
    if (this.#isOver) control.abort();
  }

  onInformation(): void {
    // Vendors send none that a client needs.
  }

  onHead(status: number, message: string, raw: HeaderList): void {
    if (this.#waiting.isPending) return void this.#waiting.add(() => this.onHead(status, message, raw));
    if (this.#isOver) return;
    this.#input.open.outages.ended();
    const again = this.#call?.refused?.(status) ?? null;
    if (again !== null) {
      this.#control?.abort();
      this.#send(again);
      return;
    }
    this.#head = { status, message, raw };
    // The request was sent, so its memory is free.
    this.#keep(-this.#keptBytes);
    const hasBody = this.#client.method !== 'HEAD' && status !== 204 && status !== 304;
    const call = hasBody ? this.#call : null;
    const limits = { maxBytes: this.#context.load.maxEgressBody, keep: this.#keep, onUnread: this.#unread };
    const response = (this.#response = new SniffedResponse({ status, raw }, call, limits));
    if (response.isPassing) this.#sendHead(response.isChanged);
  }

  onData(chunk: Buffer): void {
    if (this.#waiting.isPending) return void this.#waiting.add(() => this.onData(chunk));
    const response = this.#response;
    if (response !== null)
      this.#after(
        () => response.push(chunk),
        (step) => this.#pass(step, false),
      );
  }

  onRead(): void {
    if (!this.#waiting.isPending) this.#writer.flush();
  }

  onEnd(): void {
    if (this.#waiting.isPending) return void this.#waiting.add(() => this.onEnd());
    const response = this.#response;
    if (response !== null)
      this.#after(
        () => response.end(),
        (step) => this.#pass(step, true),
      );
  }

  #pass(step: BodyStep, isEnd: boolean): void {
    if ('respond' in step) {
      this.#respond(step.respond);
      return;
    }
    const isLast = isEnd || step.isOver === true;
    if ((step.chunks.length > 0 || isLast) && !this.#sendHead(step.isChanged, step.length)) return;
    for (const chunk of step.chunks) this.#writer.write(chunk);
    if (!isLast) return;
    this.#isOver = true;
    this.#writer.end();
    if (!isEnd) this.#control?.abort();
  }

  /** Sends the upstream's head, once. Returns false if it is not valid. `length`: of a changed body. */
  #sendHead(isChanged: boolean, length?: number): boolean {
    const client = this.#client;
    if (client.response.headersSent || this.#head === null) return true;
    const { status, message, raw } = this.#head;
    const own = clientHeaders(raw, { isChanged, length }, this.#input);
    const headers = withViolations(own, this.#call?.facts.violations ?? []);
    if (this.#context.isDraining()) client.response.shouldKeepAlive = false;
    try {
      client.writeHead(status, message, headers);
    } catch (error) {
      this.#control?.abort();
      this.onError({ kind: 'broken', error: error as Error });
      return false;
    }
    if (this.#response?.isStream === true)
      this.#call?.opened?.((bytes) => {
        if (!this.#isOver) this.#writer.send(Buffer.from(bytes));
      });
    this.#writer.begin();
    return true;
  }

  onError(failure: UpstreamFailure): void {
    if (this.#waiting.isPending) return void this.#waiting.add(() => this.onError(failure));
    try {
      this.#fail(failure);
    } catch (error) {
      // Otherwise the error would end the process.
      this.#isOver = true;
      this.#client.cutOff();
      this.#logFailure(internalFailure(error));
    }
  }

  #fail(failure: UpstreamFailure): void {
    const { route } = this.#input;
    const client = this.#client;
    const isInternal = failure.isInternal === true;
    if (isInternal) this.#logFailure(failure);
    if (this.#isOver) {
      if (isInternal && !client.response.writableEnded) client.cut(this.#writer);
      return;
    }
    this.#context.log.failed(route.lane.id);
    if (!isInternal && !client.response.headersSent) this.#logFailure(failure);
    this.#respond(failureOf(route.lane, failure.kind));
  }

  #logFailure(failure: UpstreamFailure): void {
    this.#input.open.outages.failed(failure, this.#entry?.requestId ?? null);
  }

  /** Responds in place of the upstream. A response that has begun ends here, incomplete. */
  #respond(response: OwnResponse | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#control?.abort();
    if (response === null || this.#client.response.headersSent) {
      this.#client.cut(this.#writer);
      return;
    }
    // The rest of the body is read and dropped.
    this.#stream?.unpipe();
    respondWith(this.#client, response, this.#call?.facts.violations ?? []);
  }

  readonly #unread = (reason: UnreadReason): void =>
    this.#context.log.unread(this.#input.route.lane.id, reason);

  readonly #keep = (bytes: number): boolean => {
    // What is reserved after the end would never be given back. Bytes of the request may still arrive then.
    if (this.#isClosed || !this.#context.load.keepForEgress(bytes)) return false;
    this.#keptBytes += bytes;
    return true;
  };

  /** Called when the response is sent, or when the agent has disconnected. */
  readonly #closed = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isOver = true;
    const { response } = this.#client;
    const isAborted = !response.writableFinished;
    if (isAborted) this.#control?.abort();
    this.#stuck.close();
    this.#response?.close();
    const statusCode = response.headersSent ? response.statusCode : null;
    const ended = this.#call?.end({ status: this.#head?.status ?? null, isAborted });
    this.#context.load.keepForEgress(-this.#keptBytes);
    this.#context.load.leave();
    this.#context.load.giveBackHead(this.#input.headBytes);
    if (ended instanceof Promise) void ended.then(() => this.#record(statusCode));
    else this.#record(statusCode);
  };

  #record(statusCode: number | null): void {
    const { route } = this.#input;
    this.#context.log.add({
      ...{ route, statusCode, method: this.#client.method, entry: this.#entry },
      facts: this.#call?.facts ?? NO_FACTS,
      at: this.#arrived.at,
      durationMs: this.#context.clock.monotonicMs() - this.#arrived.ms,
    });
  }
}
