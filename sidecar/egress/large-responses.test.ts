import type { FailModes } from '../../core/egress/fail-modes.ts';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import {
  brotliCompressSync,
  constants,
  deflateSync,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Json } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames } from '../../core/egress/sse-frames.ts';
import type { PolicyEngine } from '../../core/policy/engine.ts';
import { builtinEngine, policyOf } from '../../core/policy/policy.ts';
import {
  laneManifest,
  post,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';
import {
  VENDORS,
  type CallWire,
  type Received,
  type VendorResponse,
} from '../../testing/sidecar/vendor-streams.ts';

const MIB = 1024 * 1024;
/** A sidecar whose lanes parse 64 KiB and hold 256 KiB. */
const SMALL = 4 * MIB;
/** Base64 of a picture that is held, and of one that is not. */
const [HELD, TOO_LARGE] = [MIB / 8, MIB / 2].map((bytes) => 'iVBORw0KGgo/'.repeat(bytes / 12)) as [
  string,
  string,
];

const LANES = 'openai=vendor/v1,anthropic=vendor,gemini=vendor,cohere=vendor,ollama=vendor';
const TARGETS: Readonly<Record<CallWire, [target: string, stream: string]>> = {
  chat: ['/openai/v1/chat/completions', ''],
  responses: ['/openai/v1/responses', ''],
  anthropic: ['/anthropic/v1/messages', ''],
  gemini: ['/gemini/v1beta/models/gpt-5:generateContent', 'stream'],
  cohere: ['/cohere/v2/chat', ''],
  ollama: ['/ollama/api/chat', ''],
};
const WIRES = Object.keys(VENDORS) as CallWire[];

const SEARCH = { name: 'search', input: '{"id":"1"}' };
const ALLOWED: VendorResponse = { text: 'Wait.', calls: [SEARCH] };
const FORBIDDEN: VendorResponse = {
  text: 'Wait.',
  calls: [{ name: 'delete_order', input: '{"id":"2"}' }, SEARCH],
};
const USAGE = { promptTokens: 31, completionTokens: 5 };
const OF_ALLOWED = { blocked: false, usage: USAGE, toolsCalled: ['search'], violations: [] };

/** The document with a picture as its first or its last member. */
const withPicture = {
  first: (text: string, picture: string): string => text.replace('{', `{"picture":"${picture}",`),
  last: (text: string, picture: string): string => text.replace(/\}(?=\s*$)/, `,"picture":"${picture}"}`),
};
const PLACES = ['first', 'last'] as const;

/** The events of a stream, with a picture in one of them. */
function streamWith(events: readonly string[], at: number, place: 'first' | 'last', picture: string): string {
  return events.map((each, index) => (index === at ? withPicture[place](each, picture) : each)).join('');
}

let rig: EgressRig;
afterEach(() => rig.close());
const CLOSED: FailModes = { all: 'closed', lanes: new Map() };

const start = async (options: EgressRigOptions = {}): Promise<EgressRig> =>
  (rig = await startEgressRig({ lanes: LANES, memoryBytes: SMALL, ...options }));

/** The builtin engine as an engine in another process. */
const remote = (): PolicyEngine => {
  const engine = builtinEngine(() => policyOf(laneManifest()));
  return { evaluate: async (input) => await engine.evaluate(input) };
};

interface Seen {
  status: number;
  /** Also of a response that is cut. */
  body: string;
  bytes: Buffer;
  isComplete: boolean;
  headers: IncomingHttpHeaders;
}

function ask(wire: CallWire, isStream: boolean, other?: string): Promise<Seen> {
  const [target, marker] = TARGETS[wire];
  const usual = isStream && marker !== '' ? target.replace(':g', ':streamG').concat('?alt=sse') : target;
  const path = other ?? usual;
  const options = { host: '127.0.0.1', port: rig.port, path, method: 'POST', agent: false } as const;
  const body = { model: 'gpt-5', stream: isStream, stream_options: { include_usage: true } };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { ...options, headers: { 'content-type': 'application/json' } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
        response.on('close', () => {
          const bytes = Buffer.concat(chunks);
          const { statusCode: status = 0, headers, complete: isComplete } = response;
          resolve({ status, headers, isComplete, bytes, body: bytes.toString() });
        });
      },
    );
    request.on('error', reject).end(JSON.stringify(body));
  });
}

