import type { OutcomeCounts } from '../../core/shapes/outcomes.ts';
import { allInstances, lastSeenOf } from '../../core/observation/all-instances.ts';
import { compliantOf } from '../../core/observation/compliant-of.ts';
import { conditionOf } from '../../core/observation/condition-of.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { usedToday } from '../../core/observation/tokens.ts';
import { STOP_STATES } from '../../core/shapes/agent-stop.ts';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import type { AgentRecord } from '../stores/store.ts';

/** The row of an agent whose status was computed at the time of the request. */
export function listItemOf(agent: AgentRecord): AgentRow {
  const { status } = agent;
  return {
    agentId: agent.agentId,
    agentName: agent.name,
    compliant: compliantOf(status),
    namespace: agent.namespace,
    runtime: agent.runtime,
    source: agent.source,
    phase: status.phase,
    grade: status.grade ?? null,
    score: status.score ?? null,
    tokens: status.tokens ?? null,
    costUsd: costOf(status),
    evidence: evidenceOf(status),
    proved: status.audit?.proved ?? null,
    violations: status.violations ?? null,
    failOpen: failOpenOf(status.outcomes),
    policyMode: status.policyMode ?? null,
    instances: status.instanceCount ?? 0,
    lastSeen: lastSeenOf(status),
    stop: stopStateOf(status),
    stale: lastSeenOf(status) !== null && conditionOf(status, 'Reporting')?.status !== 'True',
  };
}

/**
 * The cost of the day that `tokens` belongs to. A new day sets the tokens to zero and leaves the totals of the previous day in
 * the instances, so with zero tokens the totals are old. Tokens without a cost have no price in the manifest.
 */
function costOf(status: ObservationStatus): number | null {
  const { tokens, departedToday } = status;
  if (tokens === undefined || tokens === 0) return tokens ?? null;
  const uses = [...allInstances(status), ...(departedToday ? [departedToday] : [])];
  const day = uses
    .map((use) => use.day)
    .sort()
    .at(-1);
  const cost = day === undefined ? 0 : usedToday(status, new Date(`${day}T00:00:00Z`)).costUsd;
  return cost === 0 ? null : cost;
}

/** null: the agent is not stopped. */
function stopStateOf(status: ObservationStatus): AgentRow['stop'] {
  if (status.stop === undefined) return null;
  const reason = conditionOf(status, 'Stopped')?.reason;
  return STOP_STATES.find((each) => each === reason) ?? 'Stopping';
}

function evidenceOf({ evidence }: ObservationStatus): AgentRow['evidence'] {
  if (evidence === undefined) return null;
  const { percent, shown, declared } = evidence;
  return { percent, shown, declared };
}

function failOpenOf(outcomes: OutcomeCounts | undefined): number | null {
  if (outcomes === undefined) return null;
  const { allow, deny, failOpen } = outcomes;
  const all = allow + deny + failOpen;
  return all === 0 ? null : failOpen / all;
}
