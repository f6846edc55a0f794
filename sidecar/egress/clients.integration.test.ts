import { request as httpRequest } from 'node:http';
import { createGzip } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import OpenAI, { AzureOpenAI } from 'openai';
import {
  laneManifest,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/sidecar/egress-rig.ts';
import { startVendor, type Vendor } from '../../testing/frameworks/vendor.ts';
import { until } from '../../testing/time/until.ts';

/** The clients of OpenAI and Anthropic through lanes, with a vendor that knows how many tokens it used. */
let model: Vendor;
let rig: EgressRig;

beforeEach(async () => {
  model = await startVendor();
  model.begin({ name: 'lanes' });
});
afterEach(async () => {
  await rig.close();
  await model.close();
});

async function start(options: EgressRigOptions = {}): Promise<void> {
  rig = await startEgressRig({ lanes: 'openai=vendor/v1,anthropic=vendor', ...options });
  rig.vendor.respond = ({ method, url, headers, body }, response) => {
    const { host: _, ...others } = headers;
    const request = httpRequest(model.url + url, { method, headers: others }, (incoming) => {
      response.writeHead(incoming.statusCode ?? 0, incoming.headers);
      incoming.pipe(response);
    });
    request.end(body);
  };
}

const openai = (baseURL: string): OpenAI => new OpenAI({ apiKey: 'sk-secret', baseURL });
const anthropic = (baseURL: string): Anthropic => new Anthropic({ apiKey: 'sk-secret', baseURL });

const parameters = { type: 'object' as const, properties: { amount: { type: 'number' } } };
const chatTool = (name: string): OpenAI.ChatCompletionTool => ({
  type: 'function',
  function: { name, parameters },
});
const messages = [{ role: 'user' as const, content: 'hi' }];

interface Client {
  lane: string;
  /** Path of the base URL at the vendor. */
  base: string;
  /** All events of one streamed call that offers this tool. */
  events(baseUrl: string, tool: string): Promise<unknown[]>;
}

async function collected(events: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const CLIENTS: Record<string, Client> = {
  'OpenAI chat completions': {
    ...{ lane: '/openai/v1', base: '/v1' },
    events: async (url, tool) =>
      collected(
        await openai(url).chat.completions.create({
          model: 'gpt-5',
          messages,
          stream: true,
          tools: [chatTool(tool)],
        }),
      ),
  },
  'OpenAI Responses': {
    ...{ lane: '/openai/v1', base: '/v1' },
    events: async (url, tool) => {
      const tools = [{ type: 'function' as const, name: tool, parameters, strict: false }];
      return collected(
        await openai(url).responses.create({ model: 'gpt-5', input: 'hi', stream: true, tools }),
      );
    },
  },
  'Anthropic messages': {
    ...{ lane: '/anthropic', base: '' },
    events: async (url, tool) => {
      const tools = [{ name: tool, input_schema: parameters }];
      const request = { model: 'gpt-5', max_tokens: 100, messages, stream: true as const, tools };
      return collected(await anthropic(url).messages.create(request));
    },
  },
};

describe.each(Object.entries(CLIENTS))('a stream of %s', (_, client) => {
  test('has the events of the vendor, and its tokens', async () => {
    await start();
    const direct = await client.events(model.url + client.base, 'search');
    model.begin({ name: 'lanes' });
    expect(await client.events(rig.url + client.lane, 'search')).toEqual(direct);
    await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
    const [call] = rig.egress.log.newest();
    const [billed] = model.calls;
    expect(call).toMatchObject({
      ...{ model: 'gpt-5', stream: true, toolsOffered: ['search'], toolsCalled: ['search'], violations: [] },
      usage: { promptTokens: billed?.promptTokens, completionTokens: billed?.completionTokens },
    });
  });

  test('with an undeclared tool is a clean error, and costs nothing', async () => {
    await start();
    const error = await client.events(rig.url + client.lane, 'delete_all').catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Error);
    expect(String((error as Error).constructor.name)).toBe('PermissionDeniedError');
    expect((error as Error).message).toContain('delete_all');
    expect(rig.vendor.requests).toEqual([]);
  });

  test('without the call whose arguments are not valid', async () => {
    await start({ manifest: laneManifest() });
    model.begin({ name: 'lanes', toolInput: '{"amount":500}' });
    const events = JSON.stringify(await client.events(rig.url + client.lane, 'pay'));
    expect(events).not.toContain('"amount');
    expect(events).toContain('policy of this agent');
    await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
    expect(rig.egress.log.newest()[0]).toMatchObject({
      toolsCalled: ['pay'],
      violations: ['tool_arguments_invalid'],
    });
  });

  test('is an error instead of a forbidden call with EGRESS_ON_FORBIDDEN_TOOL=fail', async () => {
    await start({ onForbiddenTool: 'fail' });
    model.begin({ name: 'lanes', toolInput: '{"amount":500}' });
    await expect(client.events(rig.url + client.lane, 'pay')).rejects.toMatchObject({ status: 403 });
    expect(model.calls).toHaveLength(1);
  });
});

test('the client of Azure with an undeclared deployment is stopped, whatever its model is', async () => {
  await start({ lanes: 'azure=vendor' });
  const endpoint = `${rig.url}/azure`;
  const create = (deployment: string): Promise<unknown> =>
    new AzureOpenAI({ apiKey: 'k', endpoint, apiVersion: '2024-10-21', deployment }).chat.completions.create({
      ...{ model: 'gpt-5', messages },
    });
  await expect(create('other')).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining('other'),
  });
  expect(rig.vendor.requests).toEqual([]);
  await create('gpt-5').catch(() => undefined);
  expect(rig.vendor.requests[0]?.url).toContain('/deployments/gpt-5/');
});

