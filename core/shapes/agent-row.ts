import { amount, count, dnsLabel, score } from './common.ts';
import { evidenceSums } from './evidence.ts';
import { flag, isoTime, matching, named, nullable, number, oneOf, optional } from './field.ts';
import { list, object, partial, namedObject, type TypeOf } from './object.ts';
import { STOP_STATES } from './agent-stop.ts';
import { GRADES, PHASES, POLICY_MODES, RUNTIMES } from './values.ts';
import { verdict } from './verdict.ts';
export const row = {
  // Also an annotation value of the agents that are mirrored.
  agentId: matching('Id of the agent.', {
    pattern: /^[\x21-\x7e]{1,200}$/,
    wanted: '1 to 200 visible ASCII characters',
  }),
  agentName: dnsLabel('Name of the agent, unique in its namespace.'),
  compliant: verdict,
  namespace: dnsLabel('Namespace of the agent.'),
  runtime: oneOf('Where the agent runs.', RUNTIMES),
  source: oneOf('`sidecar`: a workload of the cluster. `remote`: registered with the admin key.', [
    'sidecar',
    'remote',
  ]),
  phase: oneOf('The worst phase of its instances.', PHASES),
  grade: nullable(oneOf('The lowest grade of the instances that report.', GRADES)),
  score: nullable(score('The lowest score of the instances that report.')),
  tokens: nullable(count('Of the current UTC day.')),
  costUsd: nullable(amount('Of the current UTC day. null: no prices in the manifest.')),
  evidence: nullable(
    object('The evidence of the instance with the least.', {
      percent: score('Share of the declared items with evidence, rounded down.'),
      shown: evidenceSums.shown,
      declared: evidenceSums.declared,
    }),
  ),
  proved: nullable(score('Proved score of the compliance rules.')),
  violations: nullable(count('Distinct policy denials of the worst instance.')),
  failOpen: nullable(
    number(
      'Share of the requests with a policy engine that passed because it was unreachable. null: no such request.',
      { min: 0, max: 1 },
    ),
  ),
  policyMode: nullable(oneOf('Policy mode of the worst instance.', POLICY_MODES)),
  instances: count('Number of instances.'),
  lastSeen: nullable(isoTime('The last heartbeat.')),
  stop: nullable(oneOf('How far a stop of the agent got. null: it is not stopped.', STOP_STATES)),
  stale: flag('No instance reports: grade, score and evidence are those of `lastSeen`.'),
};

const trend = {
  trend: optional(
    list('Last score of each hour of the last 24 hours, oldest first.', score('The last score of an hour.')),
  ),
};

/** Members of an agent in the list that `?fields=` can select. */
export const AGENT_FIELDS: readonly string[] = Object.keys(row);

export const agentRow = namedObject('AgentListItem', 'One agent. null: never reported.', {
  ...row,
  ...trend,
});

/** One agent in `GET /api/v1/agents` and in the event stream. */
export interface AgentRow extends TypeOf<typeof agentRow> {}

/** The agent with some of its members. */
const members = object('The members of an agent that `fields` selects.', partial({ ...row, ...trend }));
export const agentSelection = named('AgentSelection', members);

/** What a control plane in another cluster needs of an agent. Earlier versions do not send every member. */
export const remoteAgent = object('An agent of another control plane.', {
  ...{ agentId: row.agentId, agentName: row.agentName, namespace: row.namespace, runtime: row.runtime },
  ...{ phase: row.phase, grade: row.grade, score: row.score, tokens: row.tokens, lastSeen: row.lastSeen },
});
export interface RemoteAgent extends TypeOf<typeof remoteAgent> {}

export const fleetEvent = namedObject('FleetEvent', 'The data of the event `agents`.', {
  changed: list('New and changed agents, without `trend`.', agentRow, { max: 200 }),
  removed: list(
    'Agents that do not exist any more.',
    object('An agent.', { namespace: row.namespace, agentName: row.agentName }),
  ),
});

/** The data of an event of `GET /api/v1/stream`. */
export interface FleetEvent extends TypeOf<typeof fleetEvent> {}
