import type { EvaluatedSuppression } from '../../core/shapes/audit.ts';
import type { OutcomeCounts } from '../../core/shapes/outcomes.ts';
import type { EvidenceItem, EvidenceReport } from '../../core/shapes/evidence.ts';
import type { CheckStatus } from '../../core/facts/check.ts';
import type { CheckCategory, ItemKind } from '../../core/shapes/values.ts';
import type { Check } from '../../core/shapes/health.ts';
import { POINTS } from '../../core/gap/finding.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { gradeOf } from '../../core/shapes/grade.ts';
import { summaryOf } from '../../core/health/summarize.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import { aHeartbeat } from '../fleet/heartbeat.ts';
import {
  ASSISTANT_EGRESS,
  HELPER_EGRESS,
  LAPTOP_EGRESS,
  OLDER_EGRESS,
  RESEARCHER_EGRESS,
} from './egress-data.ts';

/** Hours of history before the present. */
export const HOURS = 24;
const HOUR_MS = 3_600_000;

/** One agent of the example fleet: what it reported in each hour, and what it reports now. */
export interface ExampleAgent {
  namespace: string;
  name: string;
  /** Registered with the admin key; else a workload of the cluster. */
  isRegistered?: true;
  /** Names of its instances, which share its tokens and requests equally. */
  instances: readonly string[];
  /** Differences from the manifest `hoursAgo`. */
  issues(hoursAgo: number): readonly Issue[];
  /** Its last heartbeat was so many hours ago; default 0. */
  silentHours?: number;
  tokensPerHour: number;
  usdPerMillionTokens?: number;
  /** Requests of one hour by result. */
  requestsPerHour: Partial<OutcomeCounts>;
  /** What is the same in all its heartbeats. */
  facts: Partial<Heartbeat>;
  /** What is different from `facts` until `before` hours ago. */
  earlier?: { before: number; facts: Partial<Heartbeat> };
}

/** When a heartbeat is sent. */
export interface Moment {
  at: Date;
  /** Whole hours before the present. */
  hoursAgo: number;
  /** Start of the sending process. */
  startedAt: Date;
}

/** The body of the heartbeat that an instance of the agent sends. */
export function heartbeatOf(agent: ExampleAgent, instance: string, moment: Moment): Heartbeat {
  const { at, hoursAgo, startedAt } = moment;
  const issues = [...agent.issues(hoursAgo)];
  const score = Math.max(0, 100 - issues.reduce((sum, { severity }) => sum + POINTS[severity], 0));
  const { facts, earlier } = agent;
  const all = { ...facts, ...(earlier !== undefined && hoursAgo >= earlier.before && earlier.facts) };
  const source = all.source ?? 'agent-sdk';
  const checks = all.health?.checks ?? [];
  // Since the start of the UTC day, at most as long as the history is.
  const hoursToday = Math.min(at.getUTCHours(), HOURS - hoursAgo) + 1;
  const tokensPerHour = shareOf(agent, agent.tokensPerHour);
  const tokensToday = tokensPerHour * hoursToday;
  return aHeartbeat({
    ...all,
    instance,
    seq: HOURS - hoursAgo + 1,
    // Long enough that no agent is late between two hours of its history.
    intervalSeconds: hoursAgo > (agent.silentHours ?? 0) ? 3600 : 30,
    sentAt: at.toISOString(),
    startedAt: startedAt.toISOString(),
    source,
    health: {
      agentName: agent.name,
      timestamp: at.toISOString(),
      status: all.health?.status ?? 'healthy',
      summary: summaryOf(checks),
      checks,
    },
    gap: { score, grade: gradeOf(score), source, issues },
    evidence: all.evidence
      ? { ...all.evidence, items: all.evidence.items.map((each) => seenAt(each, at)) }
      : null,
    usage: usageOf(tokensPerHour, all.model?.id, at),
    totals: {
      tokensToday,
      ...(agent.usdPerMillionTokens !== undefined && {
        costTodayUsd: (tokensToday * agent.usdPerMillionTokens) / 1e6,
      }),
    },
    outcomes: outcomesOf(agent, HOURS - hoursAgo + 1),
  });
}

const shareOf = ({ instances }: ExampleAgent, amount: number): number =>
  Math.round(amount / Math.max(1, instances.length));