/** The vendor sends this in pieces. */
function response(wire: CallWire, isStream: boolean, text: string, encode?: Encode): void {
  const type = !isStream
    ? 'application/json'
    : wire === 'ollama'
      ? 'application/x-ndjson'
      : 'text/event-stream';
  const body = Buffer.from(text);
  const [coding, bytes] = encode === undefined ? [null, body] : encode(body);
  const length = !isStream && { 'content-length': bytes.length };
  const headers = { 'content-type': type, ...length, ...(coding !== null && { 'content-encoding': coding }) };
  rig.vendor.respond = (_seen, response) => {
    response.writeHead(200, headers);
    for (let at = 0; at < bytes.length; at += 50_000) response.write(bytes.subarray(at, at + 50_000));
    response.end();
  };
}

type Encode = (body: Buffer) => [coding: string, body: Buffer];
const CODINGS: readonly Encode[] = [
  (body) => ['gzip', gzipSync(body)],
  (body) => ['GZip', gzipSync(body)],
  (body) => ['deflate', deflateSync(body)],
  (body) => ['br', brotliCompressSync(body)],
  (body) => ['zstd', zstdCompressSync(body)],
];

const received = (wire: CallWire, isStream: boolean, body: string): Received => {
  const splitter = wire === 'ollama' ? createLineFrames(64 * MIB) : createSseFrames(64 * MIB);
  const frames = isStream ? [...splitter.push(Buffer.from(body)), ...splitter.end()] : [];
  const texts = isStream
    ? frames.flatMap(({ data }) => (data === null || data === '[DONE]' ? [] : [data]))
    : [body];
  return VENDORS[wire].receive(texts.map((text) => JSON.parse(text) as Json));
};

async function logged(count: number) {
  await until(() => rig.egress.log.newest().length >= count, 'the calls in the log');
  return rig.egress.log.newest()[count - 1];
}

async function expectFreeMemory(): Promise<void> {
  await until(() => rig.load.keepForEgress(4 * rig.load.maxEgressBody), 'the release of all memory');
}

/** The engine is asked in the same place for each protocol. */
const ENGINES: readonly [string, (() => PolicyEngine) | undefined, readonly CallWire[]][] = [
  ['in this process', undefined, WIRES],
  ['over the network', remote, ['responses', 'ollama']],
];
const engineOf = (engine: (() => PolicyEngine) | undefined): EgressRigOptions =>
  engine === undefined ? {} : { engine: engine() };

