import { beforeEach, describe, expect, test } from '@jest/globals';
import type { BehavioralEvent } from '../../core/shapes/events.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { PolicyDeniedError } from '../policy-check.ts';
import { createReporter } from '../reporter.ts';
import { createRequestBehavior } from '../request-behavior.ts';
import { compliance as aiSdk } from './ai-sdk.ts';
import { ComplianceHandler } from './langchain.ts';
import { compliance as mastra } from './mastra.ts';
import { install as mcp } from './mcp.ts';
import { Observer, type ObservingReporter } from './observer.ts';
import { install as openaiAgents } from './openai-agents.ts';

/** Forms of the frameworks that the installed versions do not produce, and failures. `integrations.integration.test.ts` runs the frameworks. */

let events: BehavioralEvent[];
let counted: unknown[];
let denial: Error | null;
let reporter: ObservingReporter & { behaviors: number };
beforeEach(() => {
  [events, counted, denial] = [[], [], null];
  const behavior = createRequestBehavior({
    response: null,
    sendEvent: (event) => events.push(event) > 0,
    countUsage: (...call) => counted.push(call) > 0,
    onLost: () => undefined,
  });
  reporter = {
    behaviors: 0,
    behavior: () => {
      reporter.behaviors += 1;
      return behavior;
    },
    checkPolicy: () => (denial === null ? Promise.resolve() : Promise.reject(denial)),
  };
});

const DENIAL = new PolicyDeniedError(['pii_detector_not_invoked']);

describe('observer', () => {
  test.each([
    ['the denial of the policy', DENIAL, DENIAL],
    ['a copy of the denial', Object.assign(new Error('copy'), { code: 'PLATFORM_POLICY_DENIED' }), 'copy'],
    [
      'no decision with failClosed',
      Object.assign(new Error('x'), { code: 'PLATFORM_POLICY_UNAVAILABLE' }),
      'x',
    ],
  ])('%s ends the model call', async (_name, error, expected) => {
    denial = error;
    await expect(new Observer(reporter, { checkPolicy: true }).beforeModel()).rejects.toThrow(expected);
  });

  test('any other error of the check does not', async () => {
    denial = new TypeError('a mistake in the check');
    await expect(new Observer(reporter, { checkPolicy: true }).beforeModel()).resolves.toBeUndefined();
  });

  test('without checkPolicy the policy is not evaluated', async () => {
    denial = DENIAL;
    await expect(new Observer(reporter).beforeModel()).resolves.toBeUndefined();
  });

  test('outside of a request the guardrail is unknown: no denial, one warning, and the budget still denies', async () => {
    const warnings: string[] = [];
    const real = createReporter({
      manifest: plainManifest('shop', ['pii_detector_not_invoked', 'daily_token_limit_exceeded']),
      env: {},
      sidecarUrl: 'http://127.0.0.1:9',
      logger: { warn: (text) => void warnings.push(text), info: () => undefined, debug: () => undefined },
    });
    const observer = new Observer(real, { checkPolicy: true });
    await observer.beforeModel();
    await observer.beforeModel();
    expect(warnings).toEqual(['no open request, guardrails and tools not reported']);
    real.recordUsage('gpt', 1e9, 0);
    await expect(observer.beforeModel()).rejects.toThrow('daily_token_limit_exceeded');
    await real.stop();
  });

  test.each([
    [['scan'], 'scan'],
    [{ scan: 'pii-detector' }, 'pii-detector'],
  ])('a tool in guardrails %j is a guardrail', (guardrails, guardrailType) => {
    const observer = new Observer(reporter, { guardrails });
    observer.tool(reporter.behavior(), 'scan', { success: false, latencyMs: 1 });
    observer.tool(reporter.behavior(), 'search', { success: true, latencyMs: 1.4 });
    expect(events).toEqual([
      { type: 'guardrail', guardrailType, invoked: true, blocked: true },
      { type: 'tool', name: 'search', success: true, latencyMs: 1 },
    ]);
  });

  test.each([
    [{ promptTokens: 3, completionTokens: undefined }, []],
    [{ promptTokens: Number.NaN, completionTokens: 1 }, [['gpt', Number.NaN, 1]]],
    [{ promptTokens: 3, completionTokens: 0 }, [['gpt', 3, 0]]],
  ])('usage %j', (usage, expected) => {
    new Observer(reporter).model(reporter.behavior(), 'gpt', usage, undefined);
    expect(counted).toEqual(expected);
  });
});

