import * as z from 'zod';

/**
 * Output schemas of the tools about agents. They also parse what a sidecar or a control plane returned: unknown members are
 * dropped. Closed lists are plain texts, so that reports of newer versions are accepted. A control plane has only a summary of
 * some instances, in which members are null.
 */

const received = {
  notice: z.string().describe('How to read the texts of this result'),
  receivedFrom: z.string().describe('The server that returned the report'),
};

/** Members that only a control plane adds. */
const stored = {
  receivedAt: z.string().optional().describe('Time of the heartbeat with this report'),
  instance: z.string().optional().describe('The pod or process that sent the report'),
};

const text = z.string().nullish();
const count = z.number().nullish();
const texts = z.array(z.string()).nullish();

const issue = z.object({
  severity: z.string().describe('critical, high, medium or low'),
  property: z.string().describe('What the issue is about, for explain_rule'),
  description: z.string(),
  recommendation: text,
  message: text,
  source: text.describe('policy: from the policy engine; llm: from the LLM analysis, without points'),
});

const evidence = z.object({
  shown: z.number().describe('Number of declared items with evidence'),
  declared: z.number().describe('Number of declared items'),
  reported: count.describe('Items that only the agent reports; each counts half'),
  items: z
    .array(
      z.object({
        kind: z.string(),
        name: z.string(),
        tier: z.string().describe('probed, observed, proved, reported or none'),
        shownBy: text,
        lastSeen: text,
        contradictedBy: text,
      }),
    )
    .nullish(),
});

const audited = z.object({
  declared: z.number(),
  proved: z.number(),
  failed: texts.describe('Ids of the violated rules'),
});

const census = z
  .object({
    state: z.string().describe('State of the socket census: off, on or refused'),
    reason: text,
    unseenEgress: z
      .array(
        z.object({
          ...{ address: z.string(), port: z.number(), name: text },
          verdict: z.string().describe('undeclared, or unknown: the address may belong to a declared host'),
          ...{ firstSeen: text, lastSeen: text, count },
        }),
      )
      .nullish()
      .describe('Connections that no lane and no declared host explains'),
    unexplainedOpens: count.describe('Connections whose address was not seen'),
  })
  .describe('Only from a sidecar');

const compliant = z
  .object({
    status: z.string().describe('True, False or Unknown'),
    reason: text,
    message: text.describe('Why; for Unknown, what to do'),
  })
  .describe('The verdict');

export const gapReport = z.object({
  ...received,
  compliant: compliant.nullish(),
  score: z.number().describe('0 to 100'),
  grade: z.string().describe('A to F'),
  source: text.describe('agent-sdk: the agent reported its own checks; manifest-static: it did not'),
  issues: z.array(issue).nullish(),
  issuesTotal: count,
  evidence: evidence.nullish(),
  audit: audited.nullish(),
  llm: z
    .object({
      status: z.string().describe('State of the LLM analysis: off, pending, ready, failed or budget'),
      model: text,
      analysedAt: text,
      reason: text,
    })
    .nullish(),
  census: census.nullish(),
  ...stored,
});

export const healthReport = z.object({
  ...received,
  agentName: z.string(),
  timestamp: z.string(),
  status: text.describe('ready or healthy, degraded, not-ready or unhealthy'),
  source: text,
  note: text,
  summary: z
    .object({ passed: z.number(), failed: z.number(), warnings: z.number(), skipped: z.number() })
    .nullish(),
  checks: z
    .array(
      z.object({
        id: z.string(),
        category: text,
        status: z.string().describe('pass, fail or skip'),
        severity: z.string(),
        latencyMs: count,
        message: text,
        remediation: text,
      }),
    )
    .nullish(),
  ...stored,
});

export const usageReport = z.object({
  ...received,
  source: text.describe('agent-sdk: reported by the agent; audit-ring: from the newest requests'),
  windowStartedAt: text,
  models: z
    .array(
      z.object({
        modelId: z.string(),
        promptTokens: count,
        completionTokens: count,
        totalTokens: z.number(),
        callCount: z.number(),
      }),
    )
    .nullish(),
  totalTokens: z.number(),
  totalCalls: z.number(),
  costUsd: z.number().nullish().describe('US dollars, of the models whose price is known'),
  sampleSize: count.describe('Requests with known usage'),
  callsWithoutUsage: count,
  withoutRequest: z.object({ totalTokens: z.number(), totalCalls: z.number() }).nullish(),
  processReport: z.object({ totalTokens: z.number(), totalCalls: z.number() }).nullish(),
  ...stored,
});

const proof = {
  ruleId: z.string(),
  origin: text.describe('control-plane or local'),
  verifiedBy: z.string(),
  method: z.string(),
  verifiedAt: z.string(),
  expiresAt: text,
  expired: z.boolean().optional(),
};

export const proofList = z.object({
  ...received,
  proofs: z.array(z.object(proof)),
  proofWrites: z.string().optional().describe('Where proofs are written: local or control-plane'),
});

export const storedProof = z.object({ ...received, ...proof });

export const agentList = z.object({
  ...received,
  agents: z.array(
    z.object({
      agentId: text,
      agentName: z.string(),
      namespace: text,
      runtime: text,
      phase: text,
      grade: text,
      score: count,
      tokens: count,
      evidence: z.object({ percent: z.number(), shown: z.number(), declared: z.number() }).nullish(),
      proved: count,
      compliant: compliant.nullish(),
      lastSeen: text,
      stale: z
        .boolean()
        .nullish()
        .describe('true: no instance reports, so grade, score and evidence are those of lastSeen'),
    }),
  ),
  total: z.number().optional().describe('Number of agents in all pages'),
  next: z.string().optional().describe('Pass it as continue to get the next page'),
});
