import { beforeEach, describe, expect, test } from '@jest/globals';
import type { BehavioralEvent } from '../core/shapes/events.ts';
import { parseBehaviorHeaders } from '../core/behavior/parse-behavior-headers.ts';
import { createRequestBehavior, type HeadWriter, type RequestBehavior } from './request-behavior.ts';

let events: BehavioralEvent[];
let lost: { name: string; reason: string }[];
let canSend: boolean;
let counted: unknown[];
beforeEach(() => {
  counted = [];
  [events, lost, canSend] = [[], [], true];
});

function aBehavior(response: HeadWriter | null = null, isLazy = false): RequestBehavior {
  return createRequestBehavior({
    response,
    isLazy,
    sendEvent: (event) => {
      if (canSend) events.push(event);
      return canSend;
    },
    countUsage: (...call) => counted.push(call) > 0 && call[1] >= 0,
    onLost: (what) => void lost.push(what),
  });
}

const GUARDRAILS = 'x-platform-guardrails-invoked';
const TOOLS = 'x-platform-tools-called';
const CONFIRMED = 'x-platform-user-confirmed';

describe('the headers of one request', () => {
  test('list each guardrail and tool once', () => {
    const behavior = aBehavior();
    const delivered = [
      behavior.guardrail('pii-detector'),
      behavior.guardrail('topic-filter'),
      behavior.guardrail('pii-detector'),
      behavior.tool('refund order'),
      behavior.confirmed(),
    ];
    expect(delivered).toEqual([true, true, true, true, true]);
    const headers = behavior.headers();
    expect(headers).toEqual({
      [GUARDRAILS]: 'pii-detector, topic-filter',
      [TOOLS]: 'refund%20order',
      [CONFIRMED]: 'true',
    });
    expect(parseBehaviorHeaders(new Map(Object.entries(headers)))).toEqual({
      guardrailsInvoked: ['pii-detector', 'topic-filter'],
      toolsCalled: ['refund order'],
      userConfirmed: true,
    });
    expect(events).toEqual([]);
  });
});

describe('data after the response head', () => {
  test('returns false and calls onLost if no event can be sent, and for a confirmation', () => {
    canSend = false;
    const behavior = aBehavior();
    behavior.headers();
    expect([behavior.tool('search'), behavior.confirmed()]).toEqual([false, false]);
    expect(lost.map(({ name }) => name)).toEqual(['"search"', 'confirmed']);
  });

  test('is sent as an event if the response ignores headers after the head', () => {
    const silent = { headersSent: false, setHeader: () => undefined };
    const behavior = aBehavior(silent);
    silent.headersSent = true;
    expect([behavior.tool('search'), events]).toEqual([true, [{ type: 'tool', name: 'search' }]]);
  });

  test('does not throw if the response rejects headers', () => {
    const response: HeadWriter = {
      headersSent: false,
      setHeader: () => {
        throw new Error('ERR_HTTP2_INVALID_STREAM');
      },
    };
    const behavior = aBehavior(response);
    expect([behavior.tool('search'), events.length, behavior.confirmed()]).toEqual([true, 1, false]);
  });
});

describe('a name', () => {
  test.each<[string, unknown]>([
    ['that is empty', ''],
    ['of spaces', '  '],
    ['that is a number', 7],
    ['that is absent', undefined],
    ['that is a list', ['a', 'b']],
  ])('%s is rejected for headers and events without throwing', (_name, name) => {
    const behavior = aBehavior();
    const delivered = [behavior.guardrail(name as string), behavior.tool(name as string, { success: true })];
    expect([delivered, behavior.headers(), events]).toEqual([
      [false, false],
      { [GUARDRAILS]: '', [TOOLS]: '' },
      [],
    ]);
    expect(lost.map(({ reason }) => reason)).toEqual(['not a valid name', 'not a valid name']);
  });

  test.each<[string, string]>([
    ['search', 'search'],
    ["o'neill|a.b~c", "o'neill|a.b~c"],
    ['__proto__', '__proto__'],
    ['löschen', 'l%C3%B6schen'],
    ['drop,all', 'drop%2Call'],
    [' purge ', '%20purge%20'],
    ['a:b/c', 'a%3Ab%2Fc'],
    ['a;b="(c)"', 'a%3Bb%3D%22%28c%29%22'],
    ['100%25', '100%2525'],
    ['поиск', '%D0%BF%D0%BE%D0%B8%D1%81%D0%BA'],
    ['検索 🎉', '%E6%A4%9C%E7%B4%A2%20%F0%9F%8E%89'],
    ['a\r\nSet-Cookie: b=c', 'a%0D%0ASet-Cookie%3A%20b%3Dc'],
    ['nul\0', 'nul%00'],
  ])('%j is encoded in the header as %s, and the sidecar decodes it', (name, encoded) => {
    const behavior = aBehavior();
    const delivered = [behavior.tool(name), behavior.guardrail(name)];
    const headers = behavior.headers();
    expect([delivered, headers, events]).toEqual([
      [true, true],
      { [GUARDRAILS]: encoded, [TOOLS]: encoded },
      [],
    ]);
    expect(parseBehaviorHeaders(new Map(Object.entries(headers)))).toEqual({
      guardrailsInvoked: [name],
      toolsCalled: [name],
    });
  });

  test.each([
    ['x', 1],
    ['あ', 9],
  ])('of 600 times %s is truncated to 500 characters', (character, width) => {
    const behavior = aBehavior();
    expect(behavior.tool(character.repeat(600))).toBe(true);
    const header = behavior.headers()[TOOLS] ?? '';
    expect([header.length, events]).toEqual([500 * width, []]);
    expect(behavior.tool(character.repeat(600), { success: true })).toBe(true);
    expect(events).toEqual([{ type: 'tool', name: character.repeat(500), success: true }]);
  });

  test('is sent as an event if the header is full', () => {
    const behavior = aBehavior();
    for (let n = 0; n < 1000; n += 1) expect(behavior.tool(`tool-number-${n}`)).toBe(true);
    const listed = parseBehaviorHeaders(new Map(Object.entries(behavior.headers()))).toolsCalled ?? [];
    expect((behavior.headers()[TOOLS] ?? '').length).toBeLessThanOrEqual(4608);
    expect([listed.length > 100, listed.length + events.length]).toEqual([true, 1000]);
  });
});

