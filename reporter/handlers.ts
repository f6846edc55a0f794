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
}

const HEALTH_PATH = '/platform/health';
const USAGE_PATH = '/platform/usage';

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

/**
 * For `node:http`: answers the reporter's two paths and says true; false for every other path, which is the server's.
 */
export function createNodeHandler(source: ReportSource) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const path = (request.url ?? '').split('?', 1)[0];
    if (path !== HEALTH_PATH && path !== USAGE_PATH) return false;
    const method = request.method ?? '';
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(response, problem(405, 'Method Not Allowed', `${method} is not allowed on ${path}`));
    } else if (path === USAGE_PATH) {
      send(response, { status: 200, body: source.getUsage() });
    } else {
      void answerHealth(source).then((answer) => send(response, answer));
    }
    return true;
  };
}

function send(response: ServerResponse, answer: Answer): void {
  if (response.destroyed) return;
  const body = JSON.stringify(answer.body);
  response.writeHead(answer.status, {
    'content-type': answer.status === 200 ? 'application/json' : 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  // Node.js leaves the body of an answer to HEAD out by itself.
  response.end(body);
}
