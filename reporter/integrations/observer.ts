import type { PolicyFacts } from '../policy-facts.ts';
import type { GuardrailDetails, RequestBehavior, ToolDetails } from '../request-behavior.ts';

/** The part of a `Reporter` that the integrations use. */
export interface ObservingReporter {
  behavior(): RequestBehavior;
  checkPolicy(facts?: PolicyFacts): Promise<void>;
}

export interface IntegrationOptions {
  /** Evaluates the policy before each model call. The application gets the `PolicyDeniedError`. Default false. */
  checkPolicy?: boolean;
  /**
   * Which tools, nodes or processors of the framework are guardrails, by name: a list of types, or an object with the framework's
   * names as keys and the types of the manifest as values.
   */
  guardrails?: readonly string[] | Readonly<Record<string, string>>;
}

/** Token counts in the forms of the frameworks; undefined: unknown. */
export interface Usage {
  promptTokens: unknown;
  completionTokens: unknown;
}

/**
 * What the integrations share. Reads and reports never throw, because an agent must not fail because it is observed. Only
 * `beforeModel` rejects, and only with a decision of the policy.
 */
export class Observer {
  readonly #reporter: ObservingReporter;
  readonly #options: IntegrationOptions;
  readonly #guardrails: ReadonlyMap<string, string>;

  constructor(reporter: ObservingReporter, options: IntegrationOptions = {}) {
    this.#reporter = reporter;
    this.#options = options;
    this.#guardrails = guardrailNames(options.guardrails);
  }

  /** The behavior of the current request. Take it when a call starts, because a stream may end in another async context. */
  behavior(): RequestBehavior {
    return this.#reporter.behavior();
  }

  /** The type of the guardrail with this name in the framework; undefined: not a guardrail. */
  guardrailOf(name: string): string | undefined {
    return this.#guardrails.get(name);
  }

  /** Await it before each model call. Rejects if the policy denies the call. */
  async beforeModel(behavior = this.behavior()): Promise<void> {
    behavior.begin();
    if (this.#options.checkPolicy !== true) return;
    try {
      await this.#reporter.checkPolicy(behavior.facts());
    } catch (error) {
      if (isDecision(error)) throw error;
      warn(error);
    }
  }

  /** Counts a model call. Calls without both token counts are not counted. */
  model(behavior: RequestBehavior, modelId: unknown, usage: Usage, callId: unknown): void {
    const { promptTokens, completionTokens } = usage;
    if (typeof promptTokens !== 'number' || typeof completionTokens !== 'number') return;
    const id = typeof callId === 'string' && callId !== '' ? callId : undefined;
    const model = typeof modelId === 'string' && modelId !== '' ? modelId : 'unknown';
    behavior.model(model, promptTokens, completionTokens, id);
  }

  /** Reports a tool, or a guardrail if the options name it as one. */
  tool(behavior: RequestBehavior, name: string, details: ToolDetails = {}): void {
    const type = this.guardrailOf(name);
    if (type === undefined) behavior.tool(name, rounded(details));
    else this.guardrail(behavior, type, details.success === false ? { blocked: true } : {});
  }

  guardrail(behavior: RequestBehavior, type: string, details: GuardrailDetails = {}): void {
    behavior.guardrail(type, details);
  }
}

function guardrailNames(guardrails: IntegrationOptions['guardrails'] = []): Map<string, string> {
  if (isList(guardrails)) return new Map(guardrails.map((name) => [name, name]));
  return new Map(Object.entries(guardrails));
}

const isList = (value: NonNullable<IntegrationOptions['guardrails']>): value is readonly string[] =>
  Array.isArray(value);

function rounded({ success, latencyMs }: ToolDetails): ToolDetails {
  return {
    ...(success === undefined ? {} : { success }),
    ...(latencyMs === undefined ? {} : { latencyMs: Math.max(0, Math.round(latencyMs)) }),
  };
}

/** By code, because the integrations do not contain the classes of the reporter. */
export const isDecision = (error: unknown): boolean =>
  isObject(error) &&
  (error['code'] === 'PLATFORM_POLICY_DENIED' || error['code'] === 'PLATFORM_POLICY_UNAVAILABLE');

/** Runs code that reads values of the framework. An error becomes one warning. */
export function safely(read: () => void): void {
  try {
    read();
  } catch (error) {
    warn(error);
  }
}

const warned = new Set<string>();

/** Logs each message once: the same mistake repeats with every request. */
function warn(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  if (warned.has(message) || warned.size > 100) return;
  warned.add(message);
  emitWarning(`agent not observed completely: ${message}`);
}

const ignore = (): void => undefined;

/**
 * Emits a warning, which Node.js writes to standard error. The second failure of that ends the process, unless the stream has a
 * listener for errors: the agent must not end because the reader of its log has gone.
 */
export function emitWarning(message: string): void {
  if (process.stderr.listenerCount('error', ignore) === 0) process.stderr.on('error', ignore);
  process.emitWarning(message, { type: 'PlatformReporter' });
}

export type Values = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Values => typeof value === 'object' && value !== null;

/** The member at a path; undefined: there is none. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  let found = value;
  for (const key of path) found = isObject(found) ? found[key] : undefined;
  return found;
}

export const listAt = (value: unknown, ...path: (string | number)[]): readonly unknown[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** The first text of these values. */
export const textOf = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '');
