import type { RequestBehavior } from '../request-behavior.ts';
import {
  at,
  listAt,
  Observer,
  safely,
  type IntegrationOptions,
  type ObservingReporter,
  type Usage,
} from './observer.ts';

export type { IntegrationOptions, ObservingReporter } from './observer.ts';

interface ModelCall<Result> {
  doGenerate: () => PromiseLike<Result>;
  params: unknown;
  model: { readonly modelId: string };
}

interface StreamCall<Result> {
  doStream: () => PromiseLike<Result>;
  params: unknown;
  model: { readonly modelId: string };
}

/** A language model middleware of the AI SDK (versions 5, 6 and 7). */
export interface ComplianceMiddleware {
  /** The types of version 6 require it, and no version reads it. */
  readonly specificationVersion: 'v3';
  readonly wrapGenerate: <Result>(call: ModelCall<Result>) => Promise<Result>;
  readonly wrapStream: <Result extends { stream: ReadableStream }>(
    call: StreamCall<Result>,
  ) => Promise<Result>;
}

/**
 * Reports the model calls, tokens and tools of the AI SDK:
 * `wrapLanguageModel({ model, middleware: compliance(reporter) })`.
 */
export function compliance(reporter: ObservingReporter, options?: IntegrationOptions): ComplianceMiddleware {
  const observer = new Observer(reporter, options);
  const tools = followerOf(reporter, observer);
  return {
    specificationVersion: 'v3',
    async wrapGenerate({ doGenerate, params, model }) {
      const behavior = observer.behavior();
      safely(() => tools.results(behavior, params));
      await observer.beforeModel(behavior);
      const result = await doGenerate();
      safely(() => {
        for (const part of listAt(result, 'content')) tools.part(behavior, part, { observer });
        observer.model(behavior, model.modelId, usageOf(result), at(result, 'response', 'id'));
      });
      return result;
    },
    async wrapStream({ doStream, params, model }) {
      const behavior = observer.behavior();
      safely(() => tools.results(behavior, params));
      await observer.beforeModel(behavior);
      const result = await doStream();
      let callId: unknown;
      const watch = (part: unknown): void => {
        tools.part(behavior, part, { observer, isStream: true });
        if (at(part, 'type') === 'response-metadata') callId = at(part, 'id') ?? callId;
        if (at(part, 'type') === 'finish') observer.model(behavior, model.modelId, usageOf(part), callId);
      };
      const watched = result.stream.pipeThrough(
        new TransformStream({
          transform(part, controller) {
            safely(() => watch(part));
            controller.enqueue(part);
          },
        }),
      );
      return { ...result, stream: watched };
    },
  };
}

/** The usage of a response or of the last part of a stream. Counts are numbers in version 5, and objects since version 6. */
const usageOf = (from: unknown): Usage => ({
  promptTokens: at(from, 'usage', 'inputTokens', 'total') ?? promptTokensIn5(from),
  completionTokens: at(from, 'usage', 'outputTokens', 'total') ?? at(from, 'usage', 'outputTokens'),
});

/** In version 5, `inputTokens` of Anthropic has no tokens of the prompt cache. Those of other vendors have them. */
function promptTokensIn5(from: unknown): unknown {
  const tokens = at(from, 'usage', 'inputTokens');
  if (typeof tokens !== 'number') return tokens;
  const anthropic = at(from, 'providerMetadata', 'anthropic', 'usage');
  const cached = [at(anthropic, 'cache_creation_input_tokens'), at(anthropic, 'cache_read_input_tokens')];
  return cached.reduce<number>((sum, each) => (typeof each === 'number' ? sum + each : sum), tokens);
}

/**
 * The telemetry of versions 6 and 7; version 5 has none. `registerTelemetry` of the AI SDK adds to the list in this global
 * variable.
 */
interface Telemetry {
  onStart(): void;
  /** Version 6. */
  onToolCallFinish(event: unknown): void;
  /** Version 7. */
  onToolExecutionEnd(event: unknown): void;
}
declare global {
  var AI_SDK_TELEMETRY_INTEGRATIONS: unknown[] | undefined;
}

const followed = new WeakMap<ObservingReporter, ToolFollower>();

