import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Json } from '../../core/egress/model-wire.ts';
import { createLineFrames, createSseFrames } from '../../core/egress/sse-frames.ts';
import type { PolicyEngine } from '../../core/policy/engine.ts';
import { builtinEngine, policyOf } from '../../core/policy/policy.ts';
import {
  laneManifest,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/egress-rig.ts';
import { until } from '../../testing/proxy-rig.ts';
import { VENDORS, type CallWire, type Received, type VendorAnswer } from '../../testing/vendor-streams.ts';

const MIB = 1024 * 1024;
/** A sidecar whose lanes parse 256 KiB and hold 1 MiB. */
const SMALL = 16 * MIB;
/** Base64 of a picture that is held, and of one that is not. */
const [HELD, TOO_LARGE] = [MIB / 2, 2 * MIB].map((bytes) => 'iVBORw0KGgo/'.repeat(bytes / 12)) as [
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
const ALLOWED: VendorAnswer = { text: 'Wait.', calls: [SEARCH] };
const FORBIDDEN: VendorAnswer = {
  text: 'Wait.',
  calls: [{ name: 'delete_order', input: '{"id":"2"}' }, SEARCH],
};
const USAGE = { promptTokens: 31, completionTokens: 5 };

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
  isComplete: boolean;
  violations: string | undefined;
}

function ask(wire: CallWire, isStream: boolean): Promise<Seen> {
  const [target, marker] = TARGETS[wire];
  const path = isStream && marker !== '' ? target.replace(':g', ':streamG').concat('?alt=sse') : target;
  const options = { host: '127.0.0.1', port: rig.port, path, method: 'POST', agent: false } as const;
  const body = { model: 'gpt-5', stream: isStream, stream_options: { include_usage: true } };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { ...options, headers: { 'content-type': 'application/json' } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
        response.on('close', () => {
          const violations = response.headers['x-platform-policy-violations'];
          resolve({
            ...{ status: response.statusCode ?? 0, isComplete: response.complete },
            ...{ body: Buffer.concat(chunks).toString(), violations: violations as string | undefined },
          });
        });
      },
    );
    request.on('error', reject).end(JSON.stringify(body));
  });
}

/** The vendor sends this in pieces. */
function answer(wire: CallWire, isStream: boolean, body: string): void {
  const type = !isStream
    ? 'application/json'
    : wire === 'ollama'
      ? 'application/x-ndjson'
      : 'text/event-stream';
  rig.vendor.answer = (_seen, response) => {
    response.writeHead(200, {
      'content-type': type,
      ...(!isStream && { 'content-length': Buffer.byteLength(body) }),
    });
    for (let at = 0; at < body.length; at += 100_000) response.write(body.slice(at, at + 100_000));
    response.end();
  };
}

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

const ENGINES = [
  ['in this process', undefined],
  ['over the network', remote],
] as const;
const engineOf = (engine: (() => PolicyEngine) | undefined): EgressRigOptions =>
  engine === undefined ? {} : { engine: engine() };

