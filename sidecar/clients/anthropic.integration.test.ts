import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { BREAKS, DENIAL, inEachSetting, KEEPS, type ServedRig } from '../../testing/sidecar/client-rig.ts';
import { until } from '../../testing/time/until.ts';

const MODEL = 'claude-for-tests';
const WORDS = ['The ', 'answer ', 'is ', '42.'];
const USAGE = { input_tokens: 25, cache_read_input_tokens: 100, output_tokens: 4 };
/** Usage in the audit entry. Cached prompt tokens count as prompt tokens. */
const IN_THE_RING = { modelId: MODEL, promptTokens: 125, completionTokens: 4, totalTokens: 129 };
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, stop_sequence: null };

/** A call of one of the client's tools instead of the text, complete and as events. */
const TOOL_CALL = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Paris' } };
const TOOL_EVENTS = [
  {
    type: 'message_start',
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { ...TOOL_CALL, input: {} } },
  ...['{"city":', '"Paris"}'].map((partial_json) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json },
  })),
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: USAGE.output_tokens },
  },
  { type: 'message_stop' },
];

/** The events of one streamed message, as in the vendor's reference. */
const EVENTS = [
  {
    type: 'message_start',
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  ...WORDS.map((word) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: word },
  })),
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: USAGE.output_tokens },
  },
  { type: 'message_stop' },
];

inEachSetting('the Anthropic client', ({ mode, serve }) => {
  let rig: ServedRig;
  let client: Anthropic;
  let requests: { path: string | undefined; key: unknown; version: unknown; body: Record<string, unknown> }[];
  /** The agent's response to the latest request. */
  let latestResponse: ServerResponse | null;
  /** Number of events that the agent sends before it stays silent. With all events, it ends the response. */
  let eventsUntilSilence: number;

  const play = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    const { authorization: key, 'anthropic-version': version } = request.headers;
    requests.push({ path: request.url, key, version, body });
    latestResponse = response;
    const wantsTool = 'tools' in body;
    if (body['stream'] !== true) {
      const content = [wantsTool ? TOOL_CALL : { type: 'text', text: WORDS.join('') }];
      const stop_reason = wantsTool ? 'tool_use' : 'end_turn';
      const whole = JSON.stringify({ ...MESSAGE, content, stop_reason, usage: USAGE });
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
        .end(whole);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const event of (wantsTool ? TOOL_EVENTS : EVENTS).slice(0, eventsUntilSilence)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    if (eventsUntilSilence >= EVENTS.length) response.end();
    else await once(response, 'close');
  };

  beforeEach(async () => {
    requests = [];
    latestResponse = null;
    eventsUntilSilence = EVENTS.length;
    rig = await serve((request, response) => void play(request, response));
    client = new Anthropic({ apiKey: 'sk-ant', baseURL: rig.url, maxRetries: 0 });
  });
  afterEach(() => rig.close());

  const QUESTION: Anthropic.MessageCreateParamsNonStreaming = {
    model: MODEL,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'How much is 6 * 7? – “please”' }],
  };

  test('receives a complete message, and the ring entry has its tokens', async () => {
    const message = await client.messages.create(QUESTION);
    expect(message.content).toEqual([{ type: 'text', text: 'The answer is 42.' }]);
    expect(message.usage).toEqual(USAGE);
    expect(requests).toEqual([
      {
        path: '/v1/messages',
        key: 'Bearer sk-ant',
        version: expect.stringMatching(/^\d{4}-/),
        body: QUESTION,
      },
    ]);
    expect(await rig.completed(1)).toMatchObject([
      { path: '/v1/messages', statusCode: 200, outcome: 'allow', usage: IN_THE_RING },
    ]);
  });

  test('receives a stream word by word, and the ring entry has the same tokens', async () => {
    const words: string[] = [];
    const stream = client.messages.stream(QUESTION).on('text', (word) => words.push(word));
    const message = await stream.finalMessage();
    expect(words).toEqual(WORDS);
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: USAGE });
    expect(await rig.completed(1)).toMatchObject([
      { path: '/v1/messages', statusCode: 200, outcome: 'allow', usage: IN_THE_RING },
    ]);
  });

  // In mode enforce a denied stream is blocked, so a client cannot disconnect from it.
  const STREAMED: [outcome: string, reports: Record<string, string>][] = [['allow', KEEPS]];
  if (mode === 'track') STREAMED.push(['deny', BREAKS]);
  test.each(STREAMED)(
    'receives each event before the agent sends the next event, and ends the agent’s response when it disconnects (%s)',
    async (outcome, reports) => {
      rig.reports = reports;
      eventsUntilSilence = 4;
      const stream = client.messages.stream(QUESTION);
      const aborted = expect(stream.done()).rejects.toThrow(Anthropic.APIUserAbortError);
      await new Promise<void>((resolve) => stream.once('text', () => resolve()));
      expect(latestResponse?.closed).toBe(false);
      stream.abort();
      await aborted;
      await until(() => latestResponse?.closed === true, 'the end of the agent’s response');
      expect(await rig.completed(1)).toMatchObject([{ statusCode: 200, outcome, aborted: true }]);
    },
  );

  test('receives a tool call, complete and in a stream', async () => {
    const tools: Anthropic.Tool[] = [{ name: 'get_weather', input_schema: { type: 'object' } }];
    const call = { type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } };
    const message = await client.messages.create({ ...QUESTION, tools });
    expect(message).toMatchObject({ stop_reason: 'tool_use', content: [call] });
    const streamed = await client.messages.stream({ ...QUESTION, tools }).finalMessage();
    expect(streamed).toMatchObject({ stop_reason: 'tool_use', content: [call] });
    expect(requests.map(({ body }) => body['tools'])).toEqual([tools, tools]);
  });

  test('is informed of a denied message as the mode requires', async () => {
    rig.reports = BREAKS;
    const pending = client.messages.create(QUESTION).withResponse();
    if (mode === 'enforce') {
      await expect(pending).rejects.toThrow(Anthropic.PermissionDeniedError);
      await expect(pending).rejects.toMatchObject({
        status: 403,
        error: { error: 'PolicyViolation', violations: [DENIAL] },
      });
    } else {
      const { data, response } = await pending;
      expect(data.content).toEqual([{ type: 'text', text: 'The answer is 42.' }]);
      expect(response.headers.get('x-platform-policy-violations')).toBe(DENIAL);
    }
    // The tokens were used, whether the response was denied or not.
    expect(await rig.completed(1)).toMatchObject([
      { outcome: 'deny', policyViolations: [DENIAL], usage: IN_THE_RING },
    ]);
  });

  test('receives nothing of a denied stream in mode enforce, which ends at the agent, and everything in mode track', async () => {
    rig.reports = BREAKS;
    eventsUntilSilence = mode === 'enforce' ? 4 : EVENTS.length;
    const words: string[] = [];
    const stream = client.messages.stream(QUESTION).on('text', (word) => words.push(word));
    if (mode === 'enforce') {
      await expect(stream.finalMessage()).rejects.toThrow(Anthropic.PermissionDeniedError);
      await until(() => latestResponse?.closed === true, 'the end of the agent’s response');
      expect(latestResponse?.writableFinished).toBe(false);
    } else await stream.finalMessage();
    expect(words).toEqual(mode === 'enforce' ? [] : WORDS);
    expect(await rig.completed(1)).toMatchObject([{ outcome: 'deny', policyViolations: [DENIAL] }]);
  });
});
