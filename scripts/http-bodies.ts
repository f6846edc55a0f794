import { eventBatch, parseEventBatch } from '../core/shapes/events.ts';
import { readHealthReport } from '../core/health/parse-health-report.ts';
import { ownHealthReport, healthReport } from '../core/shapes/health.ts';
import { parseHeartbeat } from '../core/observation/parse-heartbeat.ts';
import { heartbeatBody } from '../core/shapes/heartbeat.ts';
import type { JsonSchema } from '../core/untrusted/json-schema.ts';
import { parseProofSubmission } from '../core/evidence/parse-proof.ts';
import { proofSubmission } from '../core/shapes/proof.ts';
import { parseWith, type Parsed } from '../core/shapes/field.ts';
import { usageReport } from '../core/shapes/usage.ts';
import { registrationBody } from '../core/shapes/registration.ts';
import { parseRegistration } from '../control-plane/registration/parse-registration.ts';

export interface HttpBody {
  title: string;
  about: string;
  /** A body with every member, which the parser accepts. */
  example: Readonly<Record<string, unknown>>;
  parse: (value: unknown) => Parsed<unknown>;
  /** Of what the parser accepts. */
  schema: JsonSchema;
  /** Of what the parser returns; it describes the members that are not read. */
  returns?: JsonSchema;
}

/** The name of the schema file. */
export const slugOf = (title: string): string => title.toLowerCase().replaceAll(' ', '-');

const AT = '2026-11-21T08:30:00.000Z';
const WINDOW = {
  windowStartedAt: '2026-11-21T08:29:30.000Z',
  models: [
    {
      modelId: 'gpt-4o-mini',
      promptTokens: 230,
      completionTokens: 150,
      totalTokens: 380,
      callCount: 10,
    },
  ],
  totalTokens: 380,
  totalCalls: 10,
};
const CHECK = {
  id: 'service:orders-db',
  category: 'service',
  status: 'fail',
  severity: 'error',
  latencyMs: 12,
  message: 'connection refused',
  remediation: 'start the database',
};
const HEALTH = {
  agentName: 'shop',
  timestamp: AT,
  status: 'unhealthy',
  summary: { passed: 0, failed: 1, warnings: 0, skipped: 0 },
  checks: [CHECK],
};
const HEARTBEAT = {
  version: 1,
  instance: 'shop-7c9d8f6b5-x2x4z',
  seq: 42,
  intervalSeconds: 30,
  sentAt: AT,
  source: 'agent-sdk',
  health: HEALTH,
  gap: {
    score: 85,
    grade: 'B',
    source: 'agent-sdk',
    issues: [
      {
        severity: 'high',
        property: 'policy.pii_detected',
        description: 'A response contained personal data.',
        recommendation: 'Add the guardrail pii-detector.',
        message: 'A response contained personal data.',
        source: 'policy',
      },
    ],
  },
  scoreWithoutLocalProofs: 85,
  evidence: {
    shown: 1,
    declared: 2,
    reported: 0,
    shownWithoutLocalProofs: 1,
    items: [
      {
        kind: 'tool',
        name: 'search',
        tier: 'observed',
        shownBy: 'a request',
        lastSeen: AT,
        contradictedBy: 'the tool is not registered',
      },
    ],
  },
  audit: {
    declared: 90,
    proved: 70,
    failed: ['SEC-LLM-01'],
    suppressions: [
      {
        rule: 'SEC-LLM-04',
        reason: 'accepted',
        approvedBy: 'security@example.com',
        expires: '2027-01-31',
        state: 'active',
      },
    ],
  },
  auditLog: {
    chain: 'shop-7d9f-x2/mj0abc12',
    sequence: 412,
    head: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    at: AT,
    written: 412,
    dropped: 0,
    failures: 0,
  },
  egress: {
    lanes: ['openai'],
    calls: 40,
    models: ['gpt-4o-mini'],
    tools: ['search', 'delete_all_orders'],
    undeclared: 1,
    undeclaredNames: ['tool delete_all_orders'],
    neverSeen: 0,
    misreported: 0,
    unseenEgress: 0,
    unexplainedOpens: 2,
  },
  proof: [
    {
      ruleId: 'EVAL-01',
      origin: 'control-plane',
      verifiedBy: 'ci',
      method: 'deepeval run 17',
      verifiedAt: AT,
      expiresAt: '2027-01-31T00:00:00.000Z',
    },
  ],
  proofRevision: 3,
  usage: WINDOW,
  totals: { tokensToday: 12_000, costTodayUsd: 0.04 },
  outcomes: { allow: 900, deny: 3, failOpen: 0, notEvaluated: 20 },
  failOpenSeconds: 0,
  policyMode: 'enforce',
  denials: [],
  policyState: 'answered',
  manifestHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  model: { provider: 'openai', id: 'gpt-4o-mini' },
  sidecarVersion: '0.2.0',
  startedAt: '2026-11-21T08:00:00.000Z',
};
const MANIFEST = `apiVersion: platform.io/v1
kind: PlatformAgent
metadata: { name: shop, version: 1.0.0, description: Answers questions about orders. }
spec:
  model: { provider: openai, id: gpt-4o-mini, apiKey: $env:OPENAI_API_KEY }
`;