describe.each(ENGINES)('with the engine %s,', (_engine, engine, wires) => {
  describe.each(wires)('a body of %s with a picture', (wire) => {
    const whole = (from: VendorResponse): string => JSON.stringify(VENDORS[wire].whole(from));

    test('that is held loses only the forbidden call', async () => {
      await start(engineOf(engine));
      for (const [index, place] of PLACES.entries()) {
        response(wire, false, withPicture[place](whole(FORBIDDEN), HELD));
        const { status, body, headers } = await ask(wire, false);
        expect([status, headers['x-platform-policy-violations']]).toEqual([200, 'tool_not_declared']);
        expect(received(wire, false, body).calls).toEqual([SEARCH]);
        expect(JSON.parse(body)).toMatchObject({ picture: HELD });
        expect(await logged(index + 1)).toMatchObject({ blocked: true, usage: USAGE, statusCode: 200 });
      }
      await expectFreeMemory();
    });

    test('that is not held does not deliver the forbidden call', async () => {
      await start(engineOf(engine));
      for (const [index, place] of PLACES.entries()) {
        response(wire, false, withPicture[place](whole(FORBIDDEN), TOO_LARGE));
        const { status, body, isComplete } = await ask(wire, false);
        expect(body).not.toContain('"delete_order"');
        // After the picture, the response has begun: it is cut in front of the call.
        expect([status, isComplete]).toEqual(place === 'first' ? [200, false] : [403, true]);
        expect(await logged(index + 1)).toMatchObject({
          ...{ blocked: true, violations: ['tool_not_declared'], toolsCalled: ['delete_order', 'search'] },
        });
      }
      await expectFreeMemory();
    });

    test('passes byte for byte without a forbidden call', async () => {
      await start(engineOf(engine));
      const pictures = PLACES.flatMap((place) =>
        [HELD, TOO_LARGE].map((picture) => [place, picture] as const),
      );
      for (const [index, [place, picture]] of pictures.entries()) {
        const sent = withPicture[place](whole(ALLOWED), picture);
        response(wire, false, sent);
        const { status, body, isComplete, headers } = await ask(wire, false);
        expect([status, body === sent, isComplete]).toEqual([200, true, true]);
        expect(headers['x-platform-policy-violations']).toBeUndefined();
        expect(await logged(index + 1)).toMatchObject(OF_ALLOWED);
      }
      expect(rig.egress.log.counts.get(rig.egress.log.newest()[0]!.lane)?.unread.size).toBe(0);
      await expectFreeMemory();
    });
  });

  describe.each(wires)('a stream of %s with a picture in one of its events', (wire) => {
    const events = VENDORS[wire].stream(FORBIDDEN);
    const isForbidden = (each: string): boolean => each.includes('delete_order');
    const first = events.findIndex(isForbidden);
    const last = events.findLastIndex(isForbidden);
    const cases = [...new Set([first - 1, first, last])].flatMap((at) =>
      PLACES.map((place) => [at, place] as const),
    );

    test('that is held loses only the forbidden call', async () => {
      await start(engineOf(engine));
      for (const [index, [at, place]] of cases.entries()) {
        response(wire, true, streamWith(events, at, place, HELD));
        const { body } = await ask(wire, true);
        expect(body).not.toContain('delete_order');
        expect(received(wire, true, body).calls).toEqual([SEARCH]);
        // An event that is only the call is removed with all of its members.
        if (wire === 'responses' ? at !== first : at < first) expect(body).toContain(HELD);
        const expected = { blocked: true, usage: USAGE, violations: ['tool_not_declared'] };
        expect(await logged(index + 1)).toMatchObject(expected);
      }
      await expectFreeMemory();
    });

    test('that is not held does not deliver the forbidden call', async () => {
      await start(engineOf(engine));
      for (const [index, [at, place]] of cases.entries()) {
        response(wire, true, streamWith(events, at, place, TOO_LARGE));
        const { body } = await ask(wire, true);
        expect(body).not.toContain('delete_order');
        expect(await logged(index + 1)).toMatchObject({ blocked: true, violations: ['tool_not_declared'] });
      }
      await expectFreeMemory();
    });

    test('passes byte for byte without a forbidden call', async () => {
      await start(engineOf(engine));
      const allowed = VENDORS[wire].stream(ALLOWED).filter((each) => !each.includes('[DONE]'));
      for (const at of allowed.keys()) {
        const [place, picture] = [PLACES[at % 2] ?? 'last', at % 3 === 0 ? HELD : TOO_LARGE];
        const sent = streamWith(allowed, at, place, picture);
        response(wire, true, sent);
        expect((await ask(wire, true)).body === sent).toBe(true);
        expect(await logged(at + 1)).toMatchObject(OF_ALLOWED);
      }
      await expectFreeMemory();
    });
  });
});

describe.each(WIRES)('in the mode track, %s', (wire) => {
  test.each([false, true])('passes byte for byte and is read (stream: %s)', async (isStream) => {
    await start({ mode: 'track' });
    for (const [index, picture] of [HELD, TOO_LARGE].entries()) {
      const events = isStream
        ? VENDORS[wire].stream(FORBIDDEN)
        : [JSON.stringify(VENDORS[wire].whole(FORBIDDEN))];
      const sent = streamWith(
        events,
        events.findLastIndex((each) => each.includes('delete_order')),
        'last',
        picture,
      );
      response(wire, isStream, sent);
      expect((await ask(wire, isStream)).body === sent).toBe(true);
      expect(await logged(index + 1)).toMatchObject({
        ...{ blocked: false, usage: USAGE, toolsCalled: ['delete_order', 'search'] },
        violations: ['tool_not_declared'],
      });
    }
    await expectFreeMemory();
  });
});

