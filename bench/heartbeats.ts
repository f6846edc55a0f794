import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { RULES } from '../core/audit/rules.ts';
import type { Check } from '../core/shapes/health.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { quantile } from './report.ts';

/** The interval of every agent, in seconds. */
export const INTERVAL_SECONDS = 30;
/** One heartbeat in this number changes the score, which the control plane writes to a cluster at once. */
const CHANGES_EVERY = 50;

export interface SimulatedAgent {
  name: string;
  /** The agent's key, or the token of its pod. */
  bearer: string;
  /** Of the last heartbeat. */
  seq: number;
}

/** A control plane that receives heartbeats. */
export interface Endpoint {
  port: number;
  /** The context of the CA that signed its certificate. */
  tls: SecureContext;
}

export const trusting = (ca: string): SecureContext => createSecureContext({ ca });

export interface Received {
  status: number;
  body: string;
}

/** One request over a connection of its own, like those of the sidecar. */
export function send(
  { port, tls }: Endpoint,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
): Promise<Received> {
  const typed = body !== undefined && {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        ...{ host: '127.0.0.1', port, path, agent: false, timeout: 30_000, secureContext: tls },
        ...{ method: body === undefined ? 'GET' : 'POST', headers: { ...headers, ...typed } },
      },
      (response) => {
        const status = response.statusCode ?? 0;
        text(response).then((received) => resolve({ status, body: received }), reject);
      },
    );
    request.on('error', reject).on('timeout', () => request.destroy(new Error('no response in time')));
    request.end(body);
  });
}

const CHECKS: Check[] = [
  'env:OPENAI_API_KEY',
  'service:orders',
  'model:openai/gpt-5',
  'tool:search-orders',
].map((id) => ({
  id,
  category: 'env',
  status: 'pass',
  severity: 'info',
  message: `${id} passed`,
  latencyMs: 12,
}));
const ISSUES = ['guardrails.output', 'evaluation.datasets', 'memory.ttl'].map((property) => ({
  severity: 'low' as const,
  property,
  description: `${property} is declared, but the agent has shown no evidence of it in the last 24 hours`,
  recommendation: `Report ${property} with the reporter, or remove it from the manifest`,
}));

/** The heartbeat of an agent with four checks, three issues, nine declared items and ten failed rules. */
function heartbeatOf({ name, seq }: SimulatedAgent, index: number, startedAt: string): string {
  const at = new Date().toISOString();
  const score = seq % CHANGES_EVERY === index % CHANGES_EVERY ? 82 : 88;
  const items = (['model', 'tool', 'guardrail'] as const).flatMap((kind) =>
    ['one', 'two', 'three'].map((item) => ({
      ...{ kind, name: `${kind}-${item}`, tier: 'observed' as const },
      ...{ shownBy: 'a request to the model, 4 seconds before the report', lastSeen: at },
    })),
  );
  return JSON.stringify(
    aHeartbeat({
      ...{ instance: `${name}-0`, seq, startedAt, sentAt: at, intervalSeconds: INTERVAL_SECONDS },
      health: {
        ...{ agentName: name, timestamp: at, checks: CHECKS },
        status: 'healthy',
        summary: { passed: CHECKS.length, failed: 0, warnings: 0, skipped: 0 },
      },
      gap: { score, grade: 'B', source: 'agent-sdk', issues: ISSUES },
      evidence: { shown: 9, declared: 9, reported: 0, items },
      audit: {
        ...{ declared: 71, proved: 40, suppressions: [] },
        failed: RULES.slice(0, 10).map(({ id }) => id),
      },
      totals: { tokensToday: 500 * seq, costTodayUsd: seq / 100 },
      outcomes: { allow: 12 * seq, deny: 0, failOpen: 0, notEvaluated: seq },
      policyMode: 'track',
      ...{ manifestHash: 'a'.repeat(64), sidecarVersion: '0.2.0' },
      model: { provider: 'openai', id: 'gpt-5' },
    }),
  );
}

export interface LoadResult {
  accepted: number;
  /** Responses other than 2xx and failed requests, by status or error. */
  errors: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  /** 99th percentile of the delay of this load generator, which is not part of the latencies. */
  lateMs: number;
}

/**
 * Sends the heartbeats of all agents, evenly spread over the interval and independent of the responses, in an order that is the
 * same in each interval.
 */
export async function load(
  agents: readonly SimulatedAgent[],
  endpoint: Endpoint,
  { seconds, startedAt }: { seconds: number; startedAt: string },
): Promise<LoadResult> {
  const [latencies, delays]: [number[], number[]] = [[], []];
  const errors: Record<string, number> = {};
  const beat = async (agent: SimulatedAgent, turn: number): Promise<void> => {
    agent.seq += 1;
    const body = heartbeatOf(agent, turn % agents.length, startedAt);
    const begin = performance.now();
    const result = await send(endpoint, '/api/v1/heartbeat', {
      ...{ headers: { authorization: `Bearer ${agent.bearer}` }, body },
    }).then(
      ({ status }) => (status === 200 || status === 204 ? null : String(status)),
      (error: Error & { code?: string }) => error.code ?? error.message,
    );
    if (result === null) latencies.push(performance.now() - begin);
    else errors[result] = (errors[result] ?? 0) + 1;
  };
  const gapMs = (1_000 * INTERVAL_SECONDS) / agents.length;
  const begin = performance.now();
  const open: Promise<void>[] = [];
  for (let turn = 0; turn * gapMs < 1_000 * seconds; turn += 1) {
    const due = begin + turn * gapMs;
    const early = due - performance.now();
    if (early > 0) await sleep(early);
    delays.push(performance.now() - due);
    const agent = agents[turn % agents.length];
    if (agent !== undefined) open.push(beat(agent, turn));
  }
  await Promise.all(open);
  return {
    accepted: latencies.length,
    errors,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    lateMs: quantile(delays, 0.99),
  };
}
