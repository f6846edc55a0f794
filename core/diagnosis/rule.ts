import type { Fact } from './fact.ts';

/** `error`: something does not work or is not guarded. `warning`: it will soon fail, or it is intentionally weaker. */
export type CheckSeverity = 'error' | 'warning';

export const CHECK_SEVERITIES: readonly CheckSeverity[] = ['error', 'warning'];

/** One detected problem. */
export interface Problem {
  /** The affected object: `Deployment platform-system/agent-compliance-webhook`. */
  subject: string;
  /** One sentence with the names of the affected objects. */
  message: string;
  /** The fix, as a command if possible. */
  hint: string;
}

export interface Outcome {
  problems: Problem[];
  /** Reasons why something could not be checked. */
  unknown: string[];
}

/** One check. */
export interface CheckRule<F> {
  /** Stable; also the anchor in docs/reference/checks.md. */
  code: string;
  severity: CheckSeverity;
  /** Completes the sentence "error, when …" in docs/reference/checks.md. */
  when: string;
  /** The fix, for the same page. */
  remediation: string;
  evaluate(facts: F): Outcome;
}

/** What a check finds in known facts; null: nothing. */
export type Judgement = readonly Problem[] | Problem | null;

/** The problems that `judge` finds in a fact; an unknown fact is reported as unknown. */
export function judged<T>(fact: Fact<T>, judge: (value: T) => Judgement): Outcome {
  return fact.known
    ? { problems: [judge(fact.value) ?? []].flat(), unknown: [] }
    : { problems: [], unknown: [fact.why] };
}

/** The problems that `judge` finds in two facts. */
export function judgedBoth<T, U>(
  first: Fact<T>,
  second: Fact<U>,
  judge: (first: T, second: U) => Judgement,
): Outcome {
  if (!first.known) return { problems: [], unknown: [first.why] };
  return judged(second, (value) => judge(first.value, value));
}

/** Merges outcomes; each reason for an unknown result is listed once. */
export function mergeOutcomes(outcomes: readonly Outcome[]): Outcome {
  return {
    problems: outcomes.flatMap(({ problems }) => problems),
    unknown: [...new Set(outcomes.flatMap(({ unknown }) => unknown))],
  };
}