function usageOf(tokensPerHour: number, model: string | undefined, at: Date): Heartbeat['usage'] {
  if (model === undefined) return null;
  const completionTokens = Math.round(tokensPerHour / 4);
  const promptTokens = tokensPerHour - completionTokens;
  const sum = { promptTokens, completionTokens, totalTokens: tokensPerHour };
  const windowStartedAt = new Date(at.getTime() - HOUR_MS).toISOString();
  const models = [{ modelId: model, ...sum, callCount: 40 }];
  return { windowStartedAt, models, totalTokens: tokensPerHour, totalCalls: 40 };
}

/** Cumulative since the start of the process. */
function outcomesOf(agent: ExampleAgent, hours: number): OutcomeCounts {
  const { allow = 0, deny = 0, failOpen = 0, notEvaluated = 0 } = agent.requestsPerHour;
  const total = (perHour: number): number => shareOf(agent, perHour) * hours;
  return {
    allow: total(allow),
    deny: total(deny),
    failOpen: total(failOpen),
    notEvaluated: total(notEvaluated),
  };
}

const seenAt = (each: EvidenceItem, at: Date): EvidenceItem =>
  each.tier === 'none' ? each : { ...each, lastSeen: at.toISOString() };

const item = (kind: ItemKind, name: string, tier: EvidenceItem['tier'], shownBy?: string): EvidenceItem => ({
  kind,
  name,
  tier,
  ...(shownBy !== undefined && { shownBy }),
});

function evidence(...items: readonly EvidenceItem[]): EvidenceReport {
  const reported = items.filter(({ tier }) => tier === 'reported').length;
  const none = items.filter(({ tier }) => tier === 'none').length;
  return { shown: items.length - none - reported / 2, declared: items.length, reported, items: [...items] };
}

const check = (category: CheckCategory, name: string, status: CheckStatus, message?: string): Check => ({
  id: `${category}:${name}`,
  category,
  status,
  severity: category === 'env' || category === 'model' ? 'error' : category === 'tool' ? 'info' : 'warning',
  ...(category === 'model' || category === 'service' ? { latencyMs: 42 } : {}),
  ...(message !== undefined && { message }),
});

const issue = (severity: Issue['severity'], property: string, text: [string, string]): Issue => ({
  severity,
  property,
  description: text[0],
  recommendation: text[1],
});

const health = (status: Heartbeat['health']['status'], ...checks: readonly Check[]): Heartbeat['health'] => ({
  agentName: '',
  timestamp: '2026-03-01T00:00:00.000Z',
  status,
  summary: { passed: 0, failed: 0, warnings: 0, skipped: 0 },
  checks: [...checks],
});

const PII_SKIPPED = issue('high', 'guardrails.input.pii-detector', [
  'The declared guardrail pii-detector was observed in 28 of the last 40 requests with behavioral data.',
  'Run pii-detector on every request and report it in X-Platform-Guardrails-Invoked, or remove it from spec.guardrails.input.',
]);
const NOT_EVALUATED = issue('low', 'evaluated', [
  'The manifest declares no evaluation, and there is no proof that one ran.',
  'Declare spec.evaluation, or submit the proof EVAL-01.',
]);
const DATABASE_REFUSED = issue('high', 'service:orders-db', [
  "The agent's check service:orders-db failed: connection refused.",
  'Start orders-db, or correct the address in spec.requires.services.',
]);
const TOOL_NOT_LISTED = issue('medium', 'discoverable.send_report', [
  'The tool send_report is declared, but GET /capabilities does not list it.',
  "List send_report in the agent's /capabilities, or remove it from spec.tools.",
]);
const NOT_DISCOVERABLE = issue('medium', 'discoverable', [
  'GET /capabilities on the agent returned 404, and GET /.well-known/agent-card.json returned no agent card.',
  "Return a 2xx status and the agent's tools as JSON for GET /capabilities on the agent's port.",
]);
const UNCONFIRMED: Issue = {
  ...issue('critical', 'policy.destructive_tool_without_confirmation', [
    'The policy engine denies the observed behavior: destructive_tool_without_confirmation.',
    'Ask the user before a destructive tool is called, and send X-Platform-User-Confirmed.',
  ]),
  source: 'policy',
};

