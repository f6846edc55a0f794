import type { CheckRule, CheckSeverity, Outcome } from './rule.ts';

/** One line of the report. */
export interface CheckFinding {
  code: string;
  severity: CheckSeverity;
  /** `unknown`: it could not be looked at, and `message` says why. */
  status: 'found' | 'unknown';
  /** Empty where the whole check is unknown. */
  subject: string;
  message: string;
  hint: string;
  /** The page that explains it. */
  docs: string;
}

export interface Checked {
  findings: CheckFinding[];
  /** Codes of the checks that looked and found nothing. */
  passed: string[];
}

const PAGE = 'docs/reference/checks.md';
const LOOK = 'run it as somebody who has that right, or look at the page';

/** Runs every row of a table, in its order. */
export function runChecks<F>(rules: readonly CheckRule<F>[], facts: F): Checked {
  const findings: CheckFinding[] = [];
  const passed: string[] = [];
  for (const rule of rules) {
    const found = findingsOf(rule, rule.look(facts));
    findings.push(...found);
    if (found.length === 0) passed.push(rule.code);
  }
  return { findings, passed };
}

function findingsOf<F>({ code, severity }: CheckRule<F>, { problems, unknown }: Outcome): CheckFinding[] {
  const about = { code, severity, docs: `${PAGE}#${code}` };
  return [
    ...problems.map((problem): CheckFinding => ({ ...about, status: 'found', ...problem })),
    ...unknown.map((why): CheckFinding => ({
      ...about,
      status: 'unknown',
      subject: '',
      message: why,
      hint: LOOK,
    })),
  ];
}

/** Whether there is a finding of that severity or above it. What is not known counts as its check would. */
export function fails(findings: readonly CheckFinding[], failOn: CheckSeverity): boolean {
  return findings.some(({ severity }) => severity === 'error' || failOn === 'warning');
}
