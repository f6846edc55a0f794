import { describe, expect, test } from '@jest/globals';
import { lineMaker } from '../../testing/record/record-files.ts';
import { sampleEvents } from '../../testing/record/sample-events.ts';
import { membersOf, outcomeOf, textOf, type SentEvent } from './event-texts.ts';

const eventOf = (name: keyof ReturnType<typeof sampleEvents>): SentEvent =>
  JSON.parse(lineMaker()(sampleEvents()[name])) as SentEvent;

describe('an event in a row', () => {
  test.each<[Parameters<typeof eventOf>[0], text: string, outcome: string]>([
    ['request', 'POST /v1/chat', 'Allowed'],
    ['deniedWithoutIdentity', 'POST /v1/chat', 'Denied'],
    ['failOpen', 'POST /v1/chat', 'Failed open'],
    ['notEvaluated', 'POST /v1/chat', 'Not evaluated'],
    ['modelCall', 'POST /v1/chat/completions · gpt-4o · read_file', 'Allowed'],
    ['undeclaredTool', 'POST /v1/chat/completions · gpt-4o · wipe_disk', 'Denied, not blocked'],
    ['toolCall', 'POST /mcp · read_file', 'Allowed'],
    ['tunnel', 'CONNECT api.example.com:443', 'Allowed'],
    ['findingOpened', 'opened · The key is \u2028 "written" out.', ''],
    ['findingClosed', 'closed · Unseen.', ''],
    ['adminAction', 'deleteAgent · retail/shop', ''],
    ['suspended', 'stopped · shop · leak of data', ''],
    ['resumed', 'resumed · shop · repaired', ''],
    ['manifestChanged', 'manifest-changed', ''],
    ['lost', '3 events lost', ''],
  ])('%s', (name, text, outcome) => {
    const event = eventOf(name);
    expect([textOf(event), outcomeOf(event)]).toEqual([text, outcome]);
  });
});

test('the members of an event have paths, and lists of plain values are one member', () => {
  expect(
    membersOf({ a: { b: null, c: [] }, list: [1, 'x'], resources: [{ name: 'n' }, { name: 'm' }], ok: true }),
  ).toEqual([
    ['a.b', 'null'],
    ['a.c', '–'],
    ['list', '1, x'],
    ['resources[0].name', 'n'],
    ['resources[1].name', 'm'],
    ['ok', 'true'],
  ]);
  const members = new Map(membersOf(eventOf('undeclaredTool')));
  expect(members.get('unmapped.platform.violations')).toBe('tool_not_declared');
  expect(members.get('actor.user.uid')).toBe('auth0|5f7c');
});
