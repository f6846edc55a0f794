import { describe, expect, test } from '@jest/globals';
import { errorsOfResponse, validateDraft, type ProofDraft, type ProofErrors } from './proof-draft.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const DRAFT: ProofDraft = {
  ruleId: 'EVAL-01',
  verifiedBy: 'ci@example.com',
  method: 'golden set, 200 of 200',
  expiresAt: '',
};

describe('draft', () => {
  test('without expiry becomes a submission', () => {
    expect(validateDraft(DRAFT, NOW)).toEqual({
      ok: true,
      ruleId: 'EVAL-01',
      body: { verifiedBy: 'ci@example.com', method: 'golden set, 200 of 200' },
    });
  });

  test('has its expiry in the time zone of the browser', () => {
    const local = '2026-04-01T08:30';
    const expiresAt = new Date(local).toISOString();
    expect(validateDraft({ ...DRAFT, expiresAt: local }, NOW)).toMatchObject({
      ok: true,
      body: { expiresAt },
    });
  });

  test.each<[string, Partial<ProofDraft>, ProofErrors]>([
    ['no rule', { ruleId: '' }, { ruleId: 'must be selected' }],
    ['no name', { verifiedBy: ' ' }, { verifiedBy: 'must not be empty' }],
    ['a long method', { method: 'x'.repeat(2049) }, { method: 'must have at most 2048 characters' }],
    ['half a date', { expiresAt: '2026-13-99T00:00' }, { expiresAt: 'must be a date and a time' }],
    ['an expiry in the past', { expiresAt: '2020-01-01T00:00' }, { expiresAt: 'must not be in the past' }],
    [
      'nothing',
      { ruleId: '', verifiedBy: '', method: '' },
      { ruleId: 'must be selected', verifiedBy: 'must not be empty', method: 'must not be empty' },
    ],
  ])('with %s has an error at each field', (_name, change, errors) => {
    expect(validateDraft({ ...DRAFT, ...change }, NOW)).toEqual({ ok: false, errors });
  });
});

describe('errors of the response', () => {
  test.each<[string, Parameters<typeof errorsOfResponse>[0], ProofErrors]>([
    ['without a list', { detail: 'agent shop not found', errors: [] }, { form: 'agent shop not found' }],
    [
      'with fields',
      {
        detail: 'the proof is not valid',
        errors: [
          { path: 'method', message: 'must not be empty' },
          { path: 'method', message: 'must be a string' },
        ],
      },
      { method: 'must not be empty' },
    ],
    [
      'with an unknown field and an error of the whole body',
      {
        detail: 'the proof is not valid',
        errors: [
          { path: 'origin', message: 'is not allowed' },
          { path: '', message: 'must be an object' },
        ],
      },
      { form: 'origin is not allowed; must be an object' },
    ],
  ])('%s', (_name, response, errors) => {
    expect(errorsOfResponse(response)).toEqual(errors);
  });
});
