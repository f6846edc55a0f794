import type { Manifest } from '../../core/manifest/manifest.ts';

/** The members of a manifest type that may be sent; `values`: a map whose keys are free. */
type Sent<T> = T extends readonly (infer Item)[]
  ? Sent<Item>
  : T extends object
    ? string extends keyof T
      ? 'values'
      : { readonly [K in keyof T]?: Sent<NonNullable<T[K]>> }
    : true;

/** `true`: a scalar, or a list of scalars. An object applies to each item of a list. */
export type SentShape = true | 'values' | { readonly [member: string]: SentShape | undefined };

/**
 * The fields of the manifest that the vendor of the LLM receives; docs/guide/llm-analysis.md lists them. No other field is sent:
 * no key, prompt, address, connection or command, and no path except the modules of custom guardrails.
 */
export const SENT_FIELDS = {
  metadata: { name: true, description: true, tags: true },
  spec: {
    model: {
      provider: true,
      id: true,
      parameters: { temperature: true, maxTokens: true },
      fallback: { provider: true, id: true, triggerOn: true, maxRetries: true },
      costControls: { maxMonthlyUSD: true, alertAtUSD: true, maxTokensPerDay: true },
    },
    tools: {
      name: true,
      type: true,
      description: true,
      annotations: { readOnlyHint: true, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    },
    mcp: { servers: { name: true, transport: true } },
    memory: {
      backend: true,
      shortTerm: { backend: true, maxTurns: true, maxTokens: true, ttlSeconds: true },
      longTerm: { backend: true, ttlDays: true },
      vector: { backend: true, topK: true },
      hygiene: { piiScrubFields: true, auditLog: true, retentionPolicy: true },
    },
    requires: { envVars: true, services: { name: true, type: true, critical: true } },
    guardrails: { input: guardrail(), output: guardrail() },
    evaluation: {
      framework: true,
      datasets: { name: true, metrics: true },
      metrics: true,
      thresholds: 'values',
      ciGate: true,
    },
    observability: {
      tracing: { backend: true, sampleRate: true },
      metrics: { backend: true },
      logging: { level: true, structured: true, redactFields: true },
    },
    compliance: { packs: true, suppressions: { rule: true, reason: true, expires: true } },
    api: {
      type: true,
      auth: { type: true },
      rateLimit: { requestsPerMinute: true, requestsPerHour: true },
      streaming: true,
    },
    subagents: { name: true, invocation: true, passContext: true, triggerKeywords: true },
    skills: { id: true, version: true },
    humanInTheLoop: { enabled: true, approvalRequired: true, timeoutSeconds: true, timeoutAction: true },
  },
} as const satisfies Sent<Manifest>;

function guardrail() {
  return {
    type: true,
    action: true,
    threshold: true,
    blockedTopics: true,
    fields: true,
    sensitivity: true,
    module: true,
    function: true,
  } as const;
}
