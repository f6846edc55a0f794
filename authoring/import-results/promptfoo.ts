import { count } from '../../core/shapes/common.ts';
import { oneOf, parseWith, text } from '../../core/shapes/field.ts';
import { list, object } from '../../core/shapes/object.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';
import { describeErrors } from './describe-errors.ts';
import { anything, modelNameOf, notRead, type ReadResults, type Test } from './results.ts';

const grader = object('An assertion.', {
  'assertion?': object('How the response is judged.', { 'provider?': anything }),
});

const output = object('The file that `promptfoo eval -o out.json` writes.', {
  metadata: object('About the tool.', { promptfooVersion: text('Its version.') }),
  results: object('The evaluation.', {
    'timestamp?': text('When it started.'),
    results: list(
      'One per test.',
      object('A test.', {
        failureReason: oneOf('0: passed; 1: failed; 2: error.', [0, 1, 2]),
        'metadata?': object('About the test.', { 'pluginId?': text('What a red team test is about.') }),
        'gradingResult?': object('The judgement.', { 'componentResults?': list('Its parts.', grader) }),
      }),
    ),
    'stats?': object('The sums.', {
      successes: count('Passed.'),
      failures: count('Failed.'),
      errors: count('Errors.'),
    }),
  }),
});

const OUTCOMES = { 0: 'passed', 1: 'failed', 2: 'error' } as const satisfies Record<number, Test['outcome']>;

export function isPromptfoo(value: unknown): boolean {
  const metadata = isRecord(value) ? own(value, 'metadata') : null;
  return isRecord(metadata) && own(metadata, 'promptfooVersion') !== undefined;
}

/** Reads the output of `promptfoo eval` and `promptfoo redteam eval`. */
export function readPromptfoo(value: unknown): ReadResults {
  const parsed = parseWith(output, value);
  if (!parsed.ok) return notRead(describeErrors(parsed.errors));
  const { metadata, results } = parsed.value;
  const { stats } = results;
  const sum = stats === undefined ? results.results.length : stats.successes + stats.failures + stats.errors;
  if (results.results.length !== sum)
    return notRead('the number of results is not that of results.stats, so results are missing');
  return {
    ok: true,
    results: {
      tool: 'promptfoo',
      toolVersion: metadata.promptfooVersion,
      startedAt: results.timestamp,
      judge: results.results
        .flatMap((each) => each.gradingResult?.componentResults ?? [])
        .flatMap(({ assertion }) => modelNameOf(assertion?.provider) ?? [])[0],
      tests: results.results.map((each) => ({
        name: each.metadata?.pluginId ?? null,
        outcome: OUTCOMES[each.failureReason],
      })),
    },
  };
}
