// Prints the output of concurrent suites as one block each, and the summary of the failures.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

interface Turn {
  kept: string[];
  hasEnded: boolean;
}

/**
 * Serialises output: the first running suite prints immediately, and the others are buffered until their turn. So a killed
 * run has printed the output of its longest suite.
 */
export class Turns {
  readonly #turns: Turn[] = [];
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Opens the next turn; `end` passes the turn to the next one. */
  open(): { write: (text: string) => void; end: () => void } {
    const turn: Turn = { kept: [], hasEnded: false };
    this.#turns.push(turn);
    return {
      write: (text) => {
        if (turn === this.#turns[0]) this.#write(text);
        else turn.kept.push(text);
      },
      end: () => {
        turn.hasEnded = true;
        while (this.#turns[0]?.hasEnded === true) {
          this.#turns.shift();
          this.#show(this.#turns[0]);
        }
      },
    };
  }

  /** Prints all buffered output. */
  flush(): void {
    for (const turn of this.#turns) this.#show(turn);
  }

  #show(turn: Turn | undefined): void {
    for (const text of turn?.kept.splice(0) ?? []) this.#write(text);
  }
}

/** Used members of Jest's JSON result. */
export interface JestResult {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  numRuntimeErrorTestSuites: number;
  testResults: {
    /** Absolute path of the file. */
    name: string;
    status: string;
    /** Failure message of the whole file. */
    message: string;
    assertionResults: {
      ancestorTitles: string[];
      title: string;
      status: string;
      /** Milliseconds; null or absent if the test did not run. */
      duration?: number | null;
      failureMessages: string[] | null;
    }[];
  }[];
}

/** Limits: lines of a failed test's message, lines of a failed check's output, characters per line. */
const [MESSAGE_LINES, OUTPUT_LINES, LINE_LENGTH] = [12, 20, 300];
/** Start of the code or stack in a message. */
const CODE_OR_STACK = /^\s*(>?\s*\d+ \||at )/;

const linesOf = (text: string) =>
  stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.trim() !== '');

const indented = (lines: readonly string[]) => lines.map((line) => `    ${line.slice(0, LINE_LENGTH)}`);

/** The message without code and stack, followed by the first position in a project file. */
function firstLines(message: string): string[] {
  const lines = linesOf(message);
  const code = lines.findIndex((line) => CODE_OR_STACK.test(line));
  const place = lines.find(
    (line) => /^\s*at .*\.ts:\d+:\d+\)?$/.test(line) && !line.includes('node_modules'),
  );
  const text = (code === -1 ? lines : lines.slice(0, code)).slice(0, MESSAGE_LINES);
  return [...text, ...(place === undefined ? [] : [place.trim()])];
}

/** Lines with file, name and message of each failed test, or of a file that failed as a whole. */
export function failuresOf(result: JestResult, root: string): string[] {
  return result.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter((each) => each.status === 'failed');
    if (failed.length === 0 && status === 'failed') return [file, ...indented(firstLines(message))];
    return failed.flatMap(({ ancestorTitles, title, failureMessages }) => [
      [file, ...ancestorTitles, title].join(' › '),
      ...indented(firstLines((failureMessages ?? []).join('\n'))),
    ]);
  });
}

/** A test and its duration in milliseconds. */
export interface TimedTest {
  name: string;
  ms: number;
}

/** Every test of a Jest run with a duration. */
export function timesOf(result: JestResult, root: string): TimedTest[] {
  return result.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.flatMap(({ ancestorTitles, title, duration }) =>
      typeof duration === 'number' && duration > 0
        ? [{ name: [relative(root, name), ...ancestorTitles, title].join(' › '), ms: duration }]
        : [],
    ),
  );
}

/** Lines with seconds and name of the slowest tests, slowest first. */
export const slowest = (tests: readonly TimedTest[], count: number): string[] =>
  tests
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, count)
    .map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(6)} s  ${name}`);

/** The last lines of a process's output. */
export const endOf = (output: string): string[] => indented(linesOf(output).slice(-OUTPUT_LINES));

/** Jest's result file; null if missing or unreadable. */
export function readResult(file: string): JestResult | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JestResult;
  } catch {
    return null;
  }
}
