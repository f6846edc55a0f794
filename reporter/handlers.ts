import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HealthReport } from '../core/health/health.ts';
import type { AgentUsageReport } from '../core/usage/usage.ts';

/** The response of Express and its relatives, as far as the reporter uses it. */
export interface JsonResponse {
  status(code: number): { json(body: unknown): unknown };
}

/** What the routes are answered from. */
export interface ReportSource {
  getReport(): Promise<HealthReport | null>;
  getUsage(): AgentUsageReport;
}

interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

async function answerHealth(source: ReportSource): Promise<Answer> {
  try {
    const report = await source.getReport();
    if (report !== null) return { status: 200, body: report };
    return problem(503, 'Service Unavailable', 'the reporter was not started');
  } catch {
    // The check itself logged why; its text is for the agent's owner, not for whoever asks.
    return problem(503, 'Service Unavailable', 'the health checks could not run');
  }
}

function problem(status: number, title: string, detail: string): Answer {
  return { status, body: { type: 'about:blank', title, status, detail } };
}

/** `app.get('/platform/health', ...)` where the response offers `status(code).json(body)`. Never rejects. */
export function createHealthHandler(source: ReportSource) {
  return async (_request: unknown, response: JsonResponse): Promise<void> => {
    const { status, body } = await answerHealth(source);
    response.status(status).json(body);
  };
}

/** `app.get('/platform/usage', ...)` where the response offers `status(code).json(body)`. */
export function createUsageHandler(source: ReportSource) {
  return (_request: unknown, response: JsonResponse): void => {
    response.status(200).json(source.getUsage());
  };
}

const answerUsage = (source: ReportSource): Promise<Answer> =>
  Promise.resolve({ status: 200, body: source.getUsage() });

const ROUTES: ReadonlyMap<string, (source: ReportSource) => Promise<Answer>> = new Map([
  ['/platform/health', answerHealth],
  ['/platform/usage', answerUsage],
]);

/** What is answered to a method on a path; null: the path is not the reporter's. Never rejects. */
function answerTo(source: ReportSource, method: string, path: string): Promise<Answer> | null {
  const route = ROUTES.get(path);
  if (route === undefined) return null;
  if (method === 'GET' || method === 'HEAD') return route(source);
  const refusal = problem(405, 'Method Not Allowed', `${method} is not allowed on ${path}`);
  return Promise.resolve({ ...refusal, headers: { allow: 'GET, HEAD' } });
}

function headersOf(answer: Answer): Record<string, string> {
  return {
    'content-type': answer.status === 200 ? 'application/json' : 'application/problem+json',
    'cache-control': 'no-store',
    ...answer.headers,
  };
}

/**
 * For `node:http` and whatever hands its request and response on: answers the reporter's two paths and says true; false
 * for every other path, which is the server's.
 */
export function createNodeHandler(source: ReportSource) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const answer = answerTo(source, request.method ?? '', path);
    void answer?.then((found) => send(response, found));
    return answer !== null;
  };
}

function send(response: ServerResponse, answer: Answer): void {
  if (response.destroyed) return;
  const body = JSON.stringify(answer.body);
  response.writeHead(answer.status, { ...headersOf(answer), 'content-length': Buffer.byteLength(body) });
  // Node.js leaves the body of an answer to HEAD out by itself.
  response.end(body);
}

/** For servers that turn a `Request` into a `Response` (Hono, Next.js, Deno, Bun): 404 for every path but the reporter's two. */
export function createFetchHandler(source: ReportSource) {
  return async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname;
    const answer =
      (await answerTo(source, request.method, path)) ??
      problem(404, 'Not Found', `there is nothing at ${path}`);
    const body = request.method === 'HEAD' ? null : JSON.stringify(answer.body);
    return new Response(body, { status: answer.status, headers: headersOf(answer) });
  };
}

/** A Fastify instance, as far as the reporter uses it. */
export interface FastifyRoutes {
  get(path: string, handler: (request: unknown, reply: FastifyReplying) => unknown): unknown;
}

export interface FastifyReplying {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  send(body: string): unknown;
}

/** A Fastify plugin: `app.register(...)`. */
export function createFastifyPlugin(source: ReportSource) {
  return (app: FastifyRoutes): Promise<void> => {
    for (const [path, route] of ROUTES)
      app.get(path, async (_request, reply) => {
        const answer = await route(source);
        reply.code(answer.status);
        for (const [name, value] of Object.entries(headersOf(answer))) reply.header(name, value);
        // Text, so that no schema of the agent's and no serializer changes it.
        return reply.send(JSON.stringify(answer.body));
      });
    return Promise.resolve();
  };
}