describe.each([false, true])('a coded response (stream: %s)', (isStream) => {
  const text = (from: VendorResponse, picture: string): string =>
    isStream
      ? streamWith(
          VENDORS.responses.stream(from),
          VENDORS.responses.stream(from).length - 1,
          'first',
          picture,
        )
      : withPicture.first(JSON.stringify(VENDORS.responses.whole(from)), picture);

  test.each(CODINGS.map((encode) => [encode(Buffer.of())[0], encode] as const))(
    'with %s is decoded in the mode enforce',
    async (_coding, encode) => {
      await start();
      let count = 0;
      for (const picture of ['', HELD, TOO_LARGE]) {
        response('responses', isStream, text(FORBIDDEN, picture), encode);
        const forbidden = await ask('responses', isStream);
        expect(forbidden.body).not.toContain('"delete_order"');
        expect(await logged((count += 1))).toMatchObject({
          blocked: true,
          violations: ['tool_not_declared'],
        });
        response('responses', isStream, text(ALLOWED, picture), encode);
        const allowed = await ask('responses', isStream);
        expect([allowed.status, allowed.body === text(ALLOWED, picture)]).toEqual([200, true]);
        expect(allowed.headers['content-encoding']).toBeUndefined();
        expect(await logged((count += 1))).toMatchObject({
          blocked: false,
          usage: USAGE,
          toolsCalled: ['search'],
        });
      }
      await expectFreeMemory();
    },
  );

  test('passes in the mode track, a document as it is', async () => {
    await start({ mode: 'track' });
    response('responses', isStream, text(FORBIDDEN, ''), (body) => ['gzip', gzipSync(body)]);
    const { bytes, headers } = await ask('responses', isStream);
    expect(headers['content-encoding']).toBe(isStream ? undefined : 'gzip');
    expect((isStream ? bytes : gunzipSync(bytes)).toString()).toBe(text(FORBIDDEN, ''));
  });

  test('that is cut, or has twenty megabytes when it is decoded, ends the call', async () => {
    await start();
    const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
    const bomb = brotliCompressSync(Buffer.alloc(20 * MIB, ' '), { params });
    for (const [index, body] of [
      gzipSync(isStream ? 'data: {}\n\n' : '{"x":1}').subarray(0, 20),
      bomb,
    ].entries()) {
      response('responses', isStream, '', () => [index === 1 ? 'br' : 'gzip', body]);
      const { status, isComplete } = await ask('responses', isStream);
      // A stream whose head was sent ends incomplete.
      expect(status === 502 || (isStream && !isComplete)).toBe(true);
    }
    await expectFreeMemory();
  });
});

describe('a response with too much in addition to long strings', () => {
  const logprobs = Array.from({ length: 3_000 }, (_, index) => ({
    token: `t${index}`,
    logprob: -index / 7,
  }));
  const text = JSON.stringify({ logprobs, ...VENDORS.chat.whole(ALLOWED) });
  const stream = `data: {"choices":[]}\n\ndata: ${text}\n\ndata: [DONE]\n\n`;

  test.each([
    [false, text, 403],
    [true, stream, 200],
  ])('does not pass if the lane fails closed (stream: %s)', async (isStream, sent, status) => {
    await start({ failModes: CLOSED });
    response('chat', isStream, sent);
    const received = await ask('chat', isStream);
    expect(received.status).toBe(status);
    expect(received.body).toContain('body_unread');
    expect(received.body).not.toContain('"search"');
    expect(await logged(1)).toMatchObject({
      blocked: true,
      violations: ['body_unread'],
      outcome: 'deny',
    });
    expect(rig.egress.log.counts.get('openai')?.unread.size).toBe(1);
    await expectFreeMemory();
  });

  test.each([
    [false, text],
    [true, stream],
  ])('passes unread if the lane fails open (stream: %s)', async (isStream, sent) => {
    await start();
    response('chat', isStream, sent);
    expect((await ask('chat', isStream)).body === sent).toBe(true);
    expect(await logged(1)).toMatchObject({ blocked: false, violations: [], usage: null });
    expect(rig.egress.log.counts.get('openai')?.unread.size).toBe(1);
  });

  test('passes if the protocol has no calls of tools', async () => {
    await start();
    const sent = JSON.stringify({ data: Array.from({ length: 10_000 }, (_, index) => index / 3) });
    response('chat', false, sent);
    const { status, body } = await ask('chat', false, '/openai/v1/embeddings');
    expect([status, body === sent]).toEqual([200, true]);
  });
});

