import type { Fact } from './facts.ts';

export const CHECK_SEVERITIES = ['error', 'warning'] as const;

/** `error`: something does not work or is not guarded. `warning`: it will soon fail, or it is intentionally weaker. */
export type CheckSeverity = (typeof CHECK_SEVERITIES)[number];

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

type ValueOf<F> = F extends { known: true; value: infer T } ? T : never;

/** Evaluates a check of the fact `name`; `judge` also gets all facts. */
export function judging<F, K extends keyof F>(
  name: K,
  judge: (value: ValueOf<F[K]>, facts: F) => Judgement,
): (facts: F) => Outcome {
  return (facts) => judged(facts[name] as Fact<ValueOf<F[K]>>, (value) => judge(value, facts));
}

type Values<F extends readonly Fact<unknown>[]> = { [K in keyof F]: ValueOf<F[K]> };

/** The problems that `judge` finds in several facts. The first one that is not known is reported as unknown. */
export function judgedAll<F extends readonly Fact<unknown>[]>(
  facts: readonly [...F],
  judge: (...values: Values<F>) => Judgement,
): Outcome {
  const missing = facts.find(({ known }) => !known);
  if (missing?.known === false) return { problems: [], unknown: [missing.why] };
  const values = facts.map((fact) => fact.known && fact.value) as Values<F>;
  return { problems: [judge(...values) ?? []].flat(), unknown: [] };
}

/** Merges outcomes; each reason for an unknown result is listed once. */
export function mergeOutcomes(outcomes: readonly Outcome[]): Outcome {
  return {
    problems: outcomes.flatMap(({ problems }) => problems),
    unknown: [...new Set(outcomes.flatMap(({ unknown }) => unknown))],
  };
}

/** One line of the report. `subject` is empty where the whole check is unknown. */
export interface CheckFinding extends Problem {
  code: string;
  severity: CheckSeverity;
  /** `unknown`: the check could not run; `message` contains the reason. */
  status: 'found' | 'unknown';
  /** The documentation page of the check. */
  docs: string;
}

const PAGE = 'docs/reference/checks.md';
const UNKNOWN_HINT = 'run the command with this permission, or see the documentation page';

/** The findings of one check; none: it ran and passed. */
export function findingsOf<F>(rule: CheckRule<F>, facts: F): CheckFinding[] {
  const { code, severity } = rule;
  const { problems, unknown } = rule.evaluate(facts);
  const about = { code, severity, docs: `${PAGE}#${code}` };
  return [
    ...problems.map((problem) => ({ ...about, status: 'found' as const, ...problem })),
    ...unknown.map((message) => ({
      ...about,
      ...{ status: 'unknown' as const, subject: '', message, hint: UNKNOWN_HINT },
    })),
  ];
}

/** Whether there is a finding of at least this severity. An unknown result counts with the severity of its check. */
export function fails(findings: readonly CheckFinding[], failOn: CheckSeverity): boolean {
  return findings.some(({ severity }) => severity === 'error' || failOn === 'warning');
}