describe('a behavior that begins with the first report', () => {
  const reports: [string, (behavior: RequestBehavior) => unknown][] = [
    ['begin', (behavior) => behavior.begin()],
    ['a guardrail', (behavior) => behavior.guardrail('pii-detector')],
    ['a tool', (behavior) => behavior.tool('search')],
    ['a model call', (behavior) => behavior.model('gpt', 1, 2)],
    ['a confirmation', (behavior) => behavior.confirmed()],
  ];

  test('has no headers before', () => {
    const behavior = aBehavior(null, true);
    behavior.guardrail('');
    behavior.facts();
    expect(behavior.headers()).toEqual({});
  });

  test.each(reports)('has both lists after %s', (_name, report) => {
    const behavior = aBehavior(null, true);
    report(behavior);
    report(behavior);
    expect(Object.keys(behavior.headers())).toEqual(expect.arrayContaining([GUARDRAILS, TOOLS]));
  });
});

describe('model', () => {
  test('counts a call with the same id once', () => {
    const behavior = aBehavior();
    const results = [
      behavior.model('gpt', 1, 2, 'call-1'),
      behavior.model('gpt', 1, 2, 'call-1'),
      behavior.model('gpt', 3, 4, 'call-2'),
      behavior.model('gpt', 5, 6),
      behavior.model('gpt', 5, 6),
    ];
    expect(results).toEqual([true, true, true, true, true]);
    expect(counted).toEqual([
      ['gpt', 1, 2],
      ['gpt', 3, 4],
      ['gpt', 5, 6],
      ['gpt', 5, 6],
    ]);
  });

  test('does not remember the id of a call that was not valid', () => {
    const behavior = aBehavior();
    expect([behavior.model('gpt', -1, 2, 'call-1'), behavior.model('gpt', 1, 2, 'call-1')]).toEqual([
      false,
      true,
    ]);
  });

  test('counts the call of another request with the same id', () => {
    aBehavior().model('gpt', 1, 2, 'call-1');
    aBehavior().model('gpt', 1, 2, 'call-1');
    expect(counted).toHaveLength(2);
  });
});

describe('the facts for checkPolicy', () => {
  test('are empty lists at first', () => {
    expect(aBehavior().facts()).toEqual({ guardrailsInvoked: [], toolsCalled: [] });
  });

  test('are what was reported, also after the head', () => {
    const behavior = aBehavior();
    behavior.guardrail('pii-detector');
    behavior.guardrail('topic-filter', { invoked: false });
    behavior.guardrail('toxicity-filter', { score: 0.4 });
    behavior.guardrail('toxicity-filter', { score: 0.2 });
    behavior.guardrail('custom', { score: 0.9 });
    behavior.tool('search');
    behavior.headers();
    behavior.tool('refund');
    behavior.tool('search');
    behavior.confirmed(false);
    behavior.tool(' ');
    expect(behavior.facts()).toEqual({
      guardrailsInvoked: ['pii-detector', 'toxicity-filter', 'custom'],
      toolsCalled: ['search', 'refund'],
      userConfirmed: false,
      toxicityScore: 0.4,
    });
  });

  test('have at most as many names as checkPolicy accepts', () => {
    const behavior = aBehavior();
    for (let index = 0; index < 1500; index += 1) behavior.tool(`tool-${index}`);
    expect(behavior.facts().toolsCalled).toHaveLength(1000);
  });
});