test('a part that cannot be read on its own does not pass if the lane fails closed, because of a member with a long name', async () => {
  await start({ failModes: CLOSED });
  const [call = ''] = VENDORS.gemini.stream({ text: '', calls: FORBIDDEN.calls });
  for (const [index, isStream] of [true, false].entries()) {
    const text = isStream ? call : call.replace('data: ', '');
    response('gemini', isStream, text.replace(/\}(?=\s*$)/, `,"${TOO_LARGE}":1}`));
    const { body } = await ask('gemini', isStream);
    expect(body).not.toContain('"delete_order"');
    expect(await logged(index + 1)).toMatchObject({ blocked: true, violations: ['body_unread'] });
  }
});

test('with EGRESS_ON_FORBIDDEN_TOOL=fail a large event does not deliver the forbidden call', async () => {
  await start({ onForbiddenTool: 'fail' });
  const events = VENDORS.responses.stream(FORBIDDEN);
  for (const [index, picture] of [HELD, TOO_LARGE].entries()) {
    const last = VENDORS.responses.whole(FORBIDDEN);
    const only = `data: ${JSON.stringify({ type: 'response.completed', response: last })}\n\n`;
    for (const [at, sent] of [
      streamWith(events, 0, 'first', picture),
      withPicture.first(only, picture),
    ].entries()) {
      response('responses', true, sent);
      expect((await ask('responses', true)).body).not.toContain('"delete_order"');
      expect(await logged(2 * index + at + 1)).toMatchObject({ blocked: true });
    }
  }
  await expectFreeMemory();
});

test('a picture of 4 MiB in the last event of Responses passes the lanes of an injected sidecar', async () => {
  await start({ memoryBytes: 192 * MIB });
  const picture = 'iVBORw0KGgo/'.repeat((4 * MIB) / 12);
  const item = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: picture };
  const events = VENDORS.responses.stream(FORBIDDEN);
  const last = JSON.parse(events.at(-1)!.replace(/^.*\ndata: /s, '')) as { response: { output: object[] } };
  last.response.output.unshift(item);
  const added = [{ type: 'response.output_item.done', output_index: 9, item }, last];
  const tail = added.map((each) => `event: x\ndata: ${JSON.stringify(each)}\n\n`).join('');
  response('responses', true, events.slice(0, -1).join('') + tail);
  const { body } = await ask('responses', true);
  expect(body).not.toContain('delete_order');
  expect(body.split(picture)).toHaveLength(3);
  expect(await logged(1)).toMatchObject({
    blocked: true,
    usage: USAGE,
    toolsCalled: ['delete_order', 'search'],
  });
});

describe('a tool of an MCP server that returns a picture', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'draw', arguments: {} } };
  const result = (picture: string, isError: boolean): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'image', data: picture }], isError },
    });

  test.each([
    ['application/json', (text: string) => text],
    ['text/event-stream', (text: string) => `event: message\ndata: ${text}\n\n`],
  ])('in %s ran, unless its result is an error', async (type, form) => {
    const servers = [{ name: 'files', url: 'https://files.example.com/mcp' }];
    await start({ lanes: 'mcp:files=vendor/mcp', manifest: laneManifest({ mcp: { servers } }) });
    for (const [index, picture] of [HELD, TOO_LARGE].entries())
      for (const isError of [false, true]) {
        const sent = form(result(picture, isError));
        rig.vendor.respond = (_seen, response) =>
          void response.writeHead(200, { 'content-type': type }).end(sent);
        expect((await post(rig.port, '/mcp/files', call)).body === sent).toBe(true);
        expect(await logged(2 * index + (isError ? 2 : 1))).toMatchObject({
          ...{ toolsCalled: ['draw'], toolsExecuted: isError ? [] : ['draw'], blocked: false },
        });
      }
    await expectFreeMemory();
  });
});
