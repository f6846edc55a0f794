import type { Fact } from './fact.ts';

/** `error`: something does not work, or is not guarded. `warning`: it will not for long, or somebody meant it so. */
export type CheckSeverity = 'error' | 'warning';

export const CHECK_SEVERITIES: readonly CheckSeverity[] = ['error', 'warning'];

/** One thing that is wrong. */
export interface Problem {
  /** What it is about: `Deployment platform-system/agent-compliance-webhook`. */
  subject: string;
  /** One sentence, with names. */
  message: string;
  /** What to do, as exactly as can be said. */
  hint: string;
}

export interface Outcome {
  problems: Problem[];
  /** Why something could not be looked at. */
  unknown: string[];
}

/** One row of a table of checks. */
export interface CheckRule<F> {
  /** Stable; also the row's place in docs/reference/checks.md. */
  code: string;
  severity: CheckSeverity;
  /** Reads as the end of "is found when …": docs/reference/checks.md. */
  when: string;
  /** What to do about it, for the same page. */
  remediation: string;
  look(facts: F): Outcome;
}

/** What `judge` finds in a fact; what is not known is said, not judged. */
export function judged<T>(fact: Fact<T>, judge: (value: T) => Problem[]): Outcome {
  return fact.known ? { problems: judge(fact.value), unknown: [] } : { problems: [], unknown: [fact.why] };
}

/** What `judge` finds in two facts together. */
export function judgedBoth<T, U>(
  first: Fact<T>,
  second: Fact<U>,
  judge: (first: T, second: U) => Problem[],
): Outcome {
  if (!first.known) return { problems: [], unknown: [first.why] };
  return judged(second, (value) => judge(first.value, value));
}

/** The outcomes of many things as one; each reason once. */
export function together(outcomes: readonly Outcome[]): Outcome {
  return {
    problems: outcomes.flatMap(({ problems }) => problems),
    unknown: [...new Set(outcomes.flatMap(({ unknown }) => unknown))],
  };
}
