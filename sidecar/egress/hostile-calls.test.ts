import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../runtime/clock.ts';
import { CHAT, reply } from '../../testing/sidecar/chat-vendor.ts';
import {
  post,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/sidecar/egress-rig.ts';
import { askRaw } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: EgressRig;
const start = async (options: EgressRigOptions = {}): Promise<EgressRig> =>
  (rig = await startEgressRig(options));
afterEach(() => rig.close());

const FILES = { lanes: 'mcp:files=vendor/mcp' };
const ask = { model: 'gpt-5', messages: [], max_tokens: 50 };
const responseWith = (call: object): string =>
  JSON.stringify({
    model: 'gpt-5',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, tool_calls: [call] },
        finish_reason: 'tool_calls',
      },
    ],
  });
const mcpCall = (name: string, id = '1', args = '{}'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`;

describe('a body that JavaScript cannot process ends only its call:', () => {
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);

  test('arguments of an MCP tool that are nested too deeply are not valid', async () => {
    await start(FILES);
    const { status, body } = await post(rig.port, '/mcp/files', mcpCall('pay', '1', `{"x":${deep}}`));
    expect(status).toBe(200);
    expect(body).toContain('tool_arguments_invalid');
    expect(rig.vendor.requests).toHaveLength(0);
  });

  test('a list with more tools than a call may have arguments is read', async () => {
    await start({ lanes: 'gemini=vendor' });
    rig.vendor.respond = reply('{}');
    const tools = `${'{},'.repeat(300_000)}{"name":"delete_all"}`;
    const { status, body } = await post(
      rig.port,
      '/gemini/v1beta/models/gpt-5:generateContent',
      `{"tools":[{"functionDeclarations":[${tools}]}]}`,
    );
    expect(status).toBe(403);
    expect(body).toContain('delete_all');
  });
});

describe('MCP', () => {
  test.each([
    ['with an entry that is not a message', `[${mcpCall('delete_all')},1]`],
    ['of 101 messages', `[${Array.from({ length: 101 }, () => mcpCall('delete_all')).join(',')}]`],
    ['of another version', mcpCall('delete_all').replace('2.0', '1.0')],
  ])('a forbidden call in a body %s is not sent', async (_, body) => {
    await start(FILES);
    const response = await post(rig.port, '/mcp/files', body);
    expect(response.body).toContain('tool_not_declared');
    expect(rig.vendor.requests).toHaveLength(0);
  });

  test('a body without a message passes and counts as unread', async () => {
    await start(FILES);
    rig.vendor.respond = reply('{}');
    await post(rig.port, '/mcp/files', '[1]');
    await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
    expect(rig.vendor.requests).toHaveLength(1);
    expect(rig.egress.log.counts.get('mcp:files')?.unread).toEqual({
      route: 0,
      size: 0,
      form: 1,
    });
  });
});

describe('a forbidden call does not reach the agent', () => {
  test('behind a byte order mark', async () => {
    await start();
    const name = 'delete_all';
    const text = responseWith({
      id: 'a',
      type: 'function',
      function: { name, arguments: '{}' },
    });
    rig.vendor.respond = reply(`\uFEFF${text}`);
    const { body } = await post(rig.port, CHAT, ask);
    expect(body).not.toContain(name);
  });

  test('as a custom tool with an empty function', async () => {
    await start();
    const custom = { name: 'delete_all', input: 'x' };
    rig.vendor.respond = reply(responseWith({ id: 'a', type: 'custom', function: {}, custom }));
    const { body } = await post(rig.port, CHAT, ask);
    expect(body).not.toContain('delete_all');
  });

  test('in a request behind a byte order mark: its model is evaluated', async () => {
    await start();
    const { status } = await post(rig.port, CHAT, `\uFEFF${JSON.stringify({ ...ask, model: 'other' })}`);
    expect(status).toBe(403);
  });
});

describe('numbers that JavaScript cannot represent', () => {
  const LONG = '12345678901234567890';

  test('stay in the allowed call next to a removed one', async () => {
    await start({ lanes: 'anthropic=vendor' });
    const call = (name: string): string =>
      `{"type":"tool_use","id":"${name}","name":"${name}","input":{"order":${LONG},"rest":1e400}}`;
    rig.vendor.respond = reply(
      `{"model":"gpt-5","stop_reason":"tool_use","content":[${call('delete_all')},${call('search')}]}`,
    );
    const { body } = await post(rig.port, '/anthropic/v1/messages', ask);
    expect(body).not.toContain('delete_all');
    expect(body).toContain(call('search'));
  });

  test('stay in an event of which a call was removed', async () => {
    await start({ lanes: 'gemini=vendor' });
    const call = (name: string): string => `{"functionCall":{"name":"${name}","args":{"order":${LONG}}}}`;
    const event = `{"candidates":[{"content":{"parts":[${call('delete_all')},${call('search')}]},"finishReason":"STOP"}]}`;
    rig.vendor.respond = reply(`data: ${event}\n\n`, 'text/event-stream');
    const path = '/gemini/v1beta/models/gpt-5:streamGenerateContent?alt=sse';
    const { body } = await post(rig.port, path, { contents: [] });
    expect(body).not.toContain('delete_all');
    expect(body).toContain(call('search'));
  });

  test('stay in a request whose stream options the lane extends', async () => {
    await start();
    rig.vendor.respond = reply('{}');
    const schema = `{"type":"object","properties":{"id":{"maximum":${LONG}}}}`;
    const tools = `[{"type":"function","function":{"name":"search","parameters":${schema}}}]`;
    await post(
      rig.port,
      CHAT,
      `{"model":"gpt-5","messages":[],"stream":true,"stream_options":{},"tools":${tools}}`,
    );
    expect(rig.vendor.requests[0]?.body).toContain('"include_usage":true');
    expect(rig.vendor.requests[0]?.body).toContain(schema);
  });
});

test('the authority of an absolute target must be loopback too', async () => {
  await start();
  const head = 'Host: 127.0.0.1\r\nConnection: close\r\n\r\n';
  const response = await askRaw(rig.port, `GET http://evil.example/openai/v1/models HTTP/1.1\r\n${head}`);
  expect(response).toMatch(/^HTTP\/1\.1 403 /);
  expect(rig.vendor.requests).toHaveLength(0);
});

