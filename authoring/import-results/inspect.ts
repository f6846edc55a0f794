import { count } from '../../core/shapes/common.ts';
import { oneOf, parseWith, text } from '../../core/shapes/field.ts';
import { list, map, object } from '../../core/shapes/object.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';
import { describeErrors } from './describe-errors.ts';
import { anything, modelNameOf, notRead, outcomeOf, type ReadResults, type Test } from './results.ts';

const judge = object('Options of a scorer.', { 'model?': anything });

const log = object('A log of version 2 that `inspect eval --log-format json` writes.', {
  version: oneOf('The form.', [2]),
  status: text('How the run ended.'),
  eval: object('What ran.', {
    'packages?': object('Versions.', { 'inspect_ai?': text('Of the tool.') }),
    'scorers?': list('The scorers.', object('A scorer.', { 'options?': judge })),
  }),
  'stats?': object('The run.', { 'started_at?': text('When it started.') }),
  'results?': object('The results.', {
    total_samples: count('Samples.'),
    completed_samples: count('Samples with a result.'),
  }),
  'samples?': list(
    'One per sample and epoch.',
    object('A sample.', {
      'scores?': map('By scorer.', object('A score.', { 'value?': anything }), { max: 1_000 }),
      'error?': anything,
    }),
  ),
});

const PASSED: readonly unknown[] = ['C', 1, true];
const FAILED: readonly unknown[] = ['I', 'P', 'N', 0, false];

export function isInspect(value: unknown): boolean {
  return isRecord(value) && own(value, 'eval') !== undefined && own(value, 'version') !== undefined;
}

/** Reads a log of Inspect. A sample passes if each of its scorers gives the full score. */
export function readInspect(value: unknown): ReadResults {
  const parsed = parseWith(log, value);
  if (!parsed.ok) return notRead(describeErrors(parsed.errors));
  const { status, results, samples, stats, eval: ran } = parsed.value;
  if (status !== 'success') return notRead(`the run did not end: its status is ${status}`);
  if (results === undefined) return notRead('the run did not end: it has no results');
  if (samples === undefined) return notRead('the log has no samples: run without --no-log-samples');
  if (samples.length !== results.total_samples || results.completed_samples !== results.total_samples)
    return notRead('the run did not end: not every sample has a result');
  return {
    ok: true,
    results: {
      tool: 'inspect',
      toolVersion: ran.packages?.inspect_ai,
      startedAt: stats?.started_at,
      judge: ran.scorers?.flatMap(({ options }) => modelNameOf(options?.model) ?? [])[0],
      tests: samples.map(({ scores = {}, error }) => ({
        name: null,
        outcome: error === undefined ? worstOf(Object.values(scores).map((score) => score.value)) : 'error',
      })),
    },
  };
}

/** A sample without a score, or with a score of another kind than pass and fail, has no result. */
function worstOf(values: readonly unknown[]): Test['outcome'] {
  const isKnown = (value: unknown): boolean =>
    PASSED.includes(value) || FAILED.includes(value) || isFraction(value);
  if (values.length === 0 || !values.every(isKnown)) return 'error';
  return outcomeOf(values.every((value) => PASSED.includes(value)));
}

const isFraction = (value: unknown): boolean => typeof value === 'number' && value > 0 && value < 1;
