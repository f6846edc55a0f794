import type { GuardrailDetails, RequestBehavior } from '../request-behavior.ts';
import {
  at,
  emitWarning,
  Observer,
  safely,
  textOf,
  type IntegrationOptions,
  type ObservingReporter,
} from './observer.ts';

export type { IntegrationOptions, ObservingReporter } from './observer.ts';

/** The part of `@openai/agents` that `checkPolicy` needs. */
export interface AgentsModule {
  Runner: { prototype: object };
}

export interface OpenAIAgentsOptions extends IntegrationOptions {
  /** `import * as agents from '@openai/agents'`; required by `checkPolicy`. */
  agents?: AgentsModule;
}

interface TraceProvider {
  registerProcessor(processor: object): void;
  createTrace(options: object): unknown;
}

/** A second processor would report each tool twice. */
const installed = new WeakSet<ObservingReporter>();

/** Where the SDK keeps its provider, so that its ES module and CommonJS builds share one. */
const PROVIDER = Symbol.for('openai.agents.core.traceProvider');

/**
 * Adds a tracing processor to the OpenAI Agents SDK, which reports model calls, tokens, tools and guardrails. Call it once, after
 * the import of the SDK. Throws if the SDK is not loaded, and with `checkPolicy` without `agents`.
 */
export function install(reporter: ObservingReporter, options: OpenAIAgentsOptions = {}): void {
  const { agents, checkPolicy = false } = options;
  if (checkPolicy && agents === undefined)
    throw new TypeError("checkPolicy needs the option agents: import * as agents from '@openai/agents'");
  const provider = (globalThis as Record<symbol, unknown>)[PROVIDER] as TraceProvider | undefined;
  if (provider === undefined) throw new TypeError('import @openai/agents before install()');
  if (installed.has(reporter)) return;
  installed.add(reporter);
  const observer = new Observer(reporter, options);
  provider.registerProcessor(new SpanProcessor(observer));
  if (at(provider.createTrace({ name: 'agent-compliance' }), 'traceId') === 'no-op')
    emitWarning('tracing of OpenAI Agents is disabled: model calls and tools are not reported');
  if (checkPolicy && agents !== undefined) checkBeforeModel(agents, observer);
}

interface Started {
  behavior: RequestBehavior;
  ms: number;
}

class SpanProcessor {
  readonly #observer: Observer;
  readonly #started = new WeakMap<object, Started>();

  constructor(observer: Observer) {
    this.#observer = observer;
  }

  onTraceStart(): Promise<void> {
    return Promise.resolve();
  }

  onTraceEnd(): Promise<void> {
    return Promise.resolve();
  }

  onSpanStart(span: object): Promise<void> {
    safely(() => {
      const behavior = this.#observer.behavior();
      this.#started.set(span, { behavior, ms: performance.now() });
      const [type, name] = [at(span, 'spanData', 'type'), at(span, 'spanData', 'name')];
      if (type === 'generation' || type === 'response') behavior.begin();
      // At the start, because a guardrail can run at the same time as the first model call.
      if (type === 'guardrail' && typeof name === 'string') this.#guardrail(behavior, name);
    });
    return Promise.resolve();
  }

  onSpanEnd(span: object): Promise<void> {
    safely(() => {
      const data = at(span, 'spanData');
      const started = this.#started.get(span);
      if (started === undefined) return;
      const { behavior, ms } = started;
      const [type, name] = [at(data, 'type'), at(data, 'name')];
      if (type === 'generation') this.#generation(behavior, data);
      if (type === 'response') this.#call(behavior, at(data, '_response'), at(data, '_response', 'model'));
      if (typeof name !== 'string') return;
      const isFailed = (at(span, 'error') ?? null) !== null;
      if (type === 'guardrail')
        this.#guardrail(behavior, name, isFailed ? {} : { blocked: at(data, 'triggered') === true });
      if (type === 'function')
        this.#observer.tool(behavior, name, { success: !isFailed, latencyMs: performance.now() - ms });
    });
    return Promise.resolve();
  }

  shutdown(): Promise<void> {
    return Promise.resolve();
  }

  forceFlush(): Promise<void> {
    return Promise.resolve();
  }

  /** Guardrails of the SDK are reported without the option; it only renames them. */
  #guardrail(behavior: RequestBehavior, name: string, details?: GuardrailDetails): void {
    this.#observer.guardrail(behavior, this.#observer.guardrailOf(name) ?? name, details);
  }

  #generation(behavior: RequestBehavior, data: unknown): void {
    const completion = at(data, 'output', 0);
    const usage = at(data, 'usage') ?? at(completion, 'usage');
    this.#call(behavior, { id: at(completion, 'id'), usage }, at(data, 'model'));
  }

  /** Responses have `input_tokens`, chat completions have `prompt_tokens`. */
  #call(behavior: RequestBehavior, call: unknown, model: unknown): void {
    const usage = at(call, 'usage');
    const promptTokens = at(usage, 'input_tokens') ?? at(usage, 'prompt_tokens');
    const completionTokens = at(usage, 'output_tokens') ?? at(usage, 'completion_tokens');
    this.#observer.model(behavior, model, { promptTokens, completionTokens }, textOf(at(call, 'id')));
  }
}

type Filter = ((args: { modelData: unknown }) => unknown) & { preserveInputIdentity?: boolean };
type Run = (agent: unknown, input: unknown, options?: { callModelInputFilter?: Filter }) => unknown;

const checked = new WeakSet<object>();

/** The filter of the model's input is the only awaited hook before a model call. Its errors end the run. */
function checkBeforeModel({ Runner }: AgentsModule, observer: Observer): void {
  const runner = Runner.prototype as { run: Run; config?: { callModelInputFilter?: Filter } };
  if (checked.has(runner)) return;
  checked.add(runner);
  const { run } = runner;
  runner.run = function (this: typeof runner, agent, input, options) {
    const filter = options?.callModelInputFilter ?? this.config?.callModelInputFilter;
    const checking: Filter = async (args) => {
      await observer.beforeModel();
      return filter === undefined ? args.modelData : filter(args);
    };
    // Without a filter of the application the items stay the same objects.
    checking.preserveInputIdentity = filter === undefined || filter.preserveInputIdentity === true;
    return run.call(this, agent, input, { ...options, callModelInputFilter: checking });
  };
}
