import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ClientResponse } from './client-message.ts';
import { lingerOn } from './connection-end.ts';

export interface ProblemResponse {
  status: number;
  /** One sentence without addresses. */
  detail: string;
  requestId?: string;
  headers?: Readonly<Record<string, string>>;
  /** The connection cannot be used for another request. */
  close?: boolean;
}

/** The sidecar has no memory for another request. */
export const OVERLOAD = {
  status: 503,
  detail: 'too many requests in flight for the memory limit of the sidecar',
  headers: { 'Retry-After': '1' },
} as const satisfies ProblemResponse;

/** The body of a problem. */
export function problemBody({ status, detail, requestId }: ProblemResponse): string {
  const title = STATUS_CODES[status] ?? 'Error';
  return JSON.stringify({ type: 'about:blank', title, status, detail, ...(requestId && { requestId }) });
}

/** Responds in place of the agent with RFC 9457 `application/problem+json`. Returns the number of body bytes. */
export function respondWithProblem(response: ClientResponse, problem: ProblemResponse): number {
  const body = problemBody(problem);
  const length = Buffer.byteLength(body);
  if (problem.close) response.shouldKeepAlive = false;
  // Explicit reason phrase: a failed writeHead() leaves its own phrase in the response.
  response.writeHead(problem.status, STATUS_CODES[problem.status] ?? 'Error', headersOf(problem, length));
  response.end(body, 'utf8');
  return response.req.method === 'HEAD' ? 0 : length;
}

function headersOf(problem: ProblemResponse, length: number): Record<string, string | number> {
  return {
    'Content-Type': 'application/problem+json',
    'Content-Length': length,
    ...(problem.requestId && { 'X-Request-Id': problem.requestId }),
    ...problem.headers,
  };
}

/**
 * Like `respondWithProblem`, on a bare socket without a response object (CONNECT, upgrades). Ends the connection. Returns the
 * number of body bytes.
 */
export function writeProblem(socket: Duplex, problem: ProblemResponse): number {
  return write(socket, problem, () => socket.destroy());
}

/** Like `writeProblem`, after unparseable input: the client may still send a lot before it reads the response. */
export function writeProblemAndLinger(socket: Duplex, problem: ProblemResponse): void {
  write(socket, problem, () => undefined);
  lingerOn(socket);
}

function write(socket: Duplex, problem: ProblemResponse, onWritten: () => void): number {
  if (!socket.writable) {
    socket.destroy();
    return 0;
  }
  const body = problemBody(problem);
  const headers = { ...headersOf(problem, Buffer.byteLength(body)), Connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const statusLine = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Error'}\r\n`;
  socket.end(`${statusLine}${lines.join('')}\r\n${body}`, onWritten);
  return Buffer.byteLength(body);
}
