import type { CheckRule, CheckSeverity, Outcome } from './rule.ts';

/** One line of the report. */
export interface CheckFinding {
  code: string;
  severity: CheckSeverity;
  /** `unknown`: the check could not run; `message` contains the reason. */
  status: 'found' | 'unknown';
  /** Empty where the whole check is unknown. */
  subject: string;
  message: string;
  hint: string;
  /** The documentation page of the check. */
  docs: string;
}

export interface Checked {
  findings: CheckFinding[];
  /** Codes of the checks that ran without findings. */
  passed: string[];
}

const PAGE = 'docs/reference/checks.md';
const UNKNOWN_HINT = 'run the command with this permission, or see the documentation page';

/** Runs all checks of a table in order. */
export function runChecks<F>(rules: readonly CheckRule<F>[], facts: F): Checked {
  const findings: CheckFinding[] = [];
  const passed: string[] = [];
  for (const rule of rules) {
    const found = findingsOf(rule, rule.evaluate(facts));
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
      hint: UNKNOWN_HINT,
    })),
  ];
}

/** Whether there is a finding of at least this severity. An unknown result counts with the severity of its check. */
export function fails(findings: readonly CheckFinding[], failOn: CheckSeverity): boolean {
  return findings.some(({ severity }) => severity === 'error' || failOn === 'warning');
}
