import { describe, expect, test } from '@jest/globals';
import { anEntry } from '../../testing/fleet/audit-entry.ts';
import { heldBytes } from '../../testing/http/held-bytes.ts';
import fc from '../../testing/random/properties.ts';
import { applyEvents } from './apply-events.ts';
import type { AuditEntry, Behavior } from '../shapes/audit-entry.ts';
import { parseEventBatch, type BehavioralEvent } from '../shapes/events.ts';
import { hasBehavior, parseBehaviorHeaders } from './parse-behavior-headers.ts';
import { isFailing, servingOf, summarizeBehavior } from './summarize-behavior.ts';

describe('behavioral headers', () => {
  test.each<[string, Record<string, string>, Behavior]>([
    ['no behavioral headers', { 'content-type': 'text/plain' }, {}],
    [
      'a list of names',
      { 'x-platform-guardrails-invoked': 'pii-detector, toxicity-filter' },
      { guardrailsInvoked: ['pii-detector', 'toxicity-filter'] },
    ],
    ['an empty value as an empty list', { 'x-platform-tools-called': '' }, { toolsCalled: [] }],
    [
      'a list with blank members, which are ignored',
      { 'x-platform-tools-called': ' , a,, ' },
      { toolsCalled: ['a'] },
    ],
    [
      'several headers as one list',
      { 'x-platform-tools-called': 'a, b,c' },
      { toolsCalled: ['a', 'b', 'c'] },
    ],
    ['a confirmation', { 'x-platform-user-confirmed': ' True ' }, { userConfirmed: true }],
    [
      'a confirmation between tabs',
      { 'x-platform-user-confirmed': '\ttrue\t,\tTRUE' },
      { userConfirmed: true },
    ],
    ...['true\xa0', '\xa0true', 'true\x0b', 'true\x0c', 'true\ufeff', 'true,\x85true', 'tru\u212a'].map(
      (value): [string, Record<string, string>, Behavior] => [
        `${JSON.stringify(value)} as not reported`,
        { 'x-platform-user-confirmed': value },
        {},
      ],
    ),
    ['a refusal', { 'x-platform-user-confirmed': 'false' }, { userConfirmed: false }],
    ['yes as not reported', { 'x-platform-user-confirmed': 'yes' }, {}],
    ['true twice as true', { 'x-platform-user-confirmed': 'true,True' }, { userConfirmed: true }],
    ['false twice as false', { 'x-platform-user-confirmed': 'false, false' }, { userConfirmed: false }],
    ['true and false as not reported', { 'x-platform-user-confirmed': 'true,false' }, {}],
    ['true and an empty member as not reported', { 'x-platform-user-confirmed': 'true,' }, {}],
    [
      'percent-encoded names',
      { 'x-platform-tools-called': 'l%C3%B6schen, drop%2Call,%20purge%20,a%2Cb%2cc' },
      { toolsCalled: ['löschen', 'drop,all', ' purge ', 'a,b,c'] },
    ],
    [
      'raw UTF-8 in the form that Node returns',
      { 'x-platform-tools-called': Buffer.from('löschen, 検索 🎉').toString('latin1') },
      { toolsCalled: ['löschen', '検索 🎉'] },
    ],
    [
      'raw UTF-8 that ends in the byte 0xA0',
      { 'x-platform-tools-called': Buffer.from('voilà,\tР \t, à ,Р').toString('latin1') },
      { toolsCalled: ['voilà', 'Р', 'à'] },
    ],
    ['raw ISO 8859-1', { 'x-platform-tools-called': 'l\xf6schen' }, { toolsCalled: ['löschen'] }],
    [
      'raw UTF-8 and percent-encoding in one name',
      { 'x-platform-guardrails-invoked': `${Buffer.from('lö').toString('latin1')}%20x` },
      { guardrailsInvoked: ['lö x'] },
    ],
    [
      'a byte order mark as part of the name',
      { 'x-platform-tools-called': '%EF%BB%BFa' },
      { toolsCalled: ['\ufeffa'] },
    ],
    [
      'the same name in two encodings as one name',
      { 'x-platform-tools-called': 'delete%5Forder,delete_order' },
      { toolsCalled: ['delete_order'] },
    ],
    [
      'invalid percent-encoding as a literal name',
      { 'x-platform-tools-called': '100%,%zz,%C3,%C3%28' },
      { toolsCalled: ['100%', '%zz', '%C3', '%C3%28'] },
    ],
    [
      'an encoded name, cut after decoding',
      { 'x-platform-tools-called': '%41'.repeat(600) },
      { toolsCalled: ['A'.repeat(500)] },
    ],
    [
      'a name, cut at 500 characters',
      { 'x-platform-tools-called': 'x'.repeat(900) },
      { toolsCalled: ['x'.repeat(500)] },
    ],
  ])('reads %s', (_name, headers, expected) => {
    expect(parseBehaviorHeaders(new Map(Object.entries(headers)))).toEqual(expected);
    expect(hasBehavior(expected)).toBe(Object.keys(expected).length > 0);
  });

  test('returns at most 10000 names, each once', () => {
    const names = Array.from({ length: 11_000 }, (_, index) => `t${index},a`).join(',');
    const { toolsCalled } = parseBehaviorHeaders(new Map([['x-platform-tools-called', names]]));
    expect(toolsCalled).toHaveLength(10_000);
    expect(toolsCalled?.slice(0, 3)).toEqual(['t0', 'a', 't1']);
  });

  test('are read in the same way each time, also after an entry with their names has changed', () => {
    const toolsIn = (value: string) =>
      parseBehaviorHeaders(new Map([['x-platform-tools-called', value]])).toolsCalled;
    for (const round of [1, 2])
      for (let index = 0; index < 250; index++) {
        const long = 'x'.repeat(index % 2 === 0 ? 1 : 600);
        const toolsCalled = toolsIn(`t${index}, ${long}`);
        const known = [`t${index}`, long.slice(0, 500)];
        expect({ round, toolsCalled }).toEqual({ round, toolsCalled: known });
        const entry = { ...anEntry(), ...(toolsCalled && { toolsCalled }) };
        const next = applyEvents(entry, [{ type: 'tool', name: 'later', success: true, latencyMs: 1 }]);
        expect(next.toolsCalled).toEqual([...known, 'later']);
      }
  });

  test('do not stay in memory with their names', () => {
    const headerOf = (index: number): string =>
      Buffer.from(`the-search-tool-${index}${','.repeat(15_000)}`).toString('latin1');
    const held = heldBytes(() =>
      Array.from({ length: 500 }, (_, index) =>
        parseBehaviorHeaders(new Map([['x-platform-tools-called', headerOf(index)]])),
      ),
    );
    expect(held).toBeLessThan(5e5);
  });
});