test('calls that the agent aborts at any point leave no open reservation and no memory', async () => {
  let days = 0;
  const now = (): Date => new Date(Date.now() + days * 86_400_000);
  await start({
    clock: Object.assign(Object.create(systemClock) as typeof systemClock, {
      now,
    }),
  });
  rig.vendor.respond = () => undefined;
  const body = JSON.stringify(ask);
  const head = `POST ${CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const closed: Promise<unknown>[] = [];
  const sent = [body.slice(0, 10), body, body + head + body];
  for (let index = 0; index < 30; index++) {
    const socket = connect(rig.port, '127.0.0.1').on('error', () => undefined);
    closed.push(new Promise((resolve) => socket.once('close', resolve)));
    socket.write(head + sent[index % sent.length], () => {
      if (index % 2 === 0) socket.destroy();
      else setImmediate(() => socket.destroy());
    });
  }
  const session = connectHttp2(rig.url).on('error', () => undefined);
  for (let index = 0; index < 30; index++) {
    const stream = session.request({
      ':method': 'POST',
      ':path': CHAT,
      'content-type': 'application/json',
    });
    closed.push(new Promise((resolve) => stream.on('error', () => undefined).once('close', resolve)));
    stream.end(body, () => stream.close(index % 2 === 0 ? 0 : 8));
  }
  await Promise.all(closed);
  session.destroy();
  // What a call that was sent may have used is kept until the end of the day. An open reservation has no end.
  const isFree = (): boolean => {
    days += 1;
    return rig.egress.reservations.total.tokens === 0;
  };
  await until(isFree, 'the end of all reservations');
  // The sidecar may notice the end of the last connection after this process.
  await until(() => rig.load.keepForEgress(4 * rig.load.maxEgressBody), 'the release of all memory');
});

describe('the memory of an open stream counts towards the budget of the lanes:', () => {
  /** Sixteen megabytes; the lanes may use one, and one body a quarter of it. */
  const memoryBytes = 16 * 1024 * 1024;
  const BUDGET = memoryBytes / 16;
  const PART = 128 * 1024;
  /** Whether `bytes` more are free. */
  const isFree = (bytes: number): boolean => {
    const hasRoom = rig.load.keepForEgress(bytes);
    if (hasRoom) rig.load.keepForEgress(-bytes);
    return hasRoom;
  };
  const chunk = (delta: object, reason: string | null = null): string =>
    `data: ${JSON.stringify({ model: 'gpt-5', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const part = (id: string | undefined, name: string | undefined, args: string): string =>
    chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: args } }] });
  const ask = { model: 'gpt-5', messages: [], stream: true, stream_options: { include_usage: true } };

  /** An open stream of the vendor that has sent `begin`, and what the agent has received of it at the end. */
  async function open(begin: string): Promise<{ end: (rest: string) => Promise<string> }> {
    await start({ memoryBytes });
    let send: ((rest: string) => void) | null = null;
    rig.vendor.respond = (_seen, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(begin);
      send = (rest) => void response.end(rest);
    };
    const received = post(rig.port, CHAT, ask);
    await until(() => send !== null);
    return {
      end: async (rest) => {
        send?.(rest);
        return (await received).body;
      },
    };
  }

  test('an event that is not complete, until it ends', async () => {
    const begin = `data: {"model":"gpt-5","choices":[],"x":"${'x'.repeat(PART)}`;
    const stream = await open(begin);
    await until(() => !isFree(BUDGET - PART / 2));
    expect(isFree(BUDGET - PART)).toBe(true);
    const rest = '"}\n\ndata: [DONE]\n\n';
    expect(await stream.end(rest)).toBe(begin + rest);
    await until(() => isFree(BUDGET));
  });

  test('without room it passes in parts, each after it was read', async () => {
    await start({ memoryBytes });
    rig.load.keepForEgress(BUDGET);
    const text = `data: {"x":"${'x'.repeat(PART)}"}\n\n`;
    rig.vendor.respond = reply(text, 'text/event-stream');
    // The request has no room either, so it passes unread.
    expect((await post(rig.port, CHAT, ask)).body).toBe(text);
    expect(rig.egress.log.counts.get('openai')?.unread.size).toBe(1);
  });

  test('a call that is held for its arguments; without room it is removed', async () => {
    const args = JSON.stringify({ amount: 1, note: 'x'.repeat(PART) });
    const stream = await open(part('call_1', 'pay', args.slice(0, PART / 2)));
    await until(() => !isFree(BUDGET - PART / 4));
    rig.load.keepForEgress(BUDGET - PART / 2);
    const pieces = args.slice(PART / 2).match(/.{1,8000}/gs) ?? [];
    const events = pieces.map((piece) => part(undefined, undefined, piece)).join('');
    const body = await stream.end(`${events}${chunk({}, 'tool_calls')}data: [DONE]\n\n`);
    expect(body).not.toContain('"pay"');
    expect(body).toContain('policy of this agent');
    rig.load.keepForEgress(PART / 2 - BUDGET);
    await until(() => isFree(BUDGET));
  });
});
