import { describe, expect, test } from '@jest/globals';
import { EMPTY_STOP, errorsOf, membersOf, type StopDraft, type StopErrors } from './stop-draft.ts';

const NOW = new Date('2026-03-02T14:30:00.000Z');
const VALID: StopDraft = { ...EMPTY_STOP, reason: 'wrong refunds' };

describe('the form of a stop', () => {
  test.each<[string, Partial<StopDraft>, { reason: string; until?: string }]>([
    ['without an end', {}, { reason: 'wrong refunds' }],
    ['for an hour', { duration: '1' }, { reason: 'wrong refunds', until: '2026-03-02T15:30:00.000Z' }],
    ['for a day', { duration: '24' }, { reason: 'wrong refunds', until: '2026-03-03T14:30:00.000Z' }],
    [
      'until a date',
      { duration: 'date', until: '2026-03-05T10:00Z' },
      { reason: 'wrong refunds', until: '2026-03-05T10:00:00.000Z' },
    ],
    ['with spaces around the reason', { reason: '  text\n' }, { reason: 'text' }],
    ['with the longest reason', { reason: 'x'.repeat(500) }, { reason: 'x'.repeat(500) }],
    ['ignores a date of another duration', { until: 'no date' }, { reason: 'wrong refunds' }],
  ])('is accepted %s', (_title, draft, members) => {
    expect(errorsOf({ ...VALID, ...draft }, NOW)).toEqual({});
    expect(membersOf({ ...VALID, ...draft }, NOW)).toEqual(members);
  });

  test.each<[string, Partial<StopDraft>, string | undefined, StopErrors]>([
    ['an empty reason', { reason: ' ' }, undefined, { reason: 'must not be empty' }],
    ['a long reason', { reason: 'x'.repeat(501) }, undefined, { reason: 'must have at most 500 characters' }],
    ['no date', { duration: 'date' }, undefined, { until: 'must be a date and a time' }],
    [
      'a date that is over',
      { duration: 'date', until: '2026-03-02T14:30Z' },
      undefined,
      { until: 'must not be in the past' },
    ],
    ['a missing word', {}, 'all', { word: 'must be all' }],
    [
      'several errors',
      { reason: '', word: 'ALL' },
      'all',
      { reason: 'must not be empty', word: 'must be all' },
    ],
  ])('rejects %s', (_title, draft, word, errors) =>
    expect(errorsOf({ ...VALID, ...draft }, NOW, word)).toEqual(errors),
  );

  test('accepts the word', () => expect(errorsOf({ ...VALID, word: 'all' }, NOW, 'all')).toEqual({}));
});
