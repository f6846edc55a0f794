import type { Dispatcher } from 'undici';
import errors from 'undici/lib/core/errors.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { PolicyAnswer } from '../../core/policy/engine.ts';
import { denyPathOf } from '../../core/policy/package-name.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { parseDenials } from '../../core/policy/parse-denials.ts';

/** A policy engine over HTTP, asked on connections that are kept. */
export interface OpaEngine {
  evaluate(input: PolicyInput): Promise<PolicyAnswer>;
  /** `GET /health`, judged by its status code alone: the real engine's body is `{}`. */
  isHealthy(): Promise<boolean>;
  close(): Promise<void>;
}

export interface OpaEngineOptions {
  /** A path in it is put before every path. */
  url: URL;
  /** For one question, connecting and a second attempt included, in milliseconds. */
  timeoutMs: number;
}

/** More would wait for the engine rather than be answered by it. */
const CONNECTIONS = 64;
/** Denial reasons are short; whatever sends more is no policy engine. */
const MAX_BODY_BYTES = 1024 * 1024;

interface Asked {
  method: 'GET' | 'POST';
  path: string;
  body: string | null;
}

type Reply = { ok: true; status: number; body: string } | { ok: false; reason: string; isStale: boolean };

export function createOpaEngine({ url, timeoutMs }: OpaEngineOptions): OpaEngine {
  const pool = new Pool(url.origin, {
    connections: CONNECTIONS,
    allowH2: false,
    pipelining: 1,
    connect: { timeout: timeoutMs },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const prefix = url.pathname.replace(/\/$/, '');
  const ask = async (asked: Asked): Promise<Reply> => {
    const deadline = performance.now() + timeoutMs;
    const first = await exchange(pool, asked, timeoutMs);
    // The engine may close an idle connection just when it is used; a question can be put twice.
    const leftMs = deadline - performance.now();
    return !first.ok && first.isStale && leftMs > 0 ? exchange(pool, asked, leftMs) : first;
  };
  return {
    async evaluate(input) {
      const path = prefix + denyPathOf(input.agent_name);
      const reply = await ask({ method: 'POST', path, body: JSON.stringify({ input }) });
      if (!reply.ok) return { state: 'unreachable', reason: reply.reason };
      if (reply.status !== 200)
        return { state: 'unreachable', reason: `the engine answers with status ${reply.status}` };
      return parseDenials(reply.body);
    },
    async isHealthy() {
      const reply = await ask({ method: 'GET', path: `${prefix}/health`, body: null });
      return reply.ok && reply.status >= 200 && reply.status < 300;
    },
    close: () => pool.destroy(),
  };
}

/** One request and its whole answer; resolves after `timeoutMs` milliseconds at the latest. */
function exchange(pool: Pool, { method, path, body }: Asked, timeoutMs: number): Promise<Reply> {
  return new Promise((resolve) => {
    let status = 0;
    let bytes = 0;
    let isOver = false;
    let control: Dispatcher.DispatchController | null = null;
    const chunks: Buffer[] = [];
    const end = (reply: Reply): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      resolve(reply);
    };
    const giveUp = (reason: string): void => {
      end({ ok: false, reason, isStale: false });
      control?.abort(new errors.RequestAbortedError());
    };
    const timer = setTimeout(
      () => giveUp(`no answer within ${Math.ceil(timeoutMs)} ms`),
      Math.max(1, timeoutMs),
    );
    const headers = body === null ? [] : ['content-type', 'application/json'];
    pool.dispatch(
      { method, path, headers, body },
      {
        onRequestStart: (controller) => {
          control = controller;
          // It waited for a connection for longer than its asker waits for it.
          if (isOver) controller.abort(new errors.RequestAbortedError());
        },
        onResponseStart: (_controller, statusCode) => {
          status = statusCode;
        },
        onResponseData: (_controller, chunk) => {
          bytes += chunk.byteLength;
          if (bytes > MAX_BODY_BYTES) giveUp('the answer is over 1 MiB');
          else chunks.push(chunk);
        },
        onResponseEnd: () => end({ ok: true, status, body: Buffer.concat(chunks).toString() }),
        onResponseError: (_controller, error) =>
          end({ ok: false, reason: reasonOf(error), isStale: status === 0 && isDeadSocket(error) }),
      },
    );
  });
}

function isDeadSocket(error: Error): boolean {
  return error instanceof errors.SocketError || (error as NodeJS.ErrnoException).code === 'ECONNRESET';
}

function reasonOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
