import { flag, oneOf, parseWith, text } from '../../core/shapes/field.ts';
import { list, object, type TypeOf } from '../../core/shapes/object.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';
import { describeErrors } from './describe-errors.ts';
import { notRead, outcomeOf, type ReadResults, type Test } from './results.ts';

const LEVELS = ['none', 'note', 'warning', 'error'] as const;
const level = oneOf('How severe it is.', LEVELS);
const notifications = list('Messages of the tool.', object('A message.', { 'level?': level }));

const report = object('A SARIF 2.1.0 file.', {
  version: oneOf('The form.', ['2.1.0']),
  runs: list(
    'The runs.',
    object('A run.', {
      tool: object('The tool.', {
        driver: object('Its main part.', {
          name: text('Its name.', { max: 100 }),
          'version?': text('Its version.'),
          'semanticVersion?': text('Its version.'),
          'rules?': list(
            'What it tests.',
            object('A rule.', {
              id: text('Its id.'),
              'defaultConfiguration?': object('Its level.', { 'level?': level }),
            }),
          ),
        }),
      }),
      'invocations?': list(
        'How it ran.',
        object('One execution.', {
          executionSuccessful: flag('Whether it ended.'),
          'startTimeUtc?': text('When it started.'),
          'toolExecutionNotifications?': notifications,
        }),
      ),
      results: list(
        'What it found.',
        object('A result.', {
          'ruleId?': text('The rule.'),
          'kind?': oneOf('Whether it is a failure.', [
            ...(['pass', 'open', 'informational', 'notApplicable', 'review', 'fail'] as const),
          ]),
          'level?': level,
        }),
      ),
    }),
  ),
});

type Run = TypeOf<typeof report>['runs'][number];

export function isSarif(value: unknown): boolean {
  return isRecord(value) && Array.isArray(own(value, 'runs')) && own(value, 'version') !== undefined;
}

/**
 * Reads a SARIF file of one tool. Each result is a test, and so is each rule without a result, which passed. Only a result of
 * level error has failed.
 */
export function readSarif(value: unknown): ReadResults {
  const parsed = parseWith(report, value);
  if (!parsed.ok) return notRead(describeErrors(parsed.errors));
  const { runs } = parsed.value;
  const [first, ...others] = runs;
  if (first === undefined) return notRead('the file has no run');
  const { driver } = first.tool;
  if (others.some(({ tool }) => tool.driver.name !== driver.name))
    return notRead('the file has the results of several tools');
  const invocations = runs.flatMap(({ invocations: all = [] }) => all);
  const hasFailed = invocations.some(
    ({ executionSuccessful, toolExecutionNotifications = [] }) =>
      !executionSuccessful || toolExecutionNotifications.some((each) => each.level === 'error'),
  );
  if (hasFailed) return notRead('the run did not end: an invocation reports an error');
  return {
    ok: true,
    results: {
      tool: driver.name,
      toolVersion: driver.semanticVersion ?? driver.version,
      startedAt: invocations[0]?.startTimeUtc,
      tests: runs.flatMap(testsOf),
    },
  };
}

function testsOf({ tool, results }: Run): Test[] {
  const { rules = [] } = tool.driver;
  const found = results.flatMap(({ ruleId = null, kind = 'fail', level: own }): Test[] => {
    if (kind === 'notApplicable' || kind === 'informational') return [];
    if (kind === 'open' || kind === 'review') return [{ name: ruleId, outcome: 'error' }];
    const byDefault = rules.find(({ id }) => id === ruleId)?.defaultConfiguration?.level;
    const isError = kind === 'fail' && (own ?? byDefault ?? 'warning') === 'error';
    return [{ name: ruleId, outcome: outcomeOf(!isError) }];
  });
  const silent = rules.filter(({ id }) => !results.some(({ ruleId }) => ruleId === id));
  return [...found, ...silent.map(({ id }): Test => ({ name: id, outcome: 'passed' }))];
}