/** The bodies that another program can send to the product, or serve for it. */
export const HTTP_BODIES: readonly HttpBody[] = [
  {
    title: 'Health report',
    about:
      'The response of the agent to `GET /platform/health`, which the sidecar requests ([integrate an agent](../guide/agent.md#health-report-in-another-language)). `agentName` must be the name in the manifest, and `timestamp` at most 120 s old and at most 60 s in the future. The whole report is ignored if one value is invalid.',
    example: HEALTH,
    parse: readHealthReport,
    schema: ownHealthReport.schema,
    returns: healthReport.returns,
  },
  {
    title: 'Usage report',
    about:
      'The response of the agent to `GET /platform/usage`, which the sidecar requests. The whole report is ignored if one value is invalid, or if the totals are not the sums over the models. Only the first 100 models are shown.',
    example: { source: 'agent-sdk', ...WINDOW },
    parse: (value) => parseWith(usageReport, value),
    schema: usageReport.schema,
  },
  {
    title: 'Events',
    about:
      'The body of `POST /events` on the control port of the sidecar, at most 64 KiB ([integrate an agent](../guide/agent.md#events)). An event has the members of its `type`. An invalid batch is rejected with 400 and no event is recorded.',
    example: {
      requestId: 'c938296a-dc19-4091-ab5e-f4010596ce81',
      agentName: 'shop',
      events: [
        { type: 'guardrail', guardrailType: 'pii-detector', invoked: true, blocked: false, score: 0.1 },
        { type: 'tool', name: 'search', success: true, latencyMs: 12 },
        { type: 'model', modelId: 'gpt-4o-mini', promptTokens: 23, completionTokens: 15 },
        { type: 'memory', backend: 'redis', ttlSeconds: 3600, piiScrubbed: true },
      ],
    },
    parse: parseEventBatch,
    schema: eventBatch.schema,
  },
  {
    title: 'Registration',
    about:
      'The body of `POST /api/v1/register` on the control plane, at most 256 KiB. The header `X-Admin-Key` is required. The response is `{agentId, apiKey, expiresAt}`.',
    example: { agentName: 'shop', runtime: 'docker', manifest: MANIFEST },
    parse: parseRegistration,
    schema: registrationBody.schema,
  },
  {
    title: 'Proof',
    about:
      'The body of `POST /proof/rule/{ruleId}` on the control port of the sidecar, at most 16 KiB, and of `POST /api/v1/agents/{name}/proof/rule/{ruleId}` on the control plane, at most 32 KiB.',
    example: { verifiedBy: 'ci', method: 'deepeval run 17', expiresAt: '2027-01-31T00:00:00.000Z' },
    parse: (value) => {
      const parsed = parseProofSubmission(value, new Date(AT));
      return parsed.ok ? { ok: true, value: parsed.submission } : parsed;
    },
    schema: proofSubmission.schema,
  },
  {
    title: 'Heartbeat',
    about:
      'The body of `POST /api/v1/heartbeat` on the control plane, at most 64 KiB. Only `health` and `gap` are required; `null` means the same as an absent member. The header `Authorization: Bearer` decides which agent sends. The response is 204, or 200 with `{proof?, proofRevision?, othersToday?, intervalSeconds?}`; `othersToday` is `{tokens, costUsd}` of the other instances.',
    example: HEARTBEAT,
    parse: (value) => {
      const parsed = parseHeartbeat(value, { agentName: 'shop', at: new Date(AT) });
      return parsed.ok ? { ok: true, value: parsed.heartbeat } : parsed;
    },
    schema: heartbeatBody.schema,
    returns: heartbeatBody.returns,
  },
];
