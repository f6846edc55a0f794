// What the suites print, each in one piece although several run at once, and the last words about those that failed.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

interface Turn {
  kept: string[];
  hasEnded: boolean;
}

/**
 * Takes turns: what the first of those that run prints goes out at once, what the others print when it is their turn.
 * So a run that is killed has shown something of the longest one.
 */
export class Turns {
  readonly #turns: Turn[] = [];
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** The next turn; `end` hands over. */
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

  /** Everything that was kept goes out, whoever's turn it is. */
  flush(): void {
    for (const turn of this.#turns) this.#show(turn);
  }

  #show(turn: Turn | undefined): void {
    for (const text of turn?.kept.splice(0) ?? []) this.#write(text);
  }
}

/** What is read of the JSON that Jest writes. */
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
    /** Of the file as a whole. */
    message: string;
    assertionResults: {
      ancestorTitles: string[];
      title: string;
      status: string;
      /** Milliseconds; null or absent where the test did not run. */
      duration?: number | null;
      failureMessages: string[] | null;
    }[];
  }[];
}

/** Lines of a failed test's message, and of a failed check's output; characters of a line. */
const [MESSAGE_LINES, OUTPUT_LINES, LINE_LENGTH] = [12, 20, 300];
/** Where a message goes on with the code or the stack. */
const CODE_OR_STACK = /^\s*(>?\s*\d+ \||at )/;

const linesOf = (text: string) =>
  stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.trim() !== '');

const indented = (lines: readonly string[]) => lines.map((line) => `    ${line.slice(0, LINE_LENGTH)}`);

/** What a message says before code and stack, and the place in a test that the stack names first. */
function firstLines(message: string): string[] {
  const lines = linesOf(message);
  const code = lines.findIndex((line) => CODE_OR_STACK.test(line));
  const place = lines.find(
    (line) => /^\s*at .*\.ts:\d+:\d+\)?$/.test(line) && !line.includes('node_modules'),
  );
  const said = (code === -1 ? lines : lines.slice(0, code)).slice(0, MESSAGE_LINES);
  return [...said, ...(place === undefined ? [] : [place.trim()])];
}

/** Of each failed test its file, its name and what it said first, as lines; of a file that failed as a whole likewise. */
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

/** A test and how long it took, in milliseconds. */
export interface TimedTest {
  name: string;
  ms: number;
}

/** Every test of a Jest run that took time. */
export function timesOf(result: JestResult, root: string): TimedTest[] {
  return result.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.flatMap(({ ancestorTitles, title, duration }) =>
      typeof duration === 'number' && duration > 0
        ? [{ name: [relative(root, name), ...ancestorTitles, title].join(' › '), ms: duration }]
        : [],
    ),
  );
}

/** The slowest tests as lines, the slowest first: seconds, then the name. */
export const slowest = (tests: readonly TimedTest[], count: number): string[] =>
  tests
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, count)
    .map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(6)} s  ${name}`);

/** The end of what a process printed, as lines. */
export const endOf = (output: string): string[] => indented(linesOf(output).slice(-OUTPUT_LINES));

/** What Jest wrote; null: nothing that can be read. */
export function readResult(file: string): JestResult | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JestResult;
  } catch {
    return null;
  }
}
