import type { GapReport } from '../../core/shapes/gap.ts';
import { lostPointsLines } from '../../core/gap/lost-points.ts';
import { conditionValue } from '../../core/observation/condition-value.ts';
import type { AgentRow } from './control-plane-client.ts';

/** Colour functions; without a terminal they return the text unchanged. */
export interface Palette {
  bold(text: string): string;
  dim(text: string): string;
  /** `status`: of the condition Compliant. */
  verdict(status: string, text: string): string;
}

const ANSI = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
const paint = (code: number) => (text: string) => `\u001b[${code}m${text}\u001b[0m`;

export function paletteFor(isColoured: boolean): Palette {
  if (!isColoured) return { bold: same, dim: same, verdict: (_status, text) => text };
  return {
    bold: paint(ANSI.bold),
    dim: paint(ANSI.dim),
    verdict: (status, text) => paint(colourOf(status))(text),
  };
}

const same = (text: string): string => text;

function colourOf(status: string): number {
  if (status === 'True') return ANSI.green;
  return status === 'False' ? ANSI.red : ANSI.yellow;
}

const COLUMNS = ['NAME', 'COMPLIANT', 'PHASE', 'GRADE', 'SCORE', 'EVIDENCE', 'PROVED', 'TOKENS', 'CHECKED'];

/** The verdict of each agent, then what explains it, as `kubectl get agentobservations -o wide` shows it. */
export function fleetTable(agents: readonly AgentRow[], now: Date, palette: Palette): string {
  const rows = agents.map((agent) => [
    agent.agentName,
    conditionValue(agent.compliant.status).toLowerCase(),
    agent.phase,
    agent.grade ?? '',
    String(agent.score ?? ''),
    agent.evidence === null ? '' : `${agent.evidence.percent}%`,
    String(agent.proved ?? ''),
    agent.tokens?.toLocaleString('en') ?? '',
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
    ...rows.map((row, index) => palette.verdict(agents[index]?.compliant.status ?? '', line(row))),
  ].join('\n');
}

function ageOf(time: string, now: Date): string {
  return `${Math.max(0, Math.round((now.getTime() - Date.parse(time)) / 1_000))}s`;
}

/** Why an agent lost points, one line per issue. */
export function reasonLines(agentName: string, gap: GapReport, palette: Palette): string {
  if (gap.issues.length === 0) return `${palette.bold(agentName)} lost no points`;
  const lines = lostPointsLines(gap.issues, (text) => palette.dim(text));
  return [`${palette.bold(agentName)} lost ${100 - gap.score} points:`, ...lines].join('\n');
}

/** One line per agent: its verdict. */
export function complianceLines(agents: readonly AgentRow[], palette: Palette): string {
  const width = Math.max(...agents.map(({ agentName }) => agentName.length));
  return [
    palette.bold('Compliant, and why. Grade, evidence and proved score explain it:'),
    ...agents.map(({ agentName, compliant }) => {
      const verdict = `${conditionValue(compliant.status).toLowerCase()}: ${compliant.message}`;
      const line = `  ${agentName.padEnd(width)}  ${verdict}`;
      return palette.verdict(compliant.status, line);
    }),
  ].join('\n');
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