describe('AI SDK', () => {
  const model = { modelId: 'gpt' };
  const params = { prompt: [] };

  test('reads the usage of version 5, and the same response once', async () => {
    const { wrapGenerate } = aiSdk(reporter);
    const result = { usage: { inputTokens: 3, outputTokens: 2 }, response: { id: 'r' }, content: [] };
    const doGenerate = () => Promise.resolve(result);
    expect(await wrapGenerate({ doGenerate, params, model })).toBe(result);
    await wrapGenerate({ doGenerate, params, model });
    expect(counted).toEqual([['gpt', 3, 2]]);
  });

  test('reports tools that the vendor ran', async () => {
    const part = (isError: boolean) => ({
      type: 'tool-result',
      toolCallId: 'a',
      toolName: 'web_search',
      isError,
    });
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'web_search', providerExecuted: true };
    const doGenerate = () => Promise.resolve({ content: [call, part(false), part(true)] });
    await aiSdk(reporter).wrapGenerate({ doGenerate, params, model });
    expect(events).toEqual([
      { type: 'tool', name: 'web_search', success: true },
      { type: 'tool', name: 'web_search', success: false },
    ]);
  });

  test.each([null, 'text', { content: [null] }, { content: 'x', usage: { inputTokens: 'many' } }])(
    'passes on the unknown result %j',
    async (result) => {
      const doGenerate = () => Promise.resolve(result);
      expect(await aiSdk(reporter).wrapGenerate({ doGenerate, params: null, model })).toBe(result);
      expect(counted).toEqual([]);
    },
  );

  test('a stream that breaks off breaks off for the application too, and is not counted', async () => {
    const source = new ReadableStream({
      start(controller) {
        controller.enqueue({ type: 'response-metadata', id: 'r' });
        controller.error(new Error('connection lost'));
      },
    });
    const doStream = () => Promise.resolve({ stream: source, request: 1 });
    const { stream, request } = await aiSdk(reporter).wrapStream({ doStream, params, model });
    await expect(stream.getReader().closed).rejects.toThrow('connection lost');
    expect([request, counted]).toEqual([1, []]);
  });
});

describe('LangChain', () => {
  test('reads older token counts, and uses the id of the run without the id of a message', async () => {
    const handler = new ComplianceHandler(reporter);
    await handler.handleLLMStart({ kwargs: { model: 'gpt' } }, ['prompt'], 'run-1');
    handler.handleLLMEnd(
      { generations: [[{ text: '' }]], llmOutput: { tokenUsage: { promptTokens: 3, completionTokens: 2 } } },
      'run-1',
    );
    handler.handleLLMEnd({}, 'run-1');
    expect(counted).toEqual([['gpt', 3, 2]]);
  });

  test('does not count a failed call', async () => {
    const handler = new ComplianceHandler(reporter);
    await handler.handleChatModelStart({}, [], 'run-1');
    handler.handleLLMError(new Error('no'), 'run-1');
    handler.handleLLMEnd(
      { generations: [[{ message: { usage_metadata: { input_tokens: 1, output_tokens: 1 } } }]] },
      'run-1',
    );
    expect(counted).toEqual([]);
  });

  test('an interrupt of LangGraph is neither a failed tool nor a block', () => {
    const handler = new ComplianceHandler(reporter, { guardrails: ['check'] });
    const interrupt = Object.assign(new Error('interrupt'), { is_bubble_up: true });
    handler.handleToolStart({ name: 'search' }, '', 'run-1');
    handler.handleToolError(interrupt, 'run-1');
    handler.handleChainStart({}, {}, 'run-2', undefined, [], {}, undefined, 'check');
    handler.handleChainError(interrupt, 'run-2');
    expect(events).toEqual([]);
    expect(reporter.behavior().facts()).toEqual({ guardrailsInvoked: ['check'], toolsCalled: [] });
  });

  test('a tool that returns an error has failed', () => {
    const handler = new ComplianceHandler(reporter);
    handler.handleToolStart({}, '', 'run-1', undefined, [], {}, 'search');
    handler.handleToolEnd({ status: 'error' }, 'run-1');
    expect(events).toEqual([{ type: 'tool', name: 'search', success: false, latencyMs: expect.any(Number) }]);
  });
});

