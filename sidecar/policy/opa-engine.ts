import type { Dispatcher } from 'undici';
import errors from 'undici/lib/core/errors.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { PolicyAnswer } from '../../core/policy/engine.ts';
import { denyPathOf, egressPathOf } from '../../core/policy/package-name.ts';
import { isEgress } from '../../core/policy/policy.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { parseDenials } from '../../core/policy/parse-denials.ts';

export type OpaEngine = ReturnType<typeof createOpaEngine>;

export interface OpaEngineOptions {
  /** A path in the URL is prepended to every path. */
  url: URL;
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

type Reply = { ok: true; status: number; body: string } | { ok: false; reason: string; isStale: boolean };

/** A policy engine over HTTP, on keep-alive connections. */
export function createOpaEngine({ url, timeoutMs }: OpaEngineOptions) {
  const pool = new Pool(url.origin, {
    connections: CONNECTIONS,
    allowH2: false,
    pipelining: 1,
    connect: { timeout: timeoutMs },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const prefix = url.pathname.replace(/\/$/, '');
  const send = async (request: EngineRequest): Promise<Reply> => {
    const deadline = performance.now() + timeoutMs;
    const first = await exchange(pool, request, timeoutMs);
    // The engine may close an idle connection at the moment of its use. Queries are idempotent, so one retry is safe.
    const leftMs = deadline - performance.now();
    return !first.ok && first.isStale && leftMs > 0 ? exchange(pool, request, leftMs) : first;
  };
  return {
    async evaluate(input: PolicyInput): Promise<PolicyAnswer> {
      const path = prefix + (isEgress(input) ? egressPathOf : denyPathOf)(input.agent_name);
      const reply = await send({ method: 'POST', path, body: JSON.stringify({ input }) });
      if (!reply.ok) return { state: 'unreachable', reason: reply.reason };
      if (reply.status !== 200)
        return { state: 'unreachable', reason: `the engine responded with status ${reply.status}` };
      return parseDenials(reply.body);
    },
    /** `GET /health`. Only the status code counts, because Open Policy Agent's body is `{}`. */
    async isHealthy(): Promise<boolean> {
      const reply = await send({ method: 'GET', path: `${prefix}/health`, body: null });
      return reply.ok && reply.status >= 200 && reply.status < 300;
    },
    close: (): Promise<void> => pool.destroy(),
  };
}

/** One request and its complete response; resolves within `timeoutMs` milliseconds. */
function exchange(pool: Pool, { method, path, body }: EngineRequest, timeoutMs: number): Promise<Reply> {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  let status = 0;
  let bytes = 0;
  let isOver = false;
  let control: Dispatcher.DispatchController | null = null;
  const chunks: Buffer[] = [];
  // Only the first call has an effect.
  const end = (reply: Reply): void => {
    isOver = true;
    clearTimeout(timer);
    resolve(reply);
  };
  const giveUp = (reason: string): void => {
    end({ ok: false, reason, isStale: false });
    control?.abort(new errors.RequestAbortedError());
  };
  const timer = setTimeout(giveUp, Math.max(1, timeoutMs), `no response within ${Math.ceil(timeoutMs)} ms`);
  const headers = body === null ? [] : ['content-type', 'application/json'];
  pool.dispatch(
    { method, path, headers, body },
    {
      onRequestStart: (controller) => {
        control = controller;
        // The request timed out while it waited for a connection.
        if (isOver) controller.abort(new errors.RequestAbortedError());
      },
      onResponseStart: (_controller, statusCode) => void (status = statusCode),
      onResponseData: (_controller, chunk) => {
        bytes += chunk.byteLength;
        if (bytes > MAX_BODY_BYTES) giveUp('the response is over 1 MiB');
        else chunks.push(chunk);
      },
      onResponseEnd: () => end({ ok: true, status, body: Buffer.concat(chunks).toString() }),
      onResponseError: (_controller, error) =>
        end({ ok: false, reason: reasonOf(error), isStale: status === 0 && isDeadSocket(error) }),
    },
  );
  return promise;
}

function isDeadSocket(error: Error): boolean {
  return error instanceof errors.SocketError || (error as NodeJS.ErrnoException).code === 'ECONNRESET';
}

function reasonOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
