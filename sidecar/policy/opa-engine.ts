import type { PolicyAnswer } from '../../core/policy/engine.ts';
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

type Reply = { ok: true; status: number; body: string } | { ok: false; reason: string; mayRepeat: boolean };

/** A policy engine over HTTP, on keep-alive connections. */
export function createOpaEngine({ url, socketPath, timeoutMs }: OpaEngineOptions) {
  const options = { url, timeoutMs: null, connectTimeoutMs: timeoutMs, maxConnections: CONNECTIONS };
  const upstream = createHttpUpstream({ ...options, ...(socketPath !== undefined && { socketPath }) });
  const send = async (request: EngineRequest): Promise<Reply> => {
    const deadline = performance.now() + timeoutMs;
    const first = await new Query(timeoutMs).send(upstream, request);
    // The engine may close an idle connection at the moment of its use. Queries are idempotent, so one retry is safe.
    const leftMs = deadline - performance.now();
    return !first.ok && first.mayRepeat && leftMs > 0 ? new Query(leftMs).send(upstream, request) : first;
  };
  return {
    async evaluate(input: PolicyInput): Promise<PolicyAnswer> {
      const path = (isEgress(input) ? egressPathOf : denyPathOf)(input.agent_name);
      const reply = await send({ method: 'POST', path, body: JSON.stringify({ input }) });
      if (!reply.ok) return { state: 'unreachable', reason: reply.reason };
      if (reply.status !== 200)
        return { state: 'unreachable', reason: `the engine responded with status ${reply.status}` };
      return parseDenials(reply.body);
    },
    /** `GET /health`. Only the status code counts, because Open Policy Agent's body is `{}`. */
    async isHealthy(): Promise<boolean> {
      const reply = await send({ method: 'GET', path: '/health', body: null });
      return reply.ok && reply.status >= 200 && reply.status < 300;
    },
    close: (): Promise<void> => upstream.close(),
  };
}

/** One request and its complete response, within a time limit. */
class Query implements UpstreamHandler {
  readonly #reply = Promise.withResolvers<Reply>();
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #control: UpstreamRequestHandle | null = null;
  #status = 0;
  #bytes = 0;
  #isOver = false;

  constructor(timeoutMs: number) {
    const reason = `no response within ${Math.ceil(timeoutMs)} ms`;
    this.#timer = setTimeout(() => this.#giveUp(reason), Math.max(1, timeoutMs));
  }

  send(upstream: Upstream, { method, path, body }: EngineRequest): Promise<Reply> {
    upstream.send(
      {
        ...{ method, path, chunked: false, trailers: () => [] },
        headers: body === null ? [] : ['Content-Type', 'application/json'],
        body: body === null ? null : Buffer.from(body),
      },
      this,
    );
    return this.#reply.promise;
  }

  /** Only the first call has an effect. */
  #end(reply: Reply): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#reply.resolve(reply);
  }

  #giveUp(reason: string): void {
    this.#end({ ok: false, reason, mayRepeat: false });
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

  onEnd(): void {
    this.#end({ ok: true, status: this.#status, body: Buffer.concat(this.#chunks).toString() });
  }

  onError({ kind, error }: UpstreamFailure): void {
    const isLost = this.#status === 0 && (kind === 'stale' || kind === 'broken');
    this.#end({ ok: false, reason: reasonOf(error), mayRepeat: isLost });
  }
}

function reasonOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