/** One follower per reporter: an agent may create a middleware for each request, and telemetry is registered once. */
function followerOf(reporter: ObservingReporter, observer: Observer): ToolFollower {
  let follower = followed.get(reporter);
  if (follower === undefined) {
    follower = new ToolFollower(observer);
    followed.set(reporter, follower);
    (globalThis.AI_SDK_TELEMETRY_INTEGRATIONS ??= []).push(follower.telemetry());
  }
  return follower;
}

/** A tool whose result is not known yet. */
interface OpenCall {
  name: string;
  observer: Observer;
  /** Whether an event has reported it: a second event would count the tool twice. */
  isReported: boolean;
}

/**
 * Joins the tool calls of a model with their results. The telemetry of the AI SDK states the latency. Without it, the success
 * of a tool is read from the prompt of the next model call, and is not reported for a stream, whose head is already sent.
 */
class ToolFollower {
  /** By the id of the call. */
  readonly #open = new WeakMap<RequestBehavior, Map<string, OpenCall>>();
  readonly #fallback: Observer;
  #hasTelemetry = false;

  constructor(observer: Observer) {
    this.#fallback = observer;
  }

  telemetry(): Telemetry {
    return {
      onStart: () => {
        this.#hasTelemetry = true;
      },
      onToolCallFinish: (event) =>
        safely(() => this.#executed(event, at(event, 'success') === true, at(event, 'durationMs'))),
      onToolExecutionEnd: (event) =>
        safely(() => {
          const success = at(event, 'toolOutput', 'type') !== 'tool-error';
          this.#executed(event, success, at(event, 'toolExecutionMs'));
        }),
    };
  }

  /** A part of a response. */
  part(
    behavior: RequestBehavior,
    part: unknown,
    { observer, isStream = false }: { observer: Observer; isStream?: boolean },
  ): void {
    const [type, id, name] = [at(part, 'type'), at(part, 'toolCallId'), at(part, 'toolName')];
    if (typeof id !== 'string' || typeof name !== 'string') return;
    if (type === 'tool-call' && at(part, 'providerExecuted') !== true) {
      // With telemetry the end of the tool is reported. Without it, there may be no further model call with the result.
      const isReported = !this.#hasTelemetry && isStream;
      this.#openIn(behavior).set(id, { name, observer, isReported });
      if (!this.#hasTelemetry) observer.tool(behavior, name);
    }
    // A tool that the vendor ran.
    if (type === 'tool-result') observer.tool(behavior, name, { success: at(part, 'isError') !== true });
  }

  /** The prompt of a model call, which has the results of earlier tools. */
  results(behavior: RequestBehavior, params: unknown): void {
    for (const message of listAt(params, 'prompt'))
      for (const part of at(message, 'role') === 'tool' ? listAt(message, 'content') : []) {
        const output = at(part, 'output', 'type');
        const success = output !== 'error-text' && output !== 'error-json' && output !== 'execution-denied';
        this.#end(behavior, at(part, 'toolCallId'), { success });
      }
  }

  #executed(event: unknown, success: boolean, latencyMs: unknown): void {
    const behavior = this.#fallback.behavior();
    const [id, name] = [at(event, 'toolCall', 'toolCallId'), at(event, 'toolCall', 'toolName')];
    const details = { success, ...(typeof latencyMs === 'number' ? { latencyMs } : {}) };
    if (!this.#end(behavior, id, details) && typeof name === 'string')
      this.#fallback.tool(behavior, name, details);
  }

  #end(behavior: RequestBehavior, id: unknown, details: { success: boolean; latencyMs?: number }): boolean {
    const open = this.#open.get(behavior);
    const call = typeof id === 'string' ? open?.get(id) : undefined;
    if (open === undefined || call === undefined) return false;
    open.delete(id as string);
    if (!call.isReported) call.observer.tool(behavior, call.name, details);
    return true;
  }

  #openIn(behavior: RequestBehavior): Map<string, OpenCall> {
    const open = this.#open.get(behavior) ?? new Map<string, OpenCall>();
    this.#open.set(behavior, open);
    // Outside of requests all calls share one behavior.
    const [oldest] = open.keys();
    if (open.size >= 1000 && oldest !== undefined) open.delete(oldest);
    return open;
  }
}