test.each([['text/plain'], ['']])(
  'a client reads a coded stream with the type %s, without its forbidden call',
  async (type) => {
    await start();
    model.begin({ name: 'lanes', toolInput: '{"amount":500}' });
    rig.vendor.respond = ({ method, url, headers, body }, response) => {
      const { host: _, ...others } = headers;
      const request = httpRequest(model.url + url, { method, headers: others }, (incoming) => {
        response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' });
        incoming.pipe(createGzip()).pipe(response);
      });
      request.end(body);
    };
    const events = JSON.stringify(
      await CLIENTS['OpenAI chat completions']?.events(`${rig.url}/openai/v1`, 'pay'),
    );
    expect(events).toContain('policy of this agent');
    expect(events).not.toContain('"amount');
  },
);

test('the client of OpenAI receives a generated picture without the forbidden call next to it', async () => {
  await start({ memoryBytes: 192 * 1024 * 1024 });
  const picture = 'iVBORw0KGgo/'.repeat(400_000);
  const output = [
    { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: picture },
    {
      id: 'fc_1',
      type: 'function_call',
      call_id: 'c_1',
      name: 'delete_all',
      arguments: '{}',
      status: 'completed',
    },
  ];
  const response = { id: 'resp_1', object: 'response', model: 'gpt-5', status: 'completed', output };
  const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4 };
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { ...response, usage } },
  ];
  rig.vendor.respond = (_seen, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  };
  const stream = openai(`${rig.url}/openai/v1`).responses.stream({ model: 'gpt-5', input: 'Draw.' });
  const final = await stream.finalResponse();
  expect(final.output.map(({ type }) => type)).toEqual(['image_generation_call', 'message']);
  expect(final.output[0]).toMatchObject({ result: picture });
  expect(final.output_text).toContain('policy of this agent');
  await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
  expect(rig.egress.log.newest()[0]).toMatchObject({
    ...{ blocked: true, toolsCalled: ['delete_all'], violations: ['tool_not_declared'] },
    usage: { promptTokens: 3, completionTokens: 1 },
  });
});
