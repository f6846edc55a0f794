/**
 * The parsed, valid manifest (`agent.yaml`). References are not resolved yet.
 * The JSON Schema (agent.schema.json) describes the same structure. Only parse-manifest.ts creates values of this type.
 */
export interface Manifest {
  apiVersion: 'platform.io/v1';
  kind: 'PlatformAgent';
  metadata: {
    name: string;
    version: string;
    description: string;
    tags?: string[];
    author?: string;
    license?: string;
  };
  spec: ManifestSpec;
}

export interface ManifestSpec {
  model: Model;
  prompts?: {
    system?: string;
    fallback?: string;
    hotReload?: boolean;
    variables?: { name: string; value: string }[];
  };
  tools?: Tool[];
  mcp?: { servers?: McpServer[] };
  egress?: Egress;
  memory?: Memory;
  requires?: Requires;
  guardrails?: { input?: Guardrail[]; output?: Guardrail[] };
  evaluation?: Evaluation;
  observability?: Observability;
  compliance?: { packs?: string[]; suppressions?: Suppression[]; auditSchedule?: string };
  api?: Api;
  subagents?: Subagent[];
  skills?: { id: string; version?: string }[];
  humanInTheLoop?: HumanInTheLoop;
}

export interface Model {
  provider: string;
  id: string;
  apiKey: string;
  parameters?: {
    temperature?: number;
    maxTokens?: number;
    topP?: number;
    frequencyPenalty?: number;
    presencePenalty?: number;
  };
  fallback?: {
    provider: string;
    id: string;
    apiKey: string;
    triggerOn?: ('rate_limit' | 'timeout' | 'error_5xx' | 'error_4xx')[];
    maxRetries?: number;
  };
  costControls?: {
    maxMonthlyUSD?: number;
    alertAtUSD?: number;
    maxTokensPerDay?: number;
    /** `tokenPriceOf` returns the price if both values are declared. */
    usdPerMillionTokens?: { input?: number; output?: number };
  };
  /** By model id. */
  prices?: Record<string, ModelPrice>;
}

/** US dollars per million tokens. `cachedInput` and `cacheWrite` are `input` if absent. */
export interface ModelPrice {
  input: number;
  output: number;
  cachedInput?: number;
  cacheWrite?: number;
}

export interface Tool {
  name: string;
  type?: 'function' | 'mcp' | 'builtin';
  description?: string;
  module?: string;
  function?: string;
  annotations?: {
    readOnlyHint?: boolean;
    destructiveHint?: boolean;
    idempotentHint?: boolean;
    openWorldHint?: boolean;
  };
  /** JSON Schema of the arguments, with the keywords of constraint-problems.ts. */
  constraints?: Record<string, unknown>;
}

/** What the agent may use in addition to the other declarations. */
export interface Egress {
  /** Host names, IP addresses, and `*.<domain>`. */
  hosts?: string[];
  /** Names, and starts of names followed by `*`. */
  tools?: string[];
  models?: string[];
}

export interface McpServer {
  name: string;
  transport?: 'stdio' | 'sse' | 'http';
  host?: string;
  port?: number;
  url?: string;
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  healthCheck?: { timeoutSeconds?: number };
}

export interface Memory {
  backend?: string;
  shortTerm?: {
    backend?: string;
    maxTurns?: number;
    maxTokens?: number;
    ttlSeconds?: number;
    connection?: string;
  };
  longTerm?: { backend: string; connectionString?: string; table?: string; ttlDays?: number };
  vector?: {
    backend: string;
    connectionString?: string;
    apiKey?: string;
    dimension?: number;
    topK?: number;
    namespace?: string;
  };
  hygiene?: { piiScrubFields?: string[]; auditLog?: boolean; retentionPolicy?: string };
}

export interface Requires {
  envVars?: string[];
  services?: RequiredService[];
  minimumMemoryMB?: number;
  nodeVersion?: string;
  pythonVersion?: string;
}

export interface RequiredService {
  /** Default: its type. `serviceNameOf` gives the effective name. */
  name?: string;
  type?: string;
  /** `host:port` or a connection URL. */
  address?: string;
  critical?: boolean;
}

export type GuardrailType =
  | 'topic-filter'
  | 'pii-detector'
  | 'prompt-injection'
  | 'hallucination-detector'
  | 'toxicity-filter'
  | 'custom';

export interface Guardrail {
  type: GuardrailType;
  action?: string;
  threshold?: number;
  blockedTopics?: string[];
  fields?: string[];
  sensitivity?: string;
  module?: string;
  function?: string;
  maxRetries?: number;
  message?: string;
}

export interface Evaluation {
  framework?: string;
  datasets?: { name: string; path: string; metrics?: string[] }[];
  metrics?: string[];
  thresholds?: Record<string, number>;
  ciGate?: boolean;
}

export interface Observability {
  tracing?: {
    backend: string;
    endpoint?: string;
    publicKey?: string;
    secretKey?: string;
    sampleRate?: number;
  };
  metrics?: { backend: string; endpoint?: string; serviceName?: string };
  logging?: { level?: string; structured?: boolean; redactFields?: string[] };
}

export interface Suppression {
  rule: string;
  reason: string;
  approvedBy?: string;
  expires?: string;
}

export interface Api {
  type?: 'rest' | 'mcp' | 'websocket';
  port?: number;
  pathPrefix?: string;
  url?: string;
  a2a?: { protocolBinding: 'JSONRPC' | 'HTTP+JSON'; path?: string; protocolVersion?: '1.0' | '0.3' };
  auth?: { type?: 'jwt' | 'apikey' | 'oauth2' | 'none'; jwksUri?: string; header?: string };
  rateLimit?: { requestsPerMinute?: number; requestsPerHour?: number };
  streaming?: boolean;
  healthEndpoint?: string;
  capabilitiesEndpoint?: string;
  metricsEndpoint?: string;
  corsOrigins?: string[];
  chatEndpoint?: { path?: string; protocol?: 'openai-compatible' | 'custom' };
}

export interface Subagent {
  name: string;
  ref:
    | { manifest: string }
    | { a2a: { url: string; auth?: { type?: string; token?: string; header?: string } } };
  invocation?: 'parallel' | 'sequential' | 'on-demand';
  passContext?: boolean;
  triggerKeywords?: string[];
}

export interface HumanInTheLoop {
  enabled?: boolean;
  approvalRequired?: string[];
  timeoutSeconds?: number;
  timeoutAction?: string;
  notifyVia?: string[];
  webhookUrl?: string;
}

/** One problem of a manifest file: its position, a message, and optionally the key or value that was probably meant. */
export interface ManifestProblem {
  /** Manifest path, for example `spec.tools[0].name`; empty for the document itself. */
  path: string;
  message: string;
  /** 1-based. */
  line: number;
  /** 1-based. */
  column: number;
  suggestion?: string;
}

export type ParsedManifest =
  | { ok: true; manifest: Manifest }
  /** `warnings`: the secrets in a file that has problems as well. */
  | { ok: false; problems: ManifestProblem[]; warnings?: ManifestProblem[] };

/** The default paths of the agent's endpoints, for a manifest that declares no path. */
export const DEFAULT_PATHS = { health: '/health', capabilities: '/capabilities' } as const;
