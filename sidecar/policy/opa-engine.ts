import type { PolicyResult } from '../../core/policy/engine.ts';
import { denyPathOf, egressPathOf } from '../../core/policy/package-name.ts';
import { isEgress } from '../../core/policy/policy.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { parseDenials } from '../../core/policy/parse-denials.ts';
import { createHttpUpstream } from '../http-client/create-http-upstream.ts';
import type { Upstream, UpstreamFailure, UpstreamHandler, UpstreamRequestHandle } from '../proxy/upstream.ts';

export type OpaEngine = ReturnType<typeof createOpaEngine>;

export interface OpaEngineOptions {
  /** A path in the URL is prepended to every path. */
  url: URL;
  /** Path of a Unix socket of the engine, in place of the host and port of an `http:` URL. */
  socketPath?: string;
  /** Milliseconds for one query, including the connection and a second attempt. */
  timeoutMs: number;
}

/** More connections would not increase the engine's throughput. */
const CONNECTIONS = 64;
/** Denial reasons are short; a larger body is not a valid result. */
const MAX_BODY_BYTES = 1024 * 1024;

interface EngineRequest {
  method: 'GET' | 'POST';
  path: string;
  body: string | null;
}

type Reply = { ok: true; status: number; body: string } | { ok: false; reason: string };

/** A policy engine over HTTP, on keep-alive connections. */
export function createOpaEngine({ url, socketPath, timeoutMs }: OpaEngineOptions) {
  const options = { url, timeoutMs: null, connectTimeoutMs: timeoutMs, maxConnections: CONNECTIONS };
  const upstream = createHttpUpstream({ ...options, ...(socketPath !== undefined && { socketPath }) });
  const send = (request: EngineRequest): Promise<Reply> => new Query(upstream, request, timeoutMs).reply;
  return {
    evaluate(input: PolicyInput): Promise<PolicyResult> {
      const path = (isEgress(input) ? egressPathOf : denyPathOf)(input.agent_name);
      return send({ method: 'POST', path, body: JSON.stringify({ input }) }).then(resultOf);
    },
    /** `GET /health`. Only the status code counts, because Open Policy Agent's body is `{}`. */
    async isHealthy(): Promise<boolean> {
      const reply = await send({ method: 'GET', path: '/health', body: null });
      return reply.ok && reply.status >= 200 && reply.status < 300;
    },
    close: (): Promise<void> => upstream.close(),
  };
}

function resultOf(reply: Reply): PolicyResult {
  if (!reply.ok) return { state: 'unreachable', reason: reply.reason };
  return reply.status === 200
    ? parseDenials(reply.body)
    : { state: 'unreachable', reason: `the engine responded with status ${reply.status}` };
}

/** One request and its complete response, within a time limit that includes a second attempt. */
class Query implements UpstreamHandler {
  readonly #reply = Promise.withResolvers<Reply>();
  readonly #upstream: Upstream;
  readonly #request: EngineRequest;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #control: UpstreamRequestHandle | null = null;
  #status = 0;
  #bytes = 0;
  #isRepeated = false;
  #isOver = false;

  constructor(upstream: Upstream, request: EngineRequest, timeoutMs: number) {
    this.#upstream = upstream;
    this.#request = request;
    this.#timer = setTimeout(() => this.#giveUp(`no response within ${timeoutMs} ms`), timeoutMs);
    this.#send();
  }

  get reply(): Promise<Reply> {
    return this.#reply.promise;
  }

  #send(): void {
    const { method, path, body } = this.#request;
    this.#upstream.send(
      {
        ...{ method, path, chunked: false, trailers: () => [] },
        headers: body === null ? [] : ['Content-Type', 'application/json'],
        body: body === null ? null : Buffer.from(body),
      },
      this,
    );
  }

  /** Only the first call has an effect. */
  #end(reply: Reply): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#reply.resolve(reply);
  }

  #giveUp(reason: string): void {
    this.#end({ ok: false, reason });
    this.#control?.abort();
  }

  onStart(control: UpstreamRequestHandle): void {
    this.#control = control;
    // The query timed out while it waited for a connection.
    if (this.#isOver) control.abort();
  }

  onInformation(): void {
    // Has no meaning for a query.
  }

  onHead(status: number): void {
    this.#status = status;
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > MAX_BODY_BYTES) this.#giveUp('the response is over 1 MiB');
    else this.#chunks.push(chunk);
  }

  onRead(): void {
    // Everything is collected until the end.
  }

  onEnd(): void {
    this.#end({ ok: true, status: this.#status, body: Buffer.concat(this.#chunks).toString() });
  }

  onError({ kind, error }: UpstreamFailure): void {
    // The engine may close an idle connection at the moment of its use. Queries are idempotent, so one retry is safe.
    const isLost = this.#status === 0 && (kind === 'stale' || kind === 'broken');
    if (!isLost || this.#isRepeated || this.#isOver) {
      this.#end({ ok: false, reason: reasonOf(error) });
      return;
    }
    this.#isRepeated = true;
    this.#send();
  }
}

function reasonOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
