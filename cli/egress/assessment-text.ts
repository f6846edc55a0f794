import { evidencePercent, itemText } from '../../core/evidence/evidence.ts';
import type { EvidenceTier } from '../../core/shapes/values.ts';
import type { EvidenceReport } from '../../core/shapes/evidence.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { lostPointsLines } from '../../core/gap/lost-points.ts';
import { printable } from '../rendered.ts';
import { plural, table, type Cell, type Paint } from '../table.ts';
import { verdictLine } from '../verdict-line.ts';
import type { ShownAssessment } from './reports.ts';

const UNREPORTED = { status: 'Unknown', message: 'the sidecar does not report it; update the sidecar' };

/** The gap report for people: the verdict, the lost points with their fixes, and the evidence. */
export function assessmentText(report: ShownAssessment, paint: Paint): string {
  const { score, grade, issues, evidence } = report;
  const lost = 100 - score;
  const total = `${score}/100 ${grade}, ${lost === 0 ? 'no points lost' : `${lost} points lost`}`;
  const lines = [
    issues.length === 0 ? total : `${total}:`,
    ...issueLines(issues, paint),
    ...(evidence === null ? [] : ['', evidenceText(evidence, paint)]),
  ];
  return verdictLine(report.compliant ?? UNREPORTED, paint) + lines.map((line) => `${line}\n`).join('');
}

function issueLines(issues: readonly Issue[], paint: Paint): string[] {
  const shown = issues.map(({ property, description, ...issue }) => ({
    ...issue,
    ...{ property: printable(property), description: printable(description) },
  }));
  const lines = lostPointsLines(shown, (text) => paint('dim', text));
  return lines.flatMap((line, index) => [
    line,
    `       fix: ${printable(issues[index]?.recommendation ?? '')}`,
  ]);
}

const TIER_STYLE = {
  ...{ probed: 'green', observed: 'green', proved: 'green' },
  ...{ reported: 'yellow', none: 'dim' },
} as const satisfies Record<EvidenceTier, Cell['style']>;

function evidenceText(evidence: EvidenceReport, paint: Paint): string {
  const rows = evidence.items.map(({ tier, kind, name, shownBy, contradictedBy }): Cell[] => [
    contradictedBy === undefined
      ? { text: tier, style: TIER_STYLE[tier] }
      : { text: 'contradicted', style: 'red' },
    { text: printable(itemText({ kind, name })) },
    { text: printable(contradictedBy ?? shownBy ?? '') },
  ]);
  const share = `${evidencePercent(evidence)} % of ${plural(evidence.declared, 'declared item')}`;
  return `${share} have evidence of the last 24 hours\n${table(['EVIDENCE', 'ITEM', 'SOURCE'], rows, paint)}`.trimEnd();
}
