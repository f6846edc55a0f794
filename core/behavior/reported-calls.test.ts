import { expect, test } from '@jest/globals';
import type { AuditEntry } from './audit-entry.ts';
import { reportedCallsIn } from './reported-calls.ts';

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
])('%s', (_what, entries, tools, models) => {
  expect(reportedCallsIn(entries)).toEqual({
    tools: tools && new Set(tools),
    models: models && new Set(models),
  });
});
