/**
 * Names of the providers, in the order in which the automatic selection tries them: subscription logins through the vendor's own
 * CLI, vendor API keys, then an OpenAI-compatible endpoint.
 */
export const PROVIDERS = [
  'claude-subscription',
  'codex-subscription',
  'anthropic-api',
  'openai-api',
  'openai-compatible',
] as const;

export type ProviderName = (typeof PROVIDERS)[number];

/** One request to a model: one response, no conversation. */
export interface CompletionRequest {
  /** Instructions. Only text of this project. */
  system: string;
  /** The task with its data. Text from users and agents is delimited, so that the model reads it as data. */
  prompt: string;
  /**
   * The response is one JSON object of this schema. Providers pass it to the vendor where the API accepts one; callers validate the
   * response in any case. Vendors accept only a schema whose objects have `additionalProperties: false` and list every property as
   * required; with another schema, the model gets the schema as text.
   */
  schema: { name: string; schema: Readonly<Record<string, unknown>> };
  /** Most tokens of the response. */
  maxTokens: number;
}

export interface CompletionOptions {
  /** Ends the request; the result then is a failure. */
  signal: AbortSignal;
  /** Receives the response piece by piece as it arrives. */
  onText?: (text: string) => void;
}

/** `text` is the response as received: not parsed, not validated. A failure has one sentence for the user, without any key. */
export type CompletionResult =
  | { ok: true; text: string; model: string; usage: { inputTokens: number; outputTokens: number } | null }
  | { ok: false; reason: string };

/** A model that responds to requests. Never rejects. */
export interface Provider {
  readonly name: ProviderName;
  /** Model that is requested; null: the vendor's CLI decides. */
  readonly model: string | null;
  complete(request: CompletionRequest, options: CompletionOptions): Promise<CompletionResult>;
}

/** Whether a provider can be used from this environment. The remedy is one imperative sentence. */
export type Readiness =
  | { ready: true; provider: Provider }
  | { ready: false; reason: string; remedy: string };

export const notReady = (reason: string, remedy: string): Readiness => ({ ready: false, reason, remedy });
