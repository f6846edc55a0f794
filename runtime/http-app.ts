import type { ServerResponse } from 'node:http';
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { Operation } from '../core/openapi/operation.ts';
import { describeError, type Logger } from './logger.ts';
import { Problem } from './problem.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';

/** One row of a process's route table. Every GET route also serves HEAD. `Access` lists the process's kinds of access. */
export interface Route<Access extends string = 'open'> {
  method: Method;
  /** An Express 5 path, such as `/proof/rule/:ruleId`. */
  path: string;
  /** Who may use the route; `open`: every client that reaches the port. */
  access: Access;
  /** Description of the response, for docs/reference/routes.md. */
  summary: string;
  /** Requests and responses, for OpenAPI. */
  operation: Operation;
  /** The group of the route in OpenAPI; `tagged` sets it. */
  tag?: string;
  handlers: RequestHandler[];
}

/** The routes as one group of the OpenAPI document. */
export function tagged<R extends Route<string>>(tag: string, routes: readonly R[]): R[] {
  return routes.map((route) => ({ ...route, tag }));
}

/** The part of a row that an application needs. */
type AppRoute = Omit<Route<string>, 'operation'>;

export interface AppOptions {
  logger: Logger;
  routes: readonly AppRoute[];
  /** Each route is served under every prefix; default: only at the root. */
  prefixes?: readonly string[];
  /** Runs before all routes: access rules, metrics. */
  before?: readonly RequestHandler[];
}

/** Builds an Express application from a route table. An unknown path gets 404, another method on a known path 405 with Allow. */
export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  for (const handler of options.before ?? []) app.use(handler);
  for (const prefix of options.prefixes ?? ['']) mount(app, prefix, options.routes);
  app.use((request) => {
    throw new Problem(404, `no route ${request.path}`);
  });
  // Express recognises error handlers by their four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) =>
    respondError(options.logger, error, request, response),
  );
  return app;
}

function mount(app: Express, prefix: string, routes: readonly AppRoute[]): void {
  for (const route of routes) {
    const verb = route.method.toLowerCase() as Lowercase<Method>;
    app[verb](prefix + route.path, ...route.handlers);
  }
  // 405 handlers come after all routes: a literal path may also match a parameter of another row.
  const paths = new Set(routes.map((route) => route.path));
  for (const path of paths) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method as string);
    const allow = [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : [])])].sort().join(', ');
    // Not app.all(), which adds a handler for each of more than thirty methods.
    app.route(prefix + path).all((request) => {
      throw new Problem(405, `${request.method} is not allowed on ${request.path}`, { headers: { allow } });
    });
  }
}

/** Bytes of an oversized body that are read before the connection is cut, so that a slightly too long body still gets its 413. */
const DRAIN_BYTES = 1024 * 1024;

/**
 * A JSON body parser; `limit` in bytes. A missing or invalid body leads to 400, another content type to 415, a body above the
 * limit to 413. Forms and plain text are not accepted because any web page may post them without a CORS preflight.
 * @param options.inflate false: a compressed body gets 415, because its length does not limit its inflated size
 */
export function jsonBody(limit: number, { inflate = true } = {}): RequestHandler {
  const type = ['application/json', 'application/*+json'];
  const parse = express.json({ limit, strict: false, type, inflate });
  return limitedBody(parse, limit, 'a JSON body with Content-Type: application/json');
}

/** A parser of a text of one content type, with the responses of `jsonBody`; `limit` also after decompression. */
export function textBody(limit: number, type: string): RequestHandler {
  return limitedBody(express.text({ limit, type }), limit, `a body with Content-Type: ${type}`);
}

/** @param wanted for the error: what the route requires */
function limitedBody(parse: RequestHandler, limit: number, wanted: string): RequestHandler {
  return (request, response, next) => {
    let settled = false;
    const settle = (error?: unknown): void => {
      if (settled) return;
      settled = true;
      next(error ?? (request.body === undefined ? missingBody(request, wanted) : undefined));
    };
    void parse(request, response, settle);
    if (settled) return;
    // The parser reads a rejected body to its end before it reports the error. An endless body would hold its connection.
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > limit + DRAIN_BYTES) settle(tooLarge(limit, { headers: { connection: 'close' } }));
    });
  };
}

/** The parser skips requests without a body and requests of another content type. */
function missingBody({ headers }: Request, wanted: string): Problem {
  const status = headers['content-type'] === undefined ? 400 : 415;
  return new Problem(status, `this route requires ${wanted}`);
}

function tooLarge(
  limit: number,
  options: { headers?: Record<string, string>; cause?: unknown } = {},
): Problem {
  return new Problem(413, `the body exceeds the limit of ${limit} bytes for this route`, options);
}

/** Aborts when the client no longer waits for the response. */
export function whileWaiting(response: ServerResponse): AbortSignal {
  const waiting = new AbortController();
  response.once('close', () => waiting.abort());
  return waiting.signal;
}

/** The response to a complete body that is not valid JSON. */
export function notJson(cause: unknown): Problem {
  return new Problem(400, 'the body is not valid JSON', { cause });
}

/** Sends a Problem. If the head was already sent, the connection is cut instead. */
export function sendProblem(response: ServerResponse, problem: Problem): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify(problem.toBody());
  response.statusCode = problem.status;
  for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value);
  response.setHeader('Content-Type', 'application/problem+json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}

/** Responds with a Problem to a request whose handler threw. Logs errors of this process (5xx). */
export function respondError(
  logger: Logger,
  error: unknown,
  request: { method: string; path: string },
  response: ServerResponse,
): void {
  const problem = problemOf(error);
  // Without a cause nothing broke: the route is disabled or not ready, and repeated requests must not fill the log.
  const level = problem.cause === undefined ? 'debug' : 'error';
  if (problem.status >= 500)
    logger[level]('server error returned', {
      method: request.method,
      path: request.path,
      status: problem.status,
      error: describeError(error),
    });
  sendProblem(response, problem);
}

interface BodyParserError extends Error {
  status: number;
  /** Absent if the body itself is broken: truncated, or not valid gzip. */
  type?: unknown;
  /** Set if the body is too large: the limit in bytes. */
  limit?: number;
}

function isBodyParserError(error: unknown): error is BodyParserError {
  return (
    error instanceof Error &&
    'status' in error &&
    typeof error.status === 'number' &&
    'expose' in error &&
    error.expose === true
  );
}

/** Maps any error to a Problem. An unexpected error exposes no internals. */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isBodyParserError(error)) {
    if (error.type === 'entity.too.large') return tooLarge(error.limit ?? 0, { cause: error });
    if (error.type === 'entity.parse.failed') return notJson(error);
    if (error.type === undefined && error.status === 400)
      return new Problem(400, 'the body is truncated, or does not match its Content-Encoding', {
        cause: error,
      });
    if (error.status >= 400 && error.status < 500)
      return new Problem(error.status, error.message, { cause: error });
  }
  if (error instanceof URIError) return new Problem(400, 'the path is not a valid URI', { cause: error });
  return new Problem(500, 'internal error; see the log of this process for details', {
    cause: error,
  });
}
