import { hostPortOf } from '../core/facts/address.ts';
import {
  AGENT_CARD_PATH,
  type AgentCardResult,
  type CapabilitiesResult,
  type Facts,
  type HttpResult,
  type Reach,
} from '../core/facts/facts.ts';
import { listedTools } from '../core/facts/listed-tools.ts';
import { parseAgentReport, type ExpectedReport } from '../core/health/parse-agent-report.ts';
import { parseUsageReport } from '../core/usage/parse-usage-report.ts';
import type { AgentUsageReport } from '../core/shapes/usage.ts';
import { isRecord, jsonOf } from '../core/untrusted/fields.ts';
import type { EndpointPath, EndpointPaths } from './endpoint-path.ts';
import { exchange, type Exchange } from './http-exchange.ts';
import { tcpReach } from './tcp-reach.ts';

/** Maximum bytes read from a response of the agent. */
const MAX_REPORT_BYTES = 256 * 1024;
const MAX_CAPABILITIES_BYTES = 64 * 1024;

/** Facts collected from the agent's own port. */
export type AgentFacts = Pick<
  Facts,
  'agentReport' | 'invalidReport' | 'upstream' | 'health' | 'capabilities' | 'agentCard'
>;

/** Which endpoints are probed, and what the agent's report must match; `now`: this process's clock. */
export interface ExpectedAgent extends Omit<ExpectedReport, 'at'> {
  endpoints: EndpointPaths;
  now: () => Date;
}

/** Probes everything on the agent's port that a report needs, in parallel. Never rejects. */
export async function probeAgent(
  upstreamUrl: URL,
  expected: ExpectedAgent,
  signal?: AbortSignal,
): Promise<AgentFacts> {
  const { endpoints } = expected;
  const { host, port } = hostPortOf(upstreamUrl);
  const get = (path: string, maxBytes = 0): Promise<Exchange> =>
    exchange(pathOn(upstreamUrl, path), { maxBytes, signal });
  const capabilitiesOf = get(endpoints.capabilities.path, MAX_CAPABILITIES_BYTES);
  const [connection, health, capabilities, card, report] = await Promise.all([
    tcpReach(host, port, { signal }),
    get(endpoints.health.path),
    capabilitiesOf,
    endpoints.capabilities.path === AGENT_CARD_PATH
      ? capabilitiesOf
      : get(AGENT_CARD_PATH, MAX_CAPABILITIES_BYTES),
    get('/platform/health', MAX_REPORT_BYTES),
  ]);
  return {
    upstream: upstreamReach(connection, [health, capabilities, card, report]),
    health: { ...withoutBody(health), ...endpoints.health },
    capabilities: capabilitiesFacts(capabilities, endpoints.capabilities),
    agentCard: cardFacts(card),
    ...reportOf(report, expected),
  };
}

function capabilitiesFacts(response: Exchange, endpoint: EndpointPath): CapabilitiesResult {
  const isHtml = isHtmlPage(response);
  const tools = isHtml ? null : listedTools(valueOf(response));
  return { ...withoutBody(response), ...endpoint, isHtml, tools };
}

function cardFacts(response: Exchange): AgentCardResult {
  const card = isHtmlPage(response) ? undefined : valueOf(response);
  return { ...withoutBody(response), isCard: isRecord(card), tools: listedTools(card) };
}

/** An HTML page, which many web servers return with 200 for every path. */
function isHtmlPage(response: Exchange): boolean {
  if (!isSuccess(response)) return false;
  const contentType = response.headers['content-type'] ?? '';
  if (/^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(contentType)) return true;
  return response.body !== null && /^\uFEFF?\s*</.test(response.body.toString('utf8'));
}

/** The agent's own `GET /platform/usage`; null: the endpoint is missing or its response is invalid. Never rejects. */
export async function probeAgentUsage(
  upstreamUrl: URL,
  signal?: AbortSignal,
): Promise<AgentUsageReport | null> {
  const response = await exchange(pathOn(upstreamUrl, '/platform/usage'), {
    maxBytes: MAX_REPORT_BYTES,
    signal,
  });
  return parseUsageReport(valueOf(response));
}

/** The kernel accepts connections for a frozen process too, so "reachable" requires at least one HTTP response. */
function upstreamReach(connection: Reach, responses: readonly Exchange[]): Reach {
  if (connection.state !== 'reachable' || responses.some((response) => response.answered)) return connection;
  return { state: 'unreachable', reason: 'connection accepted, but no response to any HTTP request' };
}

type ReportFacts = Pick<Facts, 'agentReport' | 'invalidReport'>;

function reportOf(response: Exchange, { agentName, now }: ExpectedAgent): ReportFacts {
  if (!isSuccess(response)) return { agentReport: null, invalidReport: null };
  if (response.body === null)
    return invalidReport(`must be complete within 5 s and ${MAX_REPORT_BYTES} bytes`);
  const value = valueOf(response);
  if (value === undefined) return invalidReport('must be JSON');
  const parsed = parseAgentReport(value, { agentName, at: now() });
  return parsed.ok
    ? { agentReport: { checks: parsed.report.checks }, invalidReport: null }
    : { agentReport: null, invalidReport: parsed.invalid };
}

function invalidReport(reason: string): ReportFacts {
  return { agentReport: null, invalidReport: { field: '', reason } };
}

function isSuccess(response: Exchange): response is Exchange & { answered: true } {
  return response.answered && response.status >= 200 && response.status <= 299;
}

/** The parsed JSON body of a 2xx response; undefined when the status or the body is different. */
function valueOf(response: Exchange): unknown {
  return isSuccess(response) && response.body !== null ? jsonOf(response.body.toString('utf8')) : undefined;
}

function withoutBody(response: Exchange): HttpResult {
  if (!response.answered) return { answered: false, reason: response.reason };
  return { answered: true, status: response.status, latencyMs: response.latencyMs };
}

function pathOn(base: URL, pathAndQuery: string): URL {
  const url = new URL(base);
  const [path = '', ...query] = pathAndQuery.split('?');
  url.pathname = url.pathname.replace(/\/+$/, '') + path;
  url.search = query.join('?');
  url.hash = '';
  return url;
}