const SUPPRESSION: EvaluatedSuppression = {
  rule: 'OBS-02',
  reason: 'Traces are sampled by the gateway until the collector is resized.',
  approvedBy: 'Dana Fischer, security',
  expires: '2026-04-30',
  state: 'active',
};
const EXPIRED_SUPPRESSION: EvaluatedSuppression = {
  rule: 'MEM-03',
  reason: 'Migration to the new vector store.',
  approvedBy: 'Dana Fischer, security',
  expires: '2026-02-15',
  state: 'expired',
};

const UNDECLARED_TOOL = issue('critical', 'tools.undeclared.delete_page', [
  'The egress lanes observed the tool delete_page, which the manifest does not declare: offered 390 times, called 3 times.',
  'Declare the tool in spec.tools or spec.egress.tools, or remove it from the agent.',
]);
const TOKENS_MISREPORTED = issue('medium', 'tokens.misreported', [
  'The agent reports 61,000 prompt and 20,400 completion tokens, and the egress lanes observed 83,200 prompt and 20,400 completion tokens in the same requests.',
  'Report the usage that the vendor returns, for every call of the agent.',
]);
const UNSEEN_EGRESS = issue('low', 'egress.unseen', [
  'The agent has connections that no lane, no declared host and no socket of the sidecar explains: 192.0.2.7:443.',
  'Declare the hosts in spec.egress.hosts, or send the calls through an egress lane.',
]);

const SIDECAR = { sidecarVersion: '0.2.0', policyMode: 'enforce', policyState: 'answered' } as const;

