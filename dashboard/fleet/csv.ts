import type { AgentRow } from '../../core/shapes/agent-row.ts';

type Cell = string | number | null | undefined;

/** The columns have the names of the API's members, and its values: numbers and times without a locale. */
const COLUMNS: readonly [name: string, value: (agent: AgentRow) => Cell][] = [
  ['namespace', (agent) => agent.namespace],
  ['agentName', (agent) => agent.agentName],
  ['agentId', (agent) => agent.agentId],
  ['grade', (agent) => agent.grade],
  ['score', (agent) => agent.score],
  ['phase', (agent) => agent.phase],
  ['tokens', (agent) => agent.tokens],
  ['costUsd', (agent) => agent.costUsd],
  ['violations', (agent) => agent.violations],
  ['failOpen', (agent) => agent.failOpen],
  ['evidenceShown', (agent) => agent.evidence?.shown],
  ['evidenceDeclared', (agent) => agent.evidence?.declared],
  ['compliant', (agent) => agent.compliant.status],
  ['compliantReason', (agent) => agent.compliant.reason],
  ['compliantMessage', (agent) => agent.compliant.message],
  ['lastSeen', (agent) => agent.lastSeen],
  ['stop', (agent) => agent.stop],
];

/** The agents as CSV (RFC 4180), with a header. */
export function csvOf(agents: readonly AgentRow[]): string {
  const lines = agents.map((agent) => COLUMNS.map(([, value]) => cellOf(value(agent))).join(','));
  return [COLUMNS.map(([name]) => name).join(','), ...lines].map((line) => `${line}\r\n`).join('');
}

function cellOf(value: Cell): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  // A spreadsheet would run a text that starts like a formula. The apostrophe marks it as text.
  const text = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