describe.each(ENGINES)('with the engine %s,', (_engine, engine) => {
  describe.each(WIRES)('a body of %s with a picture', (wire) => {
    const whole = (from: VendorAnswer): string => JSON.stringify(VENDORS[wire].whole(from));

    test.each(PLACES)('as its %s member that is held loses only the forbidden call', async (place) => {
      await start(engineOf(engine));
      answer(wire, false, withPicture[place](whole(FORBIDDEN), HELD));
      const { status, body, violations } = await ask(wire, false);
      expect([status, violations]).toEqual([200, 'tool_not_declared']);
      expect(received(wire, false, body).calls).toEqual([SEARCH]);
      expect(JSON.parse(body)).toMatchObject({ picture: HELD });
      expect(await logged(1)).toMatchObject({ blocked: true, usage: USAGE, statusCode: 200 });
      await expectFreeMemory();
    });

    test.each(PLACES)(
      'as its %s member that is not held does not deliver the forbidden call',
      async (place) => {
        await start(engineOf(engine));
        answer(wire, false, withPicture[place](whole(FORBIDDEN), TOO_LARGE));
        const { status, body, isComplete } = await ask(wire, false);
        expect(body).not.toContain('"delete_order"');
        // After the picture, the response has begun: it is cut in front of the call.
        expect([status, isComplete]).toEqual(place === 'first' ? [200, false] : [403, true]);
        expect(await logged(1)).toMatchObject({
          ...{ blocked: true, violations: ['tool_not_declared'], toolsCalled: ['delete_order', 'search'] },
        });
        await expectFreeMemory();
      },
    );

    test.each([...PLACES])(
      'as its %s member passes byte for byte without a forbidden call',
      async (place) => {
        await start(engineOf(engine));
        for (const [index, picture] of [HELD, TOO_LARGE].entries()) {
          const sent = withPicture[place](whole(ALLOWED), picture);
          answer(wire, false, sent);
          expect(await ask(wire, false)).toEqual({
            status: 200,
            body: sent,
            isComplete: true,
            violations: undefined,
          });
          const expected = { blocked: false, usage: USAGE, toolsCalled: ['search'], violations: [] };
          expect(await logged(index + 1)).toMatchObject(expected);
        }
        expect(rig.egress.log.counts.get(rig.egress.log.newest()[0]!.lane)?.unread.size).toBe(0);
        await expectFreeMemory();
      },
    );
  });

  describe.each(WIRES)('a stream of %s with a picture', (wire) => {
    const events = VENDORS[wire].stream(FORBIDDEN);
    const isForbidden = (each: string): boolean => each.includes('delete_order');
    const first = events.findIndex(isForbidden);
    const last = events.findLastIndex(isForbidden);
    const cases = [...new Set([first - 1, first, last])].flatMap((at) =>
      PLACES.map((place) => [at, place] as const),
    );

    test.each(cases)(
      'in event %d that is held, as its %s member, loses only the forbidden call',
      async (at, place) => {
        await start(engineOf(engine));
        answer(wire, true, streamWith(events, at, place, HELD));
        const { body } = await ask(wire, true);
        expect(body).not.toContain('delete_order');
        expect(received(wire, true, body).calls).toEqual([SEARCH]);
        // An event that is only the call is removed with all of its members.
        if (wire === 'responses' ? at !== first : at < first) expect(body).toContain(HELD);
        expect(await logged(1)).toMatchObject({
          blocked: true,
          usage: USAGE,
          violations: ['tool_not_declared'],
        });
        await expectFreeMemory();
      },
    );

    test.each(cases)(
      'in event %d that is not held, as its %s member, does not deliver the call',
      async (at, place) => {
        await start(engineOf(engine));
        answer(wire, true, streamWith(events, at, place, TOO_LARGE));
        const { body } = await ask(wire, true);
        expect(body).not.toContain('delete_order');
        expect(await logged(1)).toMatchObject({ blocked: true, violations: ['tool_not_declared'] });
        await expectFreeMemory();
      },
    );

    test('passes byte for byte without a forbidden call', async () => {
      await start(engineOf(engine));
      const allowed = VENDORS[wire].stream(ALLOWED);
      let count = 0;
      for (const [at, each] of allowed.entries()) {
        if (each.includes('[DONE]')) continue;
        const sent = streamWith(
          allowed,
          at,
          at % 2 === 0 ? 'first' : 'last',
          at % 3 === 0 ? HELD : TOO_LARGE,
        );
        answer(wire, true, sent);
        expect((await ask(wire, true)).body === sent).toBe(true);
        count += 1;
        const expected = { blocked: false, usage: USAGE, toolsCalled: ['search'], violations: [] };
        expect(await logged(count)).toMatchObject(expected);
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
      answer(wire, isStream, sent);
      expect((await ask(wire, isStream)).body === sent).toBe(true);
      expect(await logged(index + 1)).toMatchObject({
        ...{ blocked: false, usage: USAGE, toolsCalled: ['delete_order', 'search'] },
        violations: ['tool_not_declared'],
      });
    }
    await expectFreeMemory();
  });
});
