import { count } from '../../core/shapes/common.ts';
import { flag, parseWith, text } from '../../core/shapes/field.ts';
import { list, object, type TypeOf } from '../../core/shapes/object.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';
import { describeErrors } from './describe-errors.ts';
import { notRead, outcomeOf, type ReadResults, type Test } from './results.ts';

const metric = object('The result of a metric.', {
  'success?': flag('Whether the metric reached its threshold; absent: it has no result.'),
  'flaky?': flag('Whether the metric does not decide.'),
  'error?': text('Why the metric has no result.'),
  'evaluationModel?': text('The model that judges.'),
});

const testCases = list(
  'Test cases.',
  object('A test case.', {
    'success?': flag('Whether the metrics that decide passed; absent: it was not tested.'),
    'metricsData?': list('Its metrics.', metric),
  }),
);

const run = object('A test run that DeepEval stores as JSON.', {
  testCases,
  'conversationalTestCases?': testCases,
  testPassed: count('Passed.'),
  testFailed: count('Failed.'),
});

type TestCase = TypeOf<typeof testCases>[number];

export function isDeepEval(value: unknown): boolean {
  return isRecord(value) && Array.isArray(own(value, 'testCases')) && 'metricsScores' in value;
}

/** Reads `test_run_<time>.json` or `.deepeval/.latest_run_full.json`. The file has no version of the tool. */
export function readDeepEval(value: unknown): ReadResults {
  const parsed = parseWith(run, value);
  if (!parsed.ok) return notRead(describeErrors(parsed.errors));
  const { testCases: cases, conversationalTestCases = [], testPassed, testFailed } = parsed.value;
  const all = [...cases, ...conversationalTestCases];
  const tests = all.map((each): Test => ({ name: null, outcome: outcomeIn(each) }));
  if (all.filter(({ success }) => success !== undefined).length !== testPassed + testFailed)
    return notRead('the number of test cases is not that of testPassed and testFailed');
  const metrics = all.flatMap(({ metricsData = [] }) => metricsData);
  return {
    ok: true,
    results: {
      tool: 'deepeval',
      judge: metrics.find(({ evaluationModel }) => evaluationModel !== undefined)?.evaluationModel,
      tests,
    },
  };
}

function outcomeIn({ success, metricsData = [] }: TestCase): Test['outcome'] {
  const deciding = metricsData.filter(({ flaky }) => flaky !== true);
  const hasError = deciding.some((each) => each.error !== undefined || each.success === undefined);
  if (success === undefined || deciding.length === 0 || hasError) return 'error';
  return outcomeOf(success && deciding.every((each) => each.success === true));
}
