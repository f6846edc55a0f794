import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { HttpAnswer } from '../core/facts/facts.ts';
import { reasonOf } from './reason.ts';

export const HTTP_TIMEOUT_MS = 5000;

/** `body`: null when it was not wanted, too large, cut off or late. */
export type AnswerWithBody = HttpAnswer & { body: Buffer | null };

export interface HttpAnswerOptions {
  /** Milliseconds until the last byte; default 5000. */
  timeoutMs?: number | undefined;
  /** Most bytes of the body that are read; 0 (default): the head is enough. */
  maxBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * One GET, no redirect followed, on a connection of its own. Answered means that a head came, whatever follows it: a
 * body without end, or larger than allowed, is cut off. Never rejects.
 */
export function httpAnswer(url: URL, options: HttpAnswerOptions = {}): Promise<AnswerWithBody> {
  const { timeoutMs = HTTP_TIMEOUT_MS, maxBytes = 0, signal } = options;
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let head: HttpAnswer = { answered: false, reason: `no answer within ${timeoutMs / 1000} s` };
    const request = start(url);
    const finish = (body: Buffer | null): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      request.destroy();
      resolve({ ...head, body });
    };
    const fail = (reason: string): void => {
      if (!head.answered) head = { answered: false, reason };
      finish(null);
    };
    const abort = (): void => fail('the probe was given up');
    const timer = setTimeout(() => finish(null), timeoutMs);
    // Stays attached: destroying a request raises another error.
    request.on('error', (error) => fail(reasonOf(error)));
    if (signal?.aborted) {
      abort();
      return;
    }
    signal?.addEventListener('abort', abort, { once: true });
    request.once('upgrade', (response: IncomingMessage, socket) => {
      socket.destroy();
      fail(`it switches protocols (${response.statusCode ?? 101}) instead of answering`);
    });
    request.once('response', (response) => {
      const latencyMs = Math.round(performance.now() - startedAt);
      head = { answered: true, status: response.statusCode ?? 0, latencyMs };
      response.on('error', () => finish(null));
      if (maxBytes === 0) finish(null);
      else collect(response, maxBytes, finish);
    });
    request.end();
  });
}

function start(url: URL): ClientRequest {
  const headers = { accept: 'application/json', 'user-agent': 'agent-compliance', connection: 'close' };
  const options = { method: 'GET', agent: false as const, headers };
  return url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options);
}

function collect(response: IncomingMessage, maxBytes: number, finish: (body: Buffer | null) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) finish(null);
    else chunks.push(chunk);
  });
  response.once('end', () => finish(Buffer.concat(chunks)));
  response.once('close', () => finish(null));
}
