import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HealthReport } from '../core/shapes/health.ts';
import type { AgentUsageReport } from '../core/shapes/usage.ts';

/** The part of an Express-like response that the reporter uses. */
export interface JsonResponse {
  status(code: number): { json(body: unknown): unknown };
}

/** Data source of the routes. */
export interface ReportSource {
  getReport(): Promise<HealthReport | null>;
  getUsage(): AgentUsageReport;
}

interface RouteResult {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

async function healthResult(source: ReportSource): Promise<RouteResult> {
  try {
    const report = await source.getReport();
    if (report !== null) return { status: 200, body: report };
    return problem(503, 'Service Unavailable', 'the reporter was not started');
  } catch {
    // The check has logged the reason. The reason is for the agent's owner and not for HTTP clients.
    return problem(503, 'Service Unavailable', 'the health checks could not run');
  }
}

function problem(status: number, title: string, detail: string): RouteResult {
  return { status, body: { type: 'about:blank', title, status, detail } };
}

function headersOf(result: RouteResult): Record<string, string> {
  return {
    'content-type': result.status === 200 ? 'application/json' : 'application/problem+json',
    'cache-control': 'no-store',
    ...result.headers,
  };
}

function send(response: ServerResponse, result: RouteResult): void {
  if (response.destroyed) return;
  const body = JSON.stringify(result.body);
  response.writeHead(result.status, { ...headersOf(result), 'content-length': Buffer.byteLength(body) });
  // Node.js omits the body of a response to HEAD.
  response.end(body);
}

/** The part of a Fastify instance that the reporter uses. */
export interface FastifyRoutes {
  get(path: string, handler: (request: unknown, reply: FastifyReplying) => unknown): unknown;
}

export interface FastifyReplying {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  send(body: string): unknown;
}

/** The handlers of a reporter for its two paths. `Reporter` describes each of them. */
export function createHandlers(source: ReportSource) {
  const routes: ReadonlyMap<string, () => Promise<RouteResult>> = new Map([
    ['/platform/health', () => healthResult(source)],
    ['/platform/usage', () => Promise.resolve({ status: 200, body: source.getUsage() })],
  ]);
  /** The result for a method and a path; null: not a path of the reporter. */
  const resultFor = (method: string, path: string): Promise<RouteResult> | null => {
    const route = routes.get(path);
    if (route === undefined) return null;
    if (method === 'GET' || method === 'HEAD') return route();
    const notAllowed = problem(405, 'Method Not Allowed', `${method} is not allowed on ${path}`);
    return Promise.resolve({ ...notAllowed, headers: { allow: 'GET, HEAD' } });
  };
  return {
    handle: (request: IncomingMessage, response: ServerResponse): boolean => {
      const path = (request.url ?? '').split('?', 1)[0] ?? '';
      const result = resultFor(request.method ?? '', path);
      void result?.then((found) => send(response, found));
      return result !== null;
    },
    healthHandler: async (_request: unknown, response: JsonResponse): Promise<void> => {
      const { status, body } = await healthResult(source);
      response.status(status).json(body);
    },
    usageHandler: (_request: unknown, response: JsonResponse): void => {
      response.status(200).json(source.getUsage());
    },
    fetch: async (request: Request): Promise<Response> => {
      const path = new URL(request.url).pathname;
      const result = (await resultFor(request.method, path)) ?? problem(404, 'Not Found', `no route ${path}`);
      const body = request.method === 'HEAD' ? null : JSON.stringify(result.body);
      return new Response(body, { status: result.status, headers: headersOf(result) });
    },
    fastify: (app: FastifyRoutes): Promise<void> => {
      for (const [path, route] of routes)
        app.get(path, async (_request, reply) => {
          const result = await route();
          reply.code(result.status);
          for (const [name, value] of Object.entries(headersOf(result))) reply.header(name, value);
          // Text, so that no schema or serializer of the agent changes the body.
          return reply.send(JSON.stringify(result.body));
        });
      return Promise.resolve();
    },
  };
}
