import { expect, test } from '@jest/globals';
import { REQUESTED_ID } from '../shapes/hidden-members.ts';
import type { AuditEntry } from '../shapes/audit-entry.ts';
import { anEntry } from '../../testing/fleet/audit-entry.ts';
import { addCalls, emptyWindow } from '../usage/usage-window.ts';
import { reportedCallsIn, reportedCountsOf } from './reported-calls.ts';

const call = (modelId: string) => ({ modelId, promptTokens: 1, completionTokens: 1, totalTokens: 2 });

test.each<[string, Partial<AuditEntry>[], string[] | null, string[] | null]>([
  ['no entry', [], null, null],
  ['no report', [{}, { usage: { unavailable: 'x' } }], null, null],
  ['a report that no tool was called', [{ toolsCalled: [] }], [], null],
  ['tools', [{ toolsCalled: ['a', 'b'] }, { toolsCalled: ['a'] }], ['a', 'b'], null],
  ['usage of one call', [{ usage: call('gpt-4o') }], null, ['gpt-4o']],
  [
    'usage of several calls',
    [{ usage: { ...call('(several)'), calls: [call('a'), call('b')] } }],
    null,
    ['a', 'b'],
  ],
  [
    'model events',
    [{ events: [{ type: 'model', modelId: 'm', promptTokens: 1, completionTokens: 1 }] }],
    null,
    ['m'],
  ],
  [
    'a model event of a span with another name in the request',
    [
      {
        events: [
          { type: 'model', modelId: 'm-1', promptTokens: 1, completionTokens: 1, [REQUESTED_ID]: 'm' },
        ],
      },
    ],
    null,
    ['m'],
  ],
])('%s', (_what, entries, tools, models) => {
  expect(reportedCallsIn(entries)).toEqual({
    tools: tools && new Set(tools),
    models: models && new Set(models),
  });
});

test('calls are counted by model, those that the report of a process repeats once', () => {
  const event = { type: 'model' as const, modelId: 'b', promptTokens: 9, completionTokens: 1 };
  const entries = [
    anEntry({}),
    anEntry({ usage: call('a') }),
    anEntry({ usage: { ...call('(several)'), calls: [call('a'), call('b')] } }),
    anEntry({ usage: call('a'), events: [event] }),
  ];
  const alone = addCalls(emptyWindow(''), [call('b'), call('c')]);
  const ofProcess = new Map([
    ['a', 1],
    ['b', 9],
    ['d', 2],
  ]);
  expect(Object.fromEntries(reportedCountsOf(entries, alone, ofProcess))).toEqual({ a: 2, b: 9, c: 1, d: 2 });
});
