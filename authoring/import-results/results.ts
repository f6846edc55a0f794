import { fieldOf } from '../../core/shapes/field.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';

/** A value of any form, because it does not decide the outcome of a test. */
export const anything = fieldOf<unknown>(
  (value) => value,
  () => ({}),
);

/** The name of a model: a text, or the id of an object. */
export function modelNameOf(value: unknown): string | undefined {
  const name = isRecord(value) ? own(value, 'id') : value;
  return typeof name === 'string' ? name : undefined;
}

/** One test that a tool ran. A test without a result is an error. */
export interface Test {
  /** What the tool tests, such as `hijacking`; null: a data set of the user, without such a name. */
  name: string | null;
  outcome: 'passed' | 'failed' | 'error';
}

/** The results in one file. They have no text of a prompt or a response. */
export interface TestResults {
  /** The tool that ran the tests, as the proof names it. */
  tool: string;
  toolVersion?: string | undefined;
  /** As the tool writes it. */
  startedAt?: string | undefined;
  /** The model that judged the responses, if the file names one. */
  judge?: string | undefined;
  tests: Test[];
}

/** `reason`: why no result of the file counts, such as a run that did not end. */
export type ReadResults = { ok: true; results: TestResults } | { ok: false; reason: string };

export const notRead = (reason: string) => ({ ok: false as const, reason });

/** The outcome of a test with a result: whether it passed. */
export const outcomeOf = (passed: boolean): Test['outcome'] => (passed ? 'passed' : 'failed');
