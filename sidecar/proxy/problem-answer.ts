import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { lingerOn } from './connection-end.ts';

export interface ProblemAnswer {
  status: number;
  /** One sentence; never an address. */
  detail: string;
  requestId?: string;
  headers?: Readonly<Record<string, string>>;
  /** The connection cannot be used for another request. */
  close?: boolean;
}

/** The sidecar has no room for another request. */
export const OVERLOAD = {
  status: 503,
  detail: 'the sidecar has as many requests in flight as its memory limit allows',
  headers: { 'Retry-After': '1' },
} as const satisfies ProblemAnswer;

function bodyOf({ status, detail, requestId }: ProblemAnswer): string {
  const title = STATUS_CODES[status] ?? 'Error';
  return JSON.stringify({ type: 'about:blank', title, status, detail, ...(requestId && { requestId }) });
}

/** Answers in the agent's place: RFC 9457 `application/problem+json`. Returns the number of body bytes. */
export function answerProblem(response: ServerResponse, problem: ProblemAnswer): number {
  const body = bodyOf(problem);
  const length = Buffer.byteLength(body);
  if (problem.close) response.shouldKeepAlive = false;
  // The reason is said: a head that could not be written has left its own.
  response.writeHead(problem.status, STATUS_CODES[problem.status], headersOf(problem, length));
  response.end(body);
  return response.req.method === 'HEAD' ? 0 : length;
}

function headersOf(problem: ProblemAnswer, length: number): Record<string, string | number> {
  return {
    'Content-Type': 'application/problem+json',
    'Content-Length': length,
    ...(problem.requestId && { 'X-Request-Id': problem.requestId }),
    ...problem.headers,
  };
}

/** The same on a bare socket, where there is no response object (CONNECT, upgrades); ends the connection. Returns the number of body bytes. */
export function writeProblem(socket: Duplex, problem: ProblemAnswer): number {
  return write(socket, problem, () => socket.destroy());
}

/** The same to a client in the middle of what cannot be read: it may still have a lot to say before it reads the answer. */
export function refuse(socket: Duplex, problem: ProblemAnswer): void {
  write(socket, problem, () => undefined);
  lingerOn(socket);
}

function write(socket: Duplex, problem: ProblemAnswer, onWritten: () => void): number {
  if (!socket.writable) {
    socket.destroy();
    return 0;
  }
  const body = bodyOf(problem);
  const headers = { ...headersOf(problem, Buffer.byteLength(body)), Connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const statusLine = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Error'}\r\n`;
  socket.end(`${statusLine}${lines.join('')}\r\n${body}`, onWritten);
  return Buffer.byteLength(body);
}
