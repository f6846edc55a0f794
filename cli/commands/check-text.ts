import type { CheckReport } from '../../core/diagnosis/check-report.ts';
import { fails, type CheckFinding } from '../../core/diagnosis/report.ts';
import type { CheckSeverity } from '../../core/diagnosis/rule.ts';
import { json, printable, type Rendered } from '../rendered.ts';
import { painter, type Paint } from '../table.ts';

export interface CheckRendering {
  output: 'json' | 'text';
  failOn: CheckSeverity;
  color: boolean;
}

/** Output and exit code of `platform check`. */
export function renderCheck(report: CheckReport, { output, failOn, color }: CheckRendering): Rendered {
  const exitCode = fails(report.findings, failOn) ? 1 : 0;
  const text = output === 'json' ? json(report) : checkText(report, painter(color));
  return { output: text, errors: '', exitCode };
}

function checkText({ server, kubernetes, release, findings, passed }: CheckReport, paint: Paint): string {
  const head = [
    `cluster ${printable(server)}${kubernetes === null ? '' : `, Kubernetes ${printable(kubernetes)}`}`,
    ...(release === null
      ? []
      : [`release ${release.name} in ${release.namespace}, version ${release.versions.join(', ')}`]),
  ];
  const blocks = findings.map((finding) => findingText(finding, paint));
  return [`${head.join('\n')}\n`, ...blocks, `${summary(findings, passed.length, paint)}\n`].join('\n');
}

function findingText({ code, severity, status, message, hint, docs }: CheckFinding, paint: Paint): string {
  const word = status === 'unknown' ? 'unknown' : severity;
  const style = status === 'unknown' ? 'dim' : severity === 'error' ? 'red' : 'yellow';
  return `${paint(style, word)} ${paint('bold', code)}: ${printable(message)}\n  ${printable(hint)}\n  ${paint('dim', docs)}\n`;
}

function summary(findings: readonly CheckFinding[], passed: number, paint: Paint): string {
  const count = (is: (finding: CheckFinding) => boolean) => findings.filter(is).length;
  const parts = [
    [count(({ status, severity }) => status === 'found' && severity === 'error'), 'error'],
    [count(({ status, severity }) => status === 'found' && severity === 'warning'), 'warning'],
  ] as const;
  const counts = parts.filter(([number]) => number > 0).map(([number, word]) => plural(number, word));
  const unknown = count(({ status }) => status === 'unknown');
  const text = [
    ...counts,
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
    `${plural(passed, 'check')} passed`,
  ].join(', ');
  return findings.length === 0 ? paint('green', text) : text;
}

export function plural(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
