import { POINTS } from '../../core/gap/finding.ts';
import type { GapReport } from '../../core/gap/gap.ts';
import { conditionAnswer, type ConditionAnswer } from '../../core/observation/condition-answer.ts';
import type { AgentRow, ShownGap } from './control-plane-client.ts';

/** Colour functions; without a terminal they return the text unchanged. */
export interface Palette {
  bold(text: string): string;
  dim(text: string): string;
  grade(grade: string | null, text: string): string;
}

const ANSI = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
const paint = (code: number) => (text: string) => `\u001b[${code}m${text}\u001b[0m`;

export function paletteFor(isColoured: boolean): Palette {
  if (!isColoured) return { bold: same, dim: same, grade: (_grade, text) => text };
  return {
    bold: paint(ANSI.bold),
    dim: paint(ANSI.dim),
    grade: (grade, text) => paint(colourOf(grade))(text),
  };
}

const same = (text: string): string => text;

function colourOf(grade: string | null): number {
  if (grade === 'A' || grade === 'B') return ANSI.green;
  return grade === 'C' ? ANSI.yellow : ANSI.red;
}

const COLUMNS = ['NAME', 'PHASE', 'GRADE', 'SCORE', 'EVIDENCE', 'PROVED', 'TOKENS', 'CHECKED'];

/** The fleet as `kubectl get agentobservations` shows it, with evidence and proved score next to the score. */
export function fleetTable(agents: readonly AgentRow[], now: Date, palette: Palette): string {
  const rows = agents.map((agent) => [
    agent.agentName,
    agent.phase,
    agent.grade ?? '',
    String(agent.score ?? ''),
    agent.evidence === null ? '' : `${agent.evidence.percent}%`,
    String(agent.proved ?? ''),
    String(agent.tokens ?? ''),
    agent.lastSeen === null ? '' : ageOf(agent.lastSeen, now),
  ]);
  const widths = COLUMNS.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd();
  return [
    palette.bold(line(COLUMNS)),
    ...rows.map((row, index) => palette.grade(agents[index]?.grade ?? null, line(row))),
  ].join('\n');
}

function ageOf(time: string, now: Date): string {
  return `${Math.max(0, Math.round((now.getTime() - Date.parse(time)) / 1_000))}s`;
}

/** Why an agent lost points, one line per issue. */
export function reasonLines(agentName: string, gap: GapReport, palette: Palette): string {
  if (gap.issues.length === 0) return `${palette.bold(agentName)} lost no points`;
  const width = Math.max(...gap.issues.map(({ property }) => property.length));
  const lines = gap.issues.map(
    ({ severity, property, description }) =>
      `  ${`-${POINTS[severity]}`.padStart(3)}  ${property.padEnd(width)}  ${palette.dim(description)}`,
  );
  return [`${palette.bold(agentName)} lost ${100 - gap.score} points:`, ...lines].join('\n');
}

const COMPLIANCE: Readonly<Record<ConditionAnswer, string>> = {
  Yes: 'is compliant',
  No: 'is not compliant',
  Unknown: 'compliance is unknown',
};

/** One line per agent: whether it is compliant, and why. */
export function complianceLines(seen: readonly { row: AgentRow; gap: ShownGap }[], palette: Palette): string {
  const width = Math.max(...seen.map(({ row }) => row.agentName.length));
  const lines = seen.map(({ row: { agentName, compliant }, gap }) => {
    const verdict = COMPLIANCE[conditionAnswer(compliant?.status)];
    const why = [compliant?.message ?? 'no report yet', ...contradictions(gap)].join('; ');
    return `  ${agentName.padEnd(width)}  ${palette.bold(verdict)}: ${palette.dim(why)}`;
  });
  return [
    palette.bold(
      'The grade counts differences that were found. The evidence counts items that were shown. Compliant needs both:',
    ),
    ...lines,
  ].join('\n');
}

function contradictions({ evidence }: ShownGap): string[] {
  const items = (evidence?.items ?? []).flatMap(({ kind, name, contradictedBy }) =>
    contradictedBy === undefined ? [] : [`${kind} ${name} (${contradictedBy})`],
  );
  return items.length === 0 ? [] : [`contradicted reports: ${items.join(', ')}`];
}

export interface TryTargets {
  controlPlaneUrl: string;
  adminKey: string;
  /** An agent, and the two ports of its sidecar. */
  agentName: string;
  proxyUrl: string;
  controlUrl: string;
}

/** Commands to try in the checkout, one per line. */
export function tryLines(targets: TryTargets): string[] {
  const { controlPlaneUrl, adminKey, agentName, proxyUrl, controlUrl } = targets;
  const admin = `curl -s -H 'X-Admin-Key: ${adminKey}' ${controlPlaneUrl}/api/v1`;
  const question = JSON.stringify({ message: 'Where is order A-17?' });
  return [
    `${admin}/agents`,
    `${admin}/agents/${agentName}/gap`,
    `curl -s ${proxyUrl}/v1/chat -H 'content-type: application/json' -d '${question}'`,
    `curl -s '${controlUrl}/audit?limit=1'`,
    `curl -s ${controlUrl}/egress`,
    `curl -s ${controlUrl}/gap`,
    `curl -s ${controlUrl}/health/ready`,
    `node dist/cli/main.js audit examples/agents/${agentName}/agent.yaml --url ${controlUrl}`,
    `node dist/cli/main.js observe --once --url ${controlUrl}`,
  ];
}

export interface DashboardTargets {
  controlPlaneUrl: string;
  adminKey: string;
  /** The agent that changes while the demo runs; null: none. */
  changing: string | null;
}

/** Where the dashboard is, and what it shows. */
export function dashboardLines(targets: DashboardTargets, palette: Palette): string {
  const { controlPlaneUrl, adminKey, changing } = targets;
  return [
    palette.bold('Dashboard'),
    `  address    ${controlPlaneUrl}/`,
    `  admin key  ${adminKey}`,
    palette.dim('  The history before the start of the demo is seeded: it did not happen.'),
    ...(changing === null
      ? []
      : [
          palette.dim(
            `  ${changing} changes every 20 seconds: it runs its guardrails for a while, and then skips one again.`,
          ),
        ]),
  ].join('\n');
}