describe('an event batch', () => {
  const batchOf = (...events: unknown[]): unknown => ({ requestId: 'r-1', agentName: 'shop', events });
  const EVENTS: BehavioralEvent[] = [
    { type: 'guardrail', guardrailType: 'pii-detector', invoked: true, blocked: false, score: 0.2 },
    { type: 'guardrail', guardrailType: 'toxicity-filter', invoked: false },
    { type: 'tool', name: 'search', success: true, latencyMs: 12.5 },
    { type: 'tool', name: 'search' },
    { type: 'model', modelId: 'gpt-4o', promptTokens: 1, completionTokens: 0 },
    { type: 'memory', backend: 'redis', ttlSeconds: 60, piiScrubbed: true },
    { type: 'memory' },
  ];

  test('with all event variants is parsed, and unknown members are ignored', () => {
    const withMore = EVENTS.map((event) => ({ ...event, colour: 'blue' }));
    expect(parseEventBatch(batchOf(...withMore))).toEqual({
      ok: true,
      value: { requestId: 'r-1', agentName: 'shop', events: EVENTS },
    });
  });

  test('is valid without agent name and without events', () => {
    expect(parseEventBatch({ requestId: 'r-1', events: [] })).toEqual({
      ok: true,
      value: { requestId: 'r-1', events: [] },
    });
  });

  test.each([['null'], ['absent']])('with only model events is valid if requestId is %s', (requestId) => {
    const events = [EVENTS[4], EVENTS[4]];
    const sent = requestId === 'null' ? { requestId: null, events } : { events };
    expect(parseEventBatch(sent)).toEqual({ ok: true, value: { requestId: null, events } });
  });

  test.each<[string, unknown, string[]]>([
    ['a list as body', [], [': must be an object']],
    ['an empty object as body', {}, ['events: must be a list']],
    [
      'behavior events without a request',
      { requestId: null, events: [EVENTS[4], EVENTS[0], EVENTS[2], EVENTS[4], EVENTS[6]] },
      [1, 2, 4].map((index) => `events[${index}].type: must be model if requestId is absent`),
    ],
    ['a blank request id', { requestId: ' ', events: [] }, ['requestId: must not be empty']],
    [
      'a request id that is too long',
      { requestId: 'x'.repeat(129), events: [] },
      ['requestId: must have at most 128 characters'],
    ],
    [
      '501 events',
      { requestId: 'r', events: Array(501).fill(EVENTS[0]) },
      ['events: must have at most 500 entries'],
    ],
    [
      'an unknown event variant',
      batchOf({ type: 'dance' }),
      ['events[0].type: must be one of guardrail, tool, model, memory'],
    ],
    [
      'a prototype property as event variant',
      batchOf({ type: 'constructor' }),
      ['events[0].type: must be one of guardrail, tool, model, memory'],
    ],
    ['an event that is not an object', batchOf('tool'), ['events[0]: must be an object']],
    [
      'several errors',
      {
        requestId: 7,
        agentName: 3,
        events: [
          { type: 'guardrail', invoked: 'yes' },
          { type: 'tool', name: 't', latencyMs: -1, success: 1 },
          { type: 'model', modelId: 'm', promptTokens: 1.5, completionTokens: -1 },
          { type: 'memory', ttlSeconds: '60' },
        ],
      },
      [
        'requestId: must be a string',
        'events[0].guardrailType: must be a string',
        'events[0].invoked: must be true or false',
        'events[1].success: must be true or false',
        'events[1].latencyMs: must be a number from 0 to 1000000000000',
        'events[2].promptTokens: must be an integer from 0 to 1000000000',
        'events[2].completionTokens: must be an integer from 0 to 1000000000',
        'events[3].ttlSeconds: must be an integer of at least 0',
        'agentName: must be a string',
      ],
    ],
  ])('with %s is rejected', (_name, value, expected) => {
    const parsed = parseEventBatch(value);
    expect(parsed.ok ? [] : parsed.errors.map(({ path, message }) => `${path}: ${message}`)).toEqual(
      expected,
    );
  });

  test('with very many errors returns the first 50', () => {
    const parsed = parseEventBatch(batchOf(...Array<unknown>(500).fill({ type: 'model' })));
    expect(parsed.ok ? 0 : parsed.errors.length).toBe(50);
  });

  test('never throws and never changes a prototype', () => {
    const event = fc.oneof(
      fc.anything(),
      fc.record({ type: fc.constantFrom('guardrail', 'tool', 'model', 'memory'), name: fc.anything() }),
    );
    fc.assert(
      fc.property(
        fc.oneof(fc.anything(), fc.record({ requestId: fc.anything(), events: fc.array(event) })),
        (value) => {
          expect(typeof parseEventBatch(value).ok).toBe('boolean');
        },
      ),
    );
    parseEventBatch(
      JSON.parse('{"requestId":"r","events":[{"type":"tool","name":"t","__proto__":{"polluted":true}}]}'),
    );
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('applyEvents', () => {
  const guardrail = (guardrailType: string, invoked: boolean): BehavioralEvent => ({
    type: 'guardrail',
    guardrailType,
    invoked,
  });
  const tool = (name: string): BehavioralEvent => ({ type: 'tool', name, success: false });
  test.each<[string, Partial<AuditEntry>, BehavioralEvent[], Partial<AuditEntry>]>([
    ['changes nothing without events', {}, [], {}],
    [
      'adds no behavior for a model call',
      {},
      [{ type: 'model', modelId: 'm', promptTokens: 1, completionTokens: 1 }],
      {},
    ],
    [
      'sets an empty list for a guardrail that did not run',
      {},
      [guardrail('pii-detector', false)],
      { guardrailsInvoked: [] },
    ],
    [
      'keeps the names from headers and adds each name once',
      { guardrailsInvoked: ['a'], toolsCalled: ['t'] },
      [guardrail('a', true), guardrail('b', true), guardrail('b', true), tool('u'), tool('t')],
      { guardrailsInvoked: ['a', 'b'], toolsCalled: ['t', 'u'] },
    ],
    ['counts a failed tool call as called', {}, [tool('t')], { toolsCalled: ['t'] }],
  ])('%s', (_name, entry, events, expected) => {
    const before = anEntry(entry);
    const recorded = events.length === 0 ? {} : { events };
    expect(applyEvents(before, events)).toEqual({ ...before, ...recorded, ...expected });
  });

  test('keeps at most 1000 tools and 1000 guardrails over any number of batches', () => {
    let entry = anEntry();
    for (let batch = 0; batch < 4; batch++) {
      const names = Array.from({ length: 500 }, (_, i) => `n${batch * 500 + i}`);
      const events = names.flatMap((name) => [tool(name), guardrail(name, true)]);
      entry = applyEvents(entry, events);
    }
    expect(entry.toolsCalled).toHaveLength(1000);
    expect(entry.guardrailsInvoked).toHaveLength(1000);
    expect(entry.toolsCalled?.at(-1)).toBe('n999');
  });

  test('keeps at most 500 events, and later events still add names', () => {
    const full = applyEvents(anEntry(), Array<BehavioralEvent>(500).fill(tool('t')));
    const over = applyEvents(full, [tool('last')]);
    expect(over.events).toHaveLength(500);
    expect(over.toolsCalled).toEqual(['t', 'last']);
  });
});

describe('summarizeBehavior', () => {
  const ran = (...guardrailsInvoked: string[]): AuditEntry => anEntry({ guardrailsInvoked });
  const times = (count: number, entry: AuditEntry): AuditEntry[] => Array<AuditEntry>(count).fill(entry);
  test.each<[string, AuditEntry[], number, [string, number][]]>([
    ['returns zero for an empty ring', [], 0, []],
    ['skips entries without behavioral data', [anEntry(), anEntry({ events: [{ type: 'memory' }] })], 0, []],
    [
      'counts a guardrail once per entry',
      [ran('a', 'a', 'b'), ran('a')],
      2,
      [
        ['a', 2],
        ['b', 1],
      ],
    ],
    [
      'samples entries that reported only a tool or a confirmation',
      [anEntry({ toolsCalled: [] }), anEntry({ userConfirmed: false }), ran('a')],
      3,
      [['a', 1]],
    ],
    [
      'samples the newest 100 entries',
      [...times(100, ran('old')), ...times(50, anEntry()), ...times(99, ran('new'))],
      100,
      [
        ['new', 99],
        ['old', 1],
      ],
    ],
  ])('%s', (_name, entries, sampled, invoked) => {
    expect(summarizeBehavior(entries)).toEqual({ sampled, guardrailsInvoked: new Map(invoked) });
  });
});

describe('servingOf', () => {
  const responses = (
    count: number,
    upstreamStatusCode: number,
    given: Partial<AuditEntry> = {},
  ): AuditEntry[] => Array.from({ length: count }, () => anEntry({ upstreamStatusCode, ...given }));
  const ofSidecar = (): AuditEntry => {
    const { upstreamStatusCode: _, ...entry } = anEntry({ statusCode: 502 });
    return entry;
  };
  const probes = (path: string): AuditEntry[] => responses(50, 200, { method: 'GET', path });

  test.each<[string, AuditEntry[], { responses: number; failed: number } | undefined, boolean]>([
    ['nothing', [], undefined, false],
    ['too few responses', responses(3, 500), undefined, false],
    ['four failed responses', responses(4, 500), { responses: 4, failed: 4 }, true],
    ['half of 20', [...responses(10, 200), ...responses(10, 503)], { responses: 20, failed: 10 }, true],
    [
      'less than half of 20',
      [...responses(11, 200), ...responses(9, 500)],
      { responses: 20, failed: 9 },
      false,
    ],
    ['old failures', [...responses(50, 500), ...responses(20, 200)], { responses: 20, failed: 0 }, false],
    ['errors of clients', responses(20, 429), { responses: 20, failed: 0 }, false],
    // Responses of the sidecar have no status of the agent.
    ['a 502 of the sidecar', Array.from({ length: 20 }, ofSidecar), undefined, false],
    [
      'probes between failures',
      [...responses(4, 500), ...probes('/health')],
      { responses: 4, failed: 4 },
      true,
    ],
    [
      'probes of the declared path',
      [...responses(4, 500), ...probes('/up')],
      { responses: 4, failed: 4 },
      true,
    ],
  ])('reads %s', (_name, entries, expected, isFailed) => {
    const { serving } = servingOf(entries, '/up');
    expect(serving).toEqual(expected);
    expect(isFailing(serving)).toBe(isFailed);
  });
});