/** Nine agents: every grade and every phase, and each reason of the page Coverage that a fleet without operator can have. */
export const FLEET: readonly ExampleAgent[] = [
  {
    namespace: 'support',
    name: 'order-assistant',
    instances: [
      'order-assistant-6d9f7c-4xk2p',
      'order-assistant-6d9f7c-9vbl7',
      'order-assistant-6d9f7c-tq8mz',
    ],
    issues: (hoursAgo) => (hoursAgo > 9 ? [NOT_EVALUATED, TOOL_NOT_LISTED] : []),
    tokensPerHour: 41_200,
    usdPerMillionTokens: 3.1,
    requestsPerHour: { allow: 420, deny: 0 },
    facts: {
      ...SIDECAR,
      manifestHash: 'sha256:7d41b0c9a2',
      model: { provider: 'openai', id: 'gpt-5-mini' },
      egress: ASSISTANT_EGRESS,
      health: health(
        'healthy',
        check('model', 'openai/gpt-5-mini', 'pass'),
        check('env', 'OPENAI_API_KEY', 'pass'),
        check('service', 'orders-db', 'pass'),
        check('tool', 'lookup_order', 'pass'),
      ),
      evidence: evidence(
        item('model', 'gpt-5-mini', 'observed', 'usage in 1,260 responses'),
        item('tool', 'lookup_order', 'observed', 'X-Platform-Tools-Called of 812 requests'),
        item('tool', 'create_refund', 'observed', 'X-Platform-Tools-Called of 64 requests'),
        item(
          'guardrail',
          'input.pii-detector',
          'observed',
          'X-Platform-Guardrails-Invoked of 1,260 requests',
        ),
        item('service', 'orders-db', 'probed', 'TCP connection from the sidecar'),
        item('budget', 'maxTokensPerDay', 'observed', '618,000 of 2,000,000 tokens today'),
        item('evaluation', 'datasets', 'reported', 'the report of the agent'),
      ),
      audit: { declared: 92, proved: 61, failed: ['OBS-02', 'MEM-03'], suppressions: [SUPPRESSION] },
    },
    earlier: { before: 10, facts: { manifestHash: 'sha256:19ce52aa04', sidecarVersion: '0.1.0' } },
  },
  {
    namespace: 'support',
    name: 'refund-helper',
    instances: ['refund-helper-5b8c9d-hw2nn'],
    issues: (hoursAgo) => (hoursAgo > 3 ? [NOT_EVALUATED] : [PII_SKIPPED]),
    tokensPerHour: 12_450,
    usdPerMillionTokens: 3.1,
    requestsPerHour: { allow: 110, deny: 4 },
    facts: {
      ...SIDECAR,
      manifestHash: 'sha256:b0aa7715e3',
      egress: HELPER_EGRESS,
      model: { provider: 'openai', id: 'gpt-5-mini' },
      health: health(
        'healthy',
        check('model', 'openai/gpt-5-mini', 'pass'),
        check('env', 'OPENAI_API_KEY', 'pass'),
        check('service', 'payments-api', 'pass'),
        check('tool', 'create_refund', 'pass'),
      ),
      evidence: evidence(
        item('model', 'gpt-5-mini', 'observed', 'usage in 330 responses'),
        item('tool', 'create_refund', 'observed', 'X-Platform-Tools-Called of 96 requests'),
        item('guardrail', 'input.pii-detector', 'observed', 'X-Platform-Guardrails-Invoked of 231 requests'),
        item('guardrail', 'output.toxicity-filter', 'none'),
        item('service', 'payments-api', 'probed', 'TLS handshake from the sidecar'),
        item('budget', 'maxTokensPerDay', 'observed', '186,750 of 500,000 tokens today'),
      ),
      audit: {
        declared: 78,
        proved: 44,
        failed: ['SEC-LLM-02', 'EVAL-02'],
        suppressions: [EXPIRED_SUPPRESSION],
      },
    },
  },
  {
    namespace: 'support',
    name: 'faq-bot',
    instances: ['faq-bot-7f5d4b-2c6qd'],
    issues: () => [],
    tokensPerHour: 3_900,
    requestsPerHour: { notEvaluated: 65 },
    facts: {
      sidecarVersion: '0.2.0',
      policyMode: 'track',
      policyState: 'not-loaded',
      source: 'manifest-static',
      manifestHash: 'sha256:4402d6be18',
      model: { provider: 'openai', id: 'gpt-5-nano' },
      health: health('healthy', check('model', 'openai/gpt-5-nano', 'skip', 'no reporter')),
      evidence: evidence(
        item('model', 'gpt-5-nano', 'observed', 'usage in 195 responses'),
        item('tool', 'search_articles', 'none'),
        item('guardrail', 'input.topic-filter', 'none'),
        item('mcp', 'knowledge-base', 'none'),
      ),
      audit: { declared: 64, proved: 12, failed: ['SEC-LLM-02', 'MODEL-04', 'OBS-02'], suppressions: [] },
    },
  },
  {
    namespace: 'finance',
    name: 'invoice-reader',
    instances: ['invoice-reader-68b4f6-kz5tx', 'invoice-reader-68b4f6-r7d2g'],
    issues: (hoursAgo) =>
      hoursAgo > 6 ? [NOT_EVALUATED] : [DATABASE_REFUSED, NOT_EVALUATED, TOOL_NOT_LISTED],
    tokensPerHour: 88_300,
    usdPerMillionTokens: 9,
    requestsPerHour: { allow: 96, failOpen: 14 },
    facts: {
      ...SIDECAR,
      policyMode: 'track',
      manifestHash: 'sha256:e91bb4270f',
      model: { provider: 'anthropic', id: 'claude-sonnet-5' },
      health: health(
        'degraded',
        check('model', 'anthropic/claude-sonnet-5', 'pass'),
        check('env', 'ANTHROPIC_API_KEY', 'pass'),
        check('service', 'orders-db', 'fail', 'connection refused'),
        check('tool', 'extract_total', 'pass'),
        check('tool', 'send_report', 'skip', 'no check configured'),
      ),
      evidence: evidence(
        item('model', 'claude-sonnet-5', 'observed', 'usage in 288 responses'),
        item('tool', 'extract_total', 'observed', 'X-Platform-Tools-Called of 280 requests'),
        item('tool', 'send_report', 'none'),
        item('guardrail', 'input.pii-detector', 'observed', 'X-Platform-Guardrails-Invoked of 288 requests'),
        {
          ...item('service', 'orders-db', 'none'),
          contradictedBy: 'sidecar probe: connection refused',
        },
        item('memory', 'redis', 'reported', '`memory` event with this backend'),
      ),
      audit: { declared: 70, proved: 38, failed: ['EVAL-01', 'EVAL-02', 'MEM-03'], suppressions: [] },
    },
    earlier: {
      before: 7,
      facts: { health: health('healthy', check('model', 'anthropic/claude-sonnet-5', 'pass')) },
    },
  },
  {
    namespace: 'finance',
    name: 'expense-auditor',
    instances: ['expense-auditor-7c9d8b-m4f6w'],
    issues: () => [NOT_EVALUATED],
    tokensPerHour: 22_700,
    usdPerMillionTokens: 9,
    requestsPerHour: { allow: 74 },
    facts: {
      ...SIDECAR,
      manifestHash: 'sha256:55d0a1f3c8',
      egress: OLDER_EGRESS,
      model: { provider: 'anthropic', id: 'claude-sonnet-5' },
      health: health('healthy', check('model', 'anthropic/claude-sonnet-5', 'pass')),
      evidence: evidence(
        item('model', 'claude-sonnet-5', 'observed', 'usage in 222 responses'),
        item('guardrail', 'input.pii-detector', 'observed', 'X-Platform-Guardrails-Invoked of 222 requests'),
        item('evaluation', 'datasets', 'none'),
      ),
      audit: { declared: 88, proved: 52, failed: ['EVAL-01'], suppressions: [] },
    },
  },
  {
    namespace: 'research',
    name: 'web-researcher',
    instances: ['web-researcher-59d7c4-x8p9s'],
    issues: (hoursAgo) =>
      hoursAgo > 14
        ? [PII_SKIPPED]
        : [
            UNCONFIRMED,
            UNDECLARED_TOOL,
            PII_SKIPPED,
            TOKENS_MISREPORTED,
            TOOL_NOT_LISTED,
            NOT_EVALUATED,
            UNSEEN_EGRESS,
          ],
    tokensPerHour: 154_000,
    usdPerMillionTokens: 15,
    requestsPerHour: { allow: 130, deny: 21 },
    facts: {
      ...SIDECAR,
      manifestHash: 'sha256:0c6f2eda91',
      model: { provider: 'openai', id: 'gpt-5' },
      egress: RESEARCHER_EGRESS,
      health: health(
        'unhealthy',
        check('model', 'openai/gpt-5', 'fail', 'HTTP 429'),
        check('env', 'OPENAI_API_KEY', 'pass'),
        check('tool', 'send_report', 'fail', 'not implemented'),
      ),
      evidence: evidence(
        item('model', 'gpt-5', 'observed', 'usage in 390 responses'),
        item('tool', 'browse', 'observed', 'X-Platform-Tools-Called of 377 requests'),
        item('tool', 'send_report', 'none'),
        item('guardrail', 'input.prompt-injection', 'reported', 'the report of the agent'),
        item('mcp', 'browser', 'probed', 'MCP handshake from the sidecar'),
      ),
      audit: { declared: 48, proved: 20, failed: ['SEC-LLM-01', 'SEC-LLM-08', 'EVAL-01'], suppressions: [] },
    },
  },
  {
    namespace: 'research',
    name: 'summarizer',
    instances: ['summarizer-6c5b7f-j3h8v'],
    issues: () => [NOT_EVALUATED],
    silentHours: 5,
    tokensPerHour: 6_100,
    requestsPerHour: { allow: 31 },
    facts: {
      ...SIDECAR,
      manifestHash: 'sha256:aa8842c07b',
      model: { provider: 'mistral', id: 'mistral-large' },
      health: health('healthy', check('model', 'mistral/mistral-large', 'pass')),
      evidence: evidence(item('model', 'mistral-large', 'observed', 'usage in 93 responses')),
      audit: { declared: 81, proved: 33, failed: ['OBS-02'], suppressions: [] },
    },
  },
  {
    namespace: 'platform-remote',
    name: 'laptop-agent',
    isRegistered: true,
    instances: ['dev-laptop'],
    issues: () => [PII_SKIPPED, NOT_DISCOVERABLE, TOOL_NOT_LISTED, NOT_EVALUATED],
    tokensPerHour: 900,
    requestsPerHour: { allow: 12, failOpen: 9 },
    facts: {
      ...SIDECAR,
      policyMode: 'track',
      manifestHash: 'sha256:3f5e70b6dd',
      egress: LAPTOP_EGRESS,
      model: { provider: 'ollama', id: 'llama3.3' },
      health: health('healthy', check('model', 'ollama/llama3.3', 'pass')),
      evidence: evidence(
        item('model', 'llama3.3', 'observed', 'usage in 36 responses'),
        item('tool', 'send_report', 'none'),
        item('guardrail', 'input.pii-detector', 'observed', 'X-Platform-Guardrails-Invoked of 20 requests'),
      ),
      audit: { declared: 66, proved: 29, failed: ['EVAL-01', 'OBS-02'], suppressions: [] },
    },
  },
  {
    namespace: 'platform-remote',
    name: 'new-agent',
    isRegistered: true,
    instances: [],
    issues: () => [],
    tokensPerHour: 0,
    requestsPerHour: {},
    facts: {},
  },
];
