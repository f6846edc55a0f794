import type { RequestBehavior, ToolDetails } from '../request-behavior.ts';
import {
  at,
  isObject,
  Observer,
  safely,
  textOf,
  type IntegrationOptions,
  type ObservingReporter,
} from './observer.ts';

export type { IntegrationOptions, ObservingReporter } from './observer.ts';

interface Run {
  behavior: RequestBehavior;
  /** Of the model, the tool or the guardrail. */
  name: string;
  startedMs: number;
}

/** Runs whose end LangChain never reports, such as an abandoned stream, must not fill the memory. */
const MAX_RUNS = 10_000;

/**
 * A callback handler for LangChain and LangGraph:
 * `graph.invoke(input, { callbacks: [new ComplianceHandler(reporter)] })`. One handler serves all requests.
 */
export class ComplianceHandler {
  readonly name = 'agent-compliance';
  /** Handlers that are not awaited lose the async context of the request. */
  readonly awaitHandlers = true;
  /** Lets LangChain pass on the denial of the policy. Nothing else throws. */
  readonly raiseError = true;
  readonly ignoreLLM = false;
  readonly ignoreChain = false;
  readonly ignoreAgent = false;
  readonly ignoreRetriever = true;
  readonly ignoreCustomEvent = true;
  readonly #observer: Observer;
  readonly #models = new Map<string, Run>();
  readonly #tools = new Map<string, Run>();
  readonly #guardrails = new Map<string, Run>();

  constructor(reporter: ObservingReporter, options?: IntegrationOptions) {
    this.#observer = new Observer(reporter, options);
  }

  /** LangChain copies handlers for child runs; a run may end in another copy. */
  copy(): this {
    return this;
  }

  async handleChatModelStart(...start: ModelStart): Promise<void> {
    await this.#startModel(...start);
  }

  async handleLLMStart(...start: ModelStart): Promise<void> {
    await this.#startModel(...start);
  }

  handleLLMEnd(output: unknown, runId: string): void {
    safely(() => {
      const run = take(this.#models, runId);
      if (run === undefined) return;
      const message = at(output, 'generations', 0, 0, 'message');
      const [stated, older] = [at(message, 'usage_metadata'), at(output, 'llmOutput', 'tokenUsage')];
      const usage = {
        promptTokens: at(stated, 'input_tokens') ?? at(older, 'promptTokens'),
        completionTokens: at(stated, 'output_tokens') ?? at(older, 'completionTokens'),
      };
      this.#observer.model(run.behavior, run.name, usage, textOf(at(message, 'id')) ?? runId);
    });
  }

  handleLLMError(_error: unknown, runId: string): void {
    this.#models.delete(runId);
  }

  /** @param more parent run, tags, metadata, name of the run, id of the tool call */
  handleToolStart(tool: unknown, _input: string, runId: string, ...more: readonly unknown[]): void {
    safely(() => {
      const name = textOf(more[3], at(tool, 'name'), at(tool, 'kwargs', 'name'), at(tool, 'id', 2));
      if (name !== undefined) this.#start(this.#tools, runId, name);
    });
  }

  handleToolEnd(output: unknown, runId: string): void {
    const isError = at(output, 'status') === 'error' || at(output, 'kwargs', 'status') === 'error';
    this.#endTool(runId, !isError);
  }

  handleToolError(error: unknown, runId: string): void {
    if (isControlFlow(error)) this.#tools.delete(runId);
    else this.#endTool(runId, false);
  }

  /** @param more the position of the name of the run differs between versions */
  handleChainStart(_chain: unknown, _inputs: unknown, runId: string, ...more: readonly unknown[]): void {
    safely(() => {
      const type = more
        .slice(3)
        .flatMap((name) => (typeof name === 'string' ? [this.#guardrailOf(name)] : []))
        .find((found) => found !== undefined);
      // Inside of a node, LangGraph may run a step with the name of the node.
      if (type === undefined || this.#guardrails.get(String(more[0]))?.name === type) return;
      const run = this.#start(this.#guardrails, runId, type);
      this.#observer.guardrail(run.behavior, type);
    });
  }

  handleChainEnd(_outputs: unknown, runId: string): void {
    this.#guardrails.delete(runId);
  }

  handleChainError(error: unknown, runId: string): void {
    safely(() => {
      const run = take(this.#guardrails, runId);
      if (run !== undefined && !isControlFlow(error))
        this.#observer.guardrail(run.behavior, run.name, { blocked: true });
    });
  }

  /** Middleware of `createAgent` is a node with the name of its hook. */
  #guardrailOf(name: string): string | undefined {
    const own = name.replace(/\.(before|after)_(model|agent)$/, '');
    return this.#observer.guardrailOf(name) ?? this.#observer.guardrailOf(own);
  }

  async #startModel(...[model, , runId, , extra, , metadata]: ModelStart): Promise<void> {
    let behavior: RequestBehavior | undefined;
    safely(() => {
      const sources = [at(extra, 'invocation_params'), metadata, at(model, 'kwargs')];
      const names = sources.flatMap((source) =>
        ['model', 'model_name', 'modelName', 'ls_model_name'].map((key) => at(source, key)),
      );
      ({ behavior } = this.#start(this.#models, runId, textOf(...names) ?? ''));
    });
    if (behavior !== undefined) await this.#observer.beforeModel(behavior);
  }

  #start(runs: Map<string, Run>, runId: string, name: string): Run {
    const run = { behavior: this.#observer.behavior(), name, startedMs: performance.now() };
    const [oldest] = runs.keys();
    if (runs.size >= MAX_RUNS && oldest !== undefined) runs.delete(oldest);
    runs.set(runId, run);
    return run;
  }

  #endTool(runId: string, success: boolean): void {
    safely(() => {
      const run = take(this.#tools, runId);
      if (run === undefined) return;
      const details: ToolDetails = { success, latencyMs: performance.now() - run.startedMs };
      this.#observer.tool(run.behavior, run.name, details);
    });
  }
}

/** Model, messages or prompts, run, parent run, extra parameters, tags, metadata. */
type ModelStart = [
  model: unknown,
  input: unknown,
  runId: string,
  parentRunId?: string,
  extraParams?: Record<string, unknown>,
  tags?: string[],
  metadata?: Record<string, unknown>,
  ...rest: unknown[],
];

function take(runs: Map<string, Run>, runId: string): Run | undefined {
  const run = runs.get(runId);
  runs.delete(runId);
  return run;
}

/** Interrupts and commands of LangGraph are exceptions, but no failures. */
const isControlFlow = (error: unknown): boolean => isObject(error) && error['is_bubble_up'] === true;
