import { count } from '../../core/shapes/common.ts';
import { integer, nullable, number, oneOf, parseWith, text, type Field } from '../../core/shapes/field.ts';
import { list, map, object, type TypeOf } from '../../core/shapes/object.ts';
import { isRecord, jsonOf, own } from '../../core/untrusted/fields.ts';
import { describeErrors } from './describe-errors.ts';
import { notRead, outcomeOf, type ReadResults, type Test } from './results.ts';

/** The lines that are read. The others, such as the setup and the digest, have no results. */
const init = object('The start of a run.', { garak_version: text('Version of garak.') });
const attempt = object('One prompt. The line is repeated after the detectors have judged it.', {
  uuid: text('Its id.'),
  status: integer('2: judged.', { min: 0 }),
  probe_classname: text('The probe, such as promptinject.HijackHateHumans.'),
  detector_results: map(
    'By detector, for each response.',
    list('Scores; null: no result.', nullable(number('From 0 (passed) to 1.', { min: 0, max: 1 }))),
    { max: 1_000 },
  ),
});
const sums = object('The sums of one probe and detector.', {
  probe: text('The probe.'),
  detector: text('The detector.'),
  passed: count('Responses that passed.'),
  fails: count('Responses that failed.'),
  nones: count('Responses without a result.'),
});
const completion = object('The end of the run.', {
  entry_type: oneOf('The kind of line.', ['completion']),
});

type Attempt = TypeOf<typeof attempt>;
type Sums = TypeOf<typeof sums>;

const JUDGED = 2;

export const isGarak = (line: unknown): line is Record<string, unknown> =>
  isRecord(line) && typeof own(line, 'entry_type') === 'string';

/**
 * Reads a report of garak. Each prompt is one test of the module of its probe. It failed if one detector found one of its
 * responses bad, whatever the number of detectors and responses.
 */
export function readGarak(content: string): ReadResults {
  const lines = content.replace(/\n$/, '').split('\n').map(jsonOf);
  if (!lines.every(isGarak))
    return notRead(`line ${lines.findIndex((line) => !isGarak(line)) + 1} is not a line of a garak report`);
  try {
    const [start] = linesOf('init', init, lines);
    const attempts = linesOf('attempt', attempt, lines);
    const all = linesOf('eval', sums, lines);
    if (linesOf('completion', completion, lines).length === 0)
      return notRead('the run did not end: the report has no line "completion"');
    const prompts = [...new Map(attempts.map((each) => [each.uuid, each])).values()];
    const limits = new Map(
      all.map((each) => [keyOf(each.probe, each.detector), failingScore(each, prompts)]),
    );
    const tests = prompts.map((each) => testOf(each, limits));
    return { ok: true, results: { tool: 'garak', toolVersion: start?.garak_version, tests } };
  } catch (error) {
    if (error instanceof InvalidReport) return notRead(error.message);
    throw error;
  }
}

class InvalidReport extends Error {}

/** All lines of one kind. Throws an InvalidReport. */
function linesOf<T>(kind: string, of: Field<T>, lines: readonly Record<string, unknown>[]): T[] {
  return lines.flatMap((line, index) => {
    if (own(line, 'entry_type') !== kind) return [];
    const parsed = parseWith(of, line);
    if (!parsed.ok) throw new InvalidReport(`line ${index + 1}: ${describeErrors(parsed.errors)}`);
    return [parsed.value];
  });
}

const keyOf = (probe: string, detector: string): string => JSON.stringify([probe, detector]);

/**
 * The lowest score that failed. The report does not have the threshold of the run, but the number of responses that failed,
 * which are those with the highest scores. Throws an InvalidReport if attempts are missing.
 */
function failingScore({ probe, detector, passed, fails, nones }: Sums, prompts: readonly Attempt[]): number {
  const judged = prompts.filter((each) => each.probe_classname === probe);
  const all = judged.flatMap((each) => each.detector_results[detector] ?? []);
  const scores = all.filter((score) => score !== null).sort((a, b) => b - a);
  if (scores.length !== passed + fails || all.length !== passed + fails + nones)
    throw new InvalidReport(`the attempts of ${probe} are not those that its sums count`);
  return fails === 0 ? Infinity : (scores[fails - 1] ?? 0);
}

/** A prompt that no detector judged, or of which one response has no score, has no result. */
function testOf(prompt: Attempt, limits: ReadonlyMap<string, number>): Test {
  const { probe_classname: probe, status, detector_results: results } = prompt;
  const name = probe.split('.', 1)[0] ?? probe;
  const scores = Object.entries(results).flatMap(([detector, all]) =>
    all.map((score) => ({ score, limit: limits.get(keyOf(probe, detector)) })),
  );
  const isJudged = scores.every(({ score, limit }) => score !== null && limit !== undefined);
  if (status !== JUDGED || scores.length === 0 || !isJudged) return { name, outcome: 'error' };
  return { name, outcome: outcomeOf(scores.every(({ score, limit }) => Number(score) < Number(limit))) };
}
