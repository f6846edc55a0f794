import type { ServerResponse } from 'node:http';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { describeError, type Logger } from './logger.ts';
import { Problem } from './problem.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';

/** One row of a process's route table. HEAD is answered wherever GET is. */
export interface Route {
  method: Method;
  /** An Express 5 path, such as `/proof/rule/:ruleId`. */
  path: string;
  /** What it answers, for docs/reference/routes.md. */
  summary: string;
  handlers: RequestHandler[];
}

export interface AppOptions {
  logger: Logger;
  routes: readonly Route[];
  /** Each route is served under every prefix; default: the root alone. */
  prefixes?: readonly string[];
  /** Runs before all routes: access rules, metrics. */
  before?: readonly RequestHandler[];
}

/** An Express application from a table: an unknown path is 404, a known one with another method 405 with Allow. */
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
  app.use(errorHandler(options.logger));
  return app;
}

function mount(app: Express, prefix: string, routes: readonly Route[]): void {
  for (const route of routes) {
    const verb = route.method.toLowerCase() as Lowercase<Method>;
    app[verb](prefix + route.path, ...route.handlers);
  }
  // Not a catch-all per path: a literal path may also match another row's parameter, so the methods of every row that matches are allowed.
  const paths = new Set(routes.map((route) => route.path));
  for (const path of paths) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method as string);
    const allow = [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : [])])].sort().join(', ');
    app.all(prefix + path, (request) => {
      throw new Problem(405, `${request.method} is not allowed on ${request.path}`, { headers: { allow } });
    });
  }
}

/** How much of an over-long body is read before the connection is cut, so that a near miss still hears its 413; bytes. */
const DRAIN_BYTES = 1024 * 1024;

/**
 * A JSON body parser; `limit` in bytes. By the error handler, no body or one that is no JSON becomes 400, another content type
 * 415, one over the limit 413. Forms and plain text stay out because a page of any origin may post them without asking.
 * @param options.inflate false: a compressed body, whose size its length does not tell, is 415
 */
export function jsonBody(limit: number, { inflate = true } = {}): RequestHandler {
  const type = ['application/json', 'application/*+json'];
  const parse = express.json({ limit, strict: false, type, inflate });
  return (request, response, next) => {
    let settled = false;
    const settle = (error?: unknown): void => {
      if (settled) return;
      settled = true;
      next(error ?? (request.body === undefined ? noJson(request) : undefined));
    };
    parse(request, response, settle);
    if (settled) return;
    // The parser reads a refused body to its end before it says so; one that does not end would hold its connection.
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > limit + DRAIN_BYTES) settle(tooLarge(limit, { headers: { connection: 'close' } }));
    });
  };
}

/** The parser leaves alone what has no body or is no JSON by its content type. */
function noJson({ headers }: Request): Problem {
  const status = headers['content-type'] === undefined ? 400 : 415;
  return new Problem(status, 'this route needs a JSON body with Content-Type: application/json');
}

function tooLarge(
  limit: number,
  options: { headers?: Record<string, string>; cause?: unknown } = {},
): Problem {
  return new Problem(413, `the body is larger than the ${limit} bytes that this route accepts`, options);
}

/** What a body is answered that was read whole and is no JSON. */
export function notJson(cause: unknown): Problem {
  return new Problem(400, 'the body is not valid JSON', { cause });
}

/** Sends a Problem; safe to call when the head is already out (the connection is cut then). */
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

/** Answers a request that threw, by a Problem; logs it where it is this process's fault. */
export function answerError(
  logger: Logger,
  error: unknown,
  request: { method: string; path: string },
  response: ServerResponse,
): void {
  const problem = problemOf(error);
  // Without a cause nothing broke: a route that is off or not ready says so, and whoever asks it must not fill the log.
  const level = problem.cause === undefined ? 'debug' : 'error';
  if (problem.status >= 500)
    logger[level]('request fails', {
      method: request.method,
      path: request.path,
      status: problem.status,
      error: describeError(error),
    });
  sendProblem(response, problem);
}

function errorHandler(logger: Logger): ErrorRequestHandler {
  // Express tells error handlers by their four parameters.
  return (error: unknown, request: Request, response: Response, _next) =>
    answerError(logger, error, request, response);
}

interface BodyParserError extends Error {
  status: number;
  /** Absent where the body itself broke: cut, or no gzip. */
  type?: unknown;
  /** Where the body is too large: what was allowed, bytes. */
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

/** What an unknown error looks like from outside: bugs show no internals. */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isBodyParserError(error)) {
    if (error.type === 'entity.too.large') return tooLarge(error.limit ?? 0, { cause: error });
    if (error.type === 'entity.parse.failed') return notJson(error);
    if (error.type === undefined && error.status === 400)
      return new Problem(400, 'the body is cut, or is not compressed as Content-Encoding says', {
        cause: error,
      });
    if (error.status >= 400 && error.status < 500)
      return new Problem(error.status, error.message, { cause: error });
  }
  if (error instanceof URIError) return new Problem(400, 'the path is not a valid URI', { cause: error });
  return new Problem(500, 'an internal error occurred; the log of this process has the details', {
    cause: error,
  });
}
