import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { startAgent, type RunningAgent } from '../../examples/agents/agent.ts';
import type { Fault } from '../../examples/agents/faults.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { inEachSetting, type ClientRig, type Setting } from '../../testing/sidecar/client-rig.ts';
import { until } from '../../testing/time/until.ts';

const DIRECTORY = join(import.meta.dirname, '../../examples/agents/compliant');
const MANIFEST = readFileSync(join(DIRECTORY, 'agent.yaml'), 'utf8');
const MODEL = 'gpt-4o-mini';

/** The guardrails that the agent reports for each request. The ring entry must have the same. */
const GUARDRAILS = ['topic-filter', 'prompt-injection', 'pii-detector', 'toxicity-filter'];

/** A tool that the client runs itself. */
const TOOLS: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

inEachSetting('the OpenAI client', suite, MANIFEST);

function suite({ mode, before }: Setting): void {
  let agent: RunningAgent;
  let rig: ClientRig;
  let client: OpenAI;
  /** The agent's responses. */
  let responses: ServerResponse[];
  /** Faults that the agent has from now on. */
  let faults: Set<Fault>;
  const watch = (message: unknown): void => {
    const { server, response } = message as { server: Server; response: ServerResponse };
    if ((server.address() as AddressInfo | null)?.port === agent.port) responses.push(response);
  };

  beforeEach(async () => {
    const parsed = parseManifest(MANIFEST);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    responses = [];
    faults = new Set();
    agent = await startAgent({
      manifest: parsed.manifest,
      manifestFolder: DIRECTORY,
      faults,
      host: '127.0.0.1',
      port: 0,
      modelBaseUrl: null,
      env: { OPENAI_API_KEY: 'built-in' },
      logger: silentLogger,
    });
    rig = await before(`http://127.0.0.1:${agent.port}`);
    client = new OpenAI({ apiKey: 'k', baseURL: `${rig.url}/v1`, maxRetries: 0 });
    subscribe('http.server.request.start', watch);
  });
  afterEach(async () => {
    unsubscribe('http.server.request.start', watch);
    await rig.close();
    await agent.close();
  });

  test('receives a complete response, and the ring entry has its tokens', async () => {
    const completion = await client.chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'How much is 6 * 7?' }],
    });
    expect(completion.choices[0]?.message.content).toBe('Here is what I found: 42');
    expect(await rig.completed(1)).toMatchObject([
      {
        method: 'POST',
        path: '/v1/chat/completions',
        statusCode: 200,
        outcome: 'allow',
        guardrailsInvoked: GUARDRAILS,
        toolsCalled: ['calculator'],
        usage: {
          modelId: MODEL,
          promptTokens: completion.usage?.prompt_tokens,
          completionTokens: completion.usage?.completion_tokens,
          totalTokens: completion.usage?.total_tokens,
        },
      },
    ]);
    expect(completion.usage?.total_tokens).toBeGreaterThan(0);
  });

  test('lists the models', async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual([MODEL]);
  });

  test('receives a stream piece by piece, with the tokens of the last piece', async () => {
    const stream = await client.chat.completions.create({
      model: MODEL,
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Tell me something long enough for some pieces' }],
    });
    const pieces: string[] = [];
    let tokens: OpenAI.CompletionUsage | null | undefined = null;
    for await (const chunk of stream) {
      const piece = chunk.choices[0]?.delta.content;
      if (piece) pieces.push(piece);
      tokens = chunk.usage ?? tokens;
    }
    expect(pieces.join('')).toBe('You said: Tell me something long enough for some pieces');
    expect(pieces.length).toBeGreaterThan(2);
    const [entry] = await rig.completed(1);
    expect(entry).not.toHaveProperty('aborted');
    expect(entry).toMatchObject({
      guardrailsInvoked: GUARDRAILS,
      usage: {
        modelId: MODEL,
        promptTokens: tokens?.prompt_tokens,
        completionTokens: tokens?.completion_tokens,
        totalTokens: tokens?.total_tokens,
      },
    });
  });

  test('ends the agent’s response if it aborts during a stream', async () => {
    const stream = await client.chat.completions.create({
      model: MODEL,
      stream: true,
      messages: [{ role: 'user', content: 'long '.repeat(20_000) }],
    });
    let pieces = 0;
    for await (const _chunk of stream) {
      pieces += 1;
      if (pieces === 3) stream.controller.abort();
    }
    await until(() => responses[0]?.closed === true, 'the end of the agent’s response');
    expect(responses.map(({ closed, writableFinished }) => ({ closed, writableFinished }))).toEqual([
      { closed: true, writableFinished: false },
    ]);
    expect(await rig.completed(1)).toMatchObject([
      { statusCode: 200, aborted: true, usage: { unavailable: expect.any(String) } },
    ]);
  });

  test('calls its own tool, from a complete response and from a stream', async () => {
    const question: OpenAI.ChatCompletionMessageParam = {
      role: 'user',
      content: 'What is the weather in Paris',
    };
    const request = { model: MODEL, tools: TOOLS, messages: [question] };
    const first = await client.chat.completions.create(request);
    const call = first.choices[0]?.message.tool_calls?.[0];
    expect(call).toMatchObject({
      type: 'function',
      function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
    });
    expect(first.choices[0]?.finish_reason).toBe('tool_calls');

    const streamed = await client.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
    ]);

    const last = await client.chat.completions.create({
      ...request,
      messages: [
        question,
        first.choices[0]!.message,
        { role: 'tool', tool_call_id: call?.id ?? '', content: 'sunny' },
      ],
    });
    expect(last.choices[0]?.message.content).toBe('Here is what I found: sunny');
  });

  test('receives the agent’s own rejection as an error', async () => {
    const rejected = client.chat.completions.create({ model: MODEL, messages: [] });
    await expect(rejected).rejects.toThrow(OpenAI.BadRequestError);
    await expect(rejected).rejects.toMatchObject({
      status: 400,
      error: { message: 'messages must be a non-empty list', type: 'invalid_request_error' },
    });
  });

  const HELLO = 'Hello! I look after orders and I can calculate.';
  test.each<[string, Partial<OpenAI.ChatCompletionCreateParams>, string, string | null]>([
    ['complete response', {}, 'Hello', HELLO],
    ['stream', { stream: true }, 'Hello', HELLO],
    ['tool call', { tools: TOOLS }, 'What is the weather in Paris', null],
    ['streamed tool call', { tools: TOOLS, stream: true }, 'What is the weather in Paris', null],
  ])('is informed of a denied %s as the mode requires', async (_what, params, content, expected) => {
    faults.add('pii-only-for-long-messages');
    const pending = client.chat.completions
      .create({ model: MODEL, messages: [{ role: 'user', content }], ...params })
      .withResponse();
    const violations = 'pii_detector_not_invoked';
    if (mode === 'enforce') {
      await expect(pending).rejects.toThrow(OpenAI.PermissionDeniedError);
      await expect(pending).rejects.toMatchObject({ status: 403, error: 'PolicyViolation' });
    } else {
      const { response, data } = await pending;
      expect(response.headers.get('x-platform-policy-violations')).toBe(violations);
      expect(await messageIn(data)).toEqual({
        content: expected,
        calls: expected === null ? ['get_weather'] : [],
      });
    }
    expect(await rig.completed(1)).toMatchObject([
      {
        statusCode: mode === 'enforce' ? 403 : 200,
        upstreamStatusCode: 200,
        outcome: 'deny',
        policyViolations: [violations],
        ...(mode === 'enforce' && { blocked: true }),
      },
    ]);
  });
}

/** Content and tool calls of a completion, complete or streamed. */
async function messageIn(
  data: OpenAI.ChatCompletion | AsyncIterable<OpenAI.ChatCompletionChunk>,
): Promise<{ content: string | null; calls: string[] }> {
  const parts: { content?: string | null; tool_calls?: { function?: { name?: string } }[] }[] = [];
  if ('choices' in data) parts.push(data.choices[0]?.message as (typeof parts)[0]);
  else for await (const { choices } of data) parts.push(choices[0]?.delta ?? {});
  const calls = parts.flatMap(({ tool_calls }) => tool_calls ?? []);
  return {
    content: parts.map(({ content }) => content ?? '').join('') || null,
    calls: calls.flatMap((call) => call.function?.name ?? []),
  };
}
