import type { Facts, HttpAnswer, Reach } from '../core/facts/facts.ts';
import { listedTools } from '../core/facts/listed-tools.ts';
import { parseAgentReport, type ExpectedReport } from '../core/health/parse-agent-report.ts';
import { parseUsageReport } from '../core/usage/parse-usage-report.ts';
import type { AgentUsageReport } from '../core/usage/usage.ts';
import { httpAnswer, type AnswerWithBody } from './http-answer.ts';
import { tcpReach } from './tcp-reach.ts';

/** Most bytes that are read of what the agent answers. */
const MAX_REPORT_BYTES = 256 * 1024;
const MAX_CAPABILITIES_BYTES = 64 * 1024;

/** What the agent's own port says. */
export type AgentFacts = Pick<
  Facts,
  'agentReport' | 'invalidReport' | 'upstream' | 'health' | 'capabilities'
>;

/** What the agent's report must match; `now`: this process's clock. */
export interface ExpectedAgent extends Omit<ExpectedReport, 'at'> {
  now: () => Date;
}

/** Asks the agent's port for everything that a report needs of it, in parallel. Never rejects. */
export async function probeAgent(
  upstreamUrl: URL,
  expected: ExpectedAgent,
  signal?: AbortSignal,
): Promise<AgentFacts> {
  const [connection, health, capabilities, report] = await Promise.all([
    tcpReach(hostOf(upstreamUrl), portOf(upstreamUrl), { signal }),
    httpAnswer(pathOn(upstreamUrl, '/health'), { signal }),
    httpAnswer(pathOn(upstreamUrl, '/capabilities'), { maxBytes: MAX_CAPABILITIES_BYTES, signal }),
    httpAnswer(pathOn(upstreamUrl, '/platform/health'), { maxBytes: MAX_REPORT_BYTES, signal }),
  ]);
  return {
    upstream: upstreamReach(connection, [health, capabilities, report]),
    health: withoutBody(health),
    capabilities: { ...withoutBody(capabilities), tools: listedTools(jsonOf(capabilities)) },
    ...reportOf(report, expected),
  };
}

/** The agent's own `GET /platform/usage`; null: it has none, or no valid one. Never rejects. */
export async function probeAgentUsage(
  upstreamUrl: URL,
  signal?: AbortSignal,
): Promise<AgentUsageReport | null> {
  const answer = await httpAnswer(pathOn(upstreamUrl, '/platform/usage'), {
    maxBytes: MAX_REPORT_BYTES,
    signal,
  });
  return parseUsageReport(jsonOf(answer));
}

/** A frozen process still gets its connections accepted by the kernel; without one answer to HTTP it does not answer. */
function upstreamReach(connection: Reach, answers: readonly HttpAnswer[]): Reach {
  if (connection.state !== 'reachable' || answers.some((answer) => answer.answered)) return connection;
  return { state: 'unreachable', reason: 'it accepts connections but answers no HTTP request' };
}

type ReportFacts = Pick<Facts, 'agentReport' | 'invalidReport'>;

function reportOf(answer: AnswerWithBody, { agentName, now }: ExpectedAgent): ReportFacts {
  if (!isSuccess(answer)) return { agentReport: null, invalidReport: null };
  if (answer.body === null) return invalidReport(`must be complete within 5 s and ${MAX_REPORT_BYTES} bytes`);
  const value = jsonOf(answer);
  if (value === undefined) return invalidReport('must be JSON');
  const parsed = parseAgentReport(value, { agentName, at: now() });
  return parsed.ok
    ? { agentReport: { checks: parsed.report.checks }, invalidReport: null }
    : { agentReport: null, invalidReport: parsed.invalid };
}

function invalidReport(reason: string): ReportFacts {
  return { agentReport: null, invalidReport: { field: '', reason } };
}

function isSuccess(answer: AnswerWithBody): answer is AnswerWithBody & { answered: true } {
  return answer.answered && answer.status >= 200 && answer.status <= 299;
}

/** The JSON of a 2xx answer; undefined when it is none. */
function jsonOf(answer: AnswerWithBody): unknown {
  if (!isSuccess(answer) || answer.body === null) return undefined;
  try {
    return JSON.parse(answer.body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

function withoutBody({ body: _, ...answer }: AnswerWithBody): HttpAnswer {
  return answer;
}

function pathOn(base: URL, path: string): URL {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/+$/, '') + path;
  url.search = '';
  url.hash = '';
  return url;
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}
