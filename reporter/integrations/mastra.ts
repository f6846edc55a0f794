import type { RequestBehavior } from '../request-behavior.ts';
import { at, Observer, safely, textOf, type IntegrationOptions, type ObservingReporter } from './observer.ts';

export type { IntegrationOptions, ObservingReporter } from './observer.ts';

export interface MastraOptions<Input, Output> extends IntegrationOptions {
  /** Input processors of the agent. Those that are guardrails are reported. */
  inputProcessors?: readonly Input[];
  outputProcessors?: readonly Output[];
}

/** Members of the configuration of a Mastra `Agent`. */
export interface ObservedAgent<Input, Output> {
  inputProcessors: (Input | ComplianceProcessor)[];
  outputProcessors: Output[];
  hooks: ToolHooks;
}

interface RequestArguments {
  model: unknown;
}

interface ResponseArguments {
  chunks: readonly { type: string; payload: unknown }[];
  model: unknown;
}

/** A processor that Mastra calls before and after each model call. */
export interface ComplianceProcessor {
  readonly id: 'agent-compliance';
  readonly processLLMRequest: (call: RequestArguments) => Promise<undefined>;
  readonly processLLMResponse: (call: ResponseArguments) => undefined;
}

/** Hooks around the tools of an agent. */
export interface ToolHooks {
  readonly beforeToolCall: (call: { toolName: string; context: unknown }) => void;
  readonly afterToolCall: (call: {
    toolName: string;
    context: unknown;
    output?: unknown;
    error?: unknown;
  }) => void;
}

/** The guardrails of Mastra, with the types of the manifest. */
const BUILT_IN: Readonly<Record<string, string>> = {
  'pii-detector': 'pii-detector',
  'prompt-injection-detector': 'prompt-injection',
  moderation: 'toxicity-filter',
};

/**
 * Reports the model calls, tokens, tools and guardrails of a Mastra agent:
 * `new Agent({ ...config, ...compliance(reporter, { inputProcessors }) })`.
 */
export function compliance<Input extends object = never, Output extends object = never>(
  reporter: ObservingReporter,
  options: MastraOptions<Input, Output> = {},
): ObservedAgent<Input, Output> {
  const observer = new Observer(reporter, options);
  const observed = <P extends object>(processor: P): P => asGuardrail(processor, observer);
  return {
    inputProcessors: [...(options.inputProcessors ?? []).map(observed), modelProcessor(observer)],
    outputProcessors: (options.outputProcessors ?? []).map(observed),
    hooks: toolHooks(observer),
  };
}

function modelProcessor(observer: Observer): ComplianceProcessor {
  return {
    id: 'agent-compliance',
    async processLLMRequest() {
      await observer.beforeModel();
      return undefined;
    },
    processLLMResponse({ chunks, model }) {
      safely(() => {
        const behavior = observer.behavior();
        const end = chunks.findLast(({ type }) => type === 'step-finish' || type === 'finish')?.payload;
        const usage = at(end, 'output', 'usage') ?? at(end, 'usage');
        const about = chunks.find(({ type }) => type === 'response-metadata')?.payload;
        observer.model(
          behavior,
          at(model, 'modelId'),
          { promptTokens: at(usage, 'inputTokens'), completionTokens: at(usage, 'outputTokens') },
          textOf(at(end, 'metadata', 'id'), at(about, 'id'), at(end, 'response', 'id')),
        );
      });
      return undefined;
    },
  };
}

/** The context of a call is the same object before and after it. */
function toolHooks(observer: Observer): ToolHooks {
  const started = new WeakMap<object, { behavior: RequestBehavior; ms: number }>();
  return {
    beforeToolCall({ context }) {
      safely(() => {
        if (typeof context === 'object' && context !== null)
          started.set(context, { behavior: observer.behavior(), ms: performance.now() });
      });
    },
    afterToolCall({ toolName, context, error }) {
      safely(() => {
        const start = started.get(context as object);
        observer.tool(start?.behavior ?? observer.behavior(), toolName, {
          success: error === undefined,
          ...(start === undefined ? {} : { latencyMs: performance.now() - start.ms }),
        });
      });
    },
  };
}

/** The methods of a processor that inspect messages. */
const INSPECTING = ['processInput', 'processInputStep', 'processOutputStep', 'processOutputResult'];

/** A processor that reports itself; the same processor if it is not a guardrail. */
function asGuardrail<P extends object>(processor: P, observer: Observer): P {
  const id = at(processor, 'id');
  const type = typeof id === 'string' ? (observer.guardrailOf(id) ?? ownValue(BUILT_IN, id)) : undefined;
  if (type === undefined) return processor;
  return new Proxy(processor, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      if (!INSPECTING.includes(String(key))) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        const behavior = observer.behavior();
        safely(() => observer.guardrail(behavior, type));
        try {
          const result: unknown = await value.apply(target, args);
          return result;
        } catch (error) {
          safely(() => observer.guardrail(behavior, type, { blocked: true }));
          throw error;
        }
      };
    },
  });
}

const ownValue = (values: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(values, key) ? values[key] : undefined;