describe('Mastra', () => {
  test('keeps processors that are no guardrails, and the other members of those that are', async () => {
    const memory = { id: 'memory' };
    const detector = {
      id: 'pii-detector',
      threshold: 0.5,
      limit() {
        return this.threshold;
      },
      processInput() {
        throw new Error(`blocked at ${this.threshold}`);
      },
    };
    const { inputProcessors, outputProcessors } = mastra(reporter, {
      inputProcessors: [memory, detector],
      outputProcessors: [memory],
    });
    const guardrail = inputProcessors[1] as typeof detector;
    expect([inputProcessors[0], outputProcessors]).toEqual([memory, [memory]]);
    expect(inputProcessors[0]).toBe(memory);
    expect([guardrail.threshold, guardrail.limit()]).toEqual([0.5, 0.5]);
    await expect(async () => guardrail.processInput()).rejects.toThrow('blocked at 0.5');
    expect(events).toEqual([
      { type: 'guardrail', guardrailType: 'pii-detector', invoked: true, blocked: true },
    ]);
  });
});

describe('OpenAI Agents', () => {
  const PROVIDER = Symbol.for('openai.agents.core.traceProvider');

  test('fails at once if the policy could not be checked, or the SDK is not loaded', () => {
    expect(() => openaiAgents(reporter, { checkPolicy: true })).toThrow(/needs the option agents/);
    expect(() => openaiAgents(reporter)).toThrow('import @openai/agents before install()');
  });

  test('counts chat completions with usage in the span, and reads no span that it does not know', async () => {
    type Processor = Record<'onSpanStart' | 'onSpanEnd', (span: object) => Promise<void>>;
    const processors: Processor[] = [];
    const provider = {
      registerProcessor: (each: Processor) => processors.push(each),
      createTrace: () => ({}),
    };
    (globalThis as Record<symbol, unknown>)[PROVIDER] = provider;
    try {
      openaiAgents(reporter);
      openaiAgents(reporter);
      expect(processors).toHaveLength(1);
      const spans = [
        { spanData: { type: 'generation', model: 'gpt', usage: { input_tokens: 3, output_tokens: 2 } } },
        { spanData: { type: 'generation', model: 'gpt' } },
        { spanData: { type: 'response' } },
        { spanData: { type: 'speech' } },
        {},
      ];
      for (const span of spans) {
        await processors[0]?.onSpanStart(span);
        await processors[0]?.onSpanEnd(span);
      }
      await processors[0]?.onSpanEnd({ spanData: { type: 'function', name: 'never started' } });
    } finally {
      delete (globalThis as Record<symbol, unknown>)[PROVIDER];
    }
    expect([counted, events]).toEqual([[['gpt', 3, 2]], []]);
  });
});

describe('MCP', () => {
  const schemas: [string, unknown][] = [
    ['zod 3', { shape: { method: { _def: { value: 'tools/call' } } } }],
    ['zod 4', { shape: { method: { value: 'tools/call' } } }],
    ['zod mini', { _zod: { def: { shape: { method: { _zod: { def: { values: ['tools/call'] } } } } } } }],
    ['a name', 'tools/call'],
  ];
  test.each(schemas)('finds the tool handler with a schema of %s', async (_name, schema) => {
    type Handler = (request: object) => Promise<unknown>;
    const handlers: Handler[] = [];
    const server = {
      setRequestHandler: (_schema: unknown, handler: Handler) => void handlers.push(handler),
      createMessage: () => Promise.resolve('sampled'),
    };
    mcp(reporter, server);
    mcp(reporter, server);
    server.setRequestHandler(schema, () => Promise.resolve({ isError: true }));
    server.setRequestHandler({ shape: { method: { value: 'tools/list' } } }, () => Promise.resolve('list'));
    const request = { params: { name: 'search' } };
    expect([await handlers[0]?.(request), await handlers[1]?.(request)]).toEqual([{ isError: true }, 'list']);
    expect(await server.createMessage()).toBe('sampled');
    expect(events).toEqual([{ type: 'tool', name: 'search', success: false, latencyMs: expect.any(Number) }]);
  });
});
