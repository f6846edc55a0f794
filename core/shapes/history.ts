import { amount, count, score } from './common.ts';
import { isoTime, named, nullable, number, oneOf, text, type Field } from './field.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';
import { outcomeMembers } from './outcomes.ts';
import { GRADES, PHASES } from './values.ts';

/** `heartbeat`: one point for each stored heartbeat. `hour`, `day`: one point for each UTC hour or day with a heartbeat. */
export const HISTORY_STEPS = ['heartbeat', 'hour', 'day'] as const;
export type HistoryStep = (typeof HISTORY_STEPS)[number];

export const CHANGE_KINDS = ['phase', 'grade', 'manifest', 'version', 'policy-mode', 'stop'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

const use = {
  tokens: count('Tokens used in the step.'),
  costUsd: amount('Cost in the step in USD; 0 without prices in the manifest.'),
  outcomes: object('Requests in the step by the result of the policy.', outcomeMembers),
};
const range = {
  from: isoTime('Start of the range, inclusive.'),
  to: isoTime('End of the range, exclusive.'),
};
const heartbeats = count('Number of accepted heartbeats.');
const OLDEST_FIRST = 'Oldest first. A step without a heartbeat has no point.';

export const historyPoint = namedObject('HistoryPoint', 'What all instances of an agent did in one step.', {
  at: isoTime('Start of the UTC hour or day; with step `heartbeat` the time at which it was received.'),
  heartbeats,
  score: score('Score of the agent after the last heartbeat of the step.'),
  scoreMin: score('Lowest score in the step.'),
  scoreMax: score('Highest score in the step.'),
  grade: oneOf('Grade of `score`.', GRADES),
  phase: oneOf('Phase after the last heartbeat of the step.', PHASES),
  ...use,
});
export interface HistoryPoint extends TypeOf<typeof historyPoint> {}

export const historyChange = namedObject('HistoryChange', 'A moment at which a value of an agent changed.', {
  at: isoTime('Time of the change.'),
  kind: oneOf(
    'The value: for `manifest` the hash of the newest manifest, for `version` the version of the sidecar, for `stop` the id of the stop.',
    CHANGE_KINDS,
  ),
  from: nullable(text('null: there was no value before.')),
  to: nullable(text('null: there is no value any more.')),
  'summary?': text(
    'For `manifest`: what changed and its weight, or that it is not known. For `stop`: who requested it and why, or when it was confirmed.',
  ),
});
export interface HistoryChange extends TypeOf<typeof historyChange> {}

export const agentHistory = namedObject('AgentHistory', 'The past of one agent.', {
  agentName: text('Name of the agent.'),
  namespace: text('Namespace of the agent.'),
  step: oneOf('The step of the points.', HISTORY_STEPS),
  ...range,
  points: list(OLDEST_FIRST, historyPoint),
  changes: list('Oldest first.', historyChange),
});
/** `GET /api/v1/agents/{name}/history`. */
export interface AgentHistory extends TypeOf<typeof agentHistory> {}

const agentsWith = (grade: string): Field<number> =>
  count(`Agents whose last grade in the step is ${grade}.`);

export const fleetPoint = namedObject('FleetPoint', 'All agents in one hour or day.', {
  at: isoTime('Start of the UTC hour or day.'),
  agents: count('Number of agents with a heartbeat in the step.'),
  heartbeats,
  score: number("Mean of the agents' last scores in the step, rounded to one decimal place.", {
    min: 0,
    max: 100,
  }),
  grades: object('Number of agents by their last grade in the step.', {
    A: agentsWith('A'),
    B: agentsWith('B'),
    C: agentsWith('C'),
    D: agentsWith('D'),
    F: agentsWith('F'),
  }),
  ...use,
});
export interface FleetPoint extends TypeOf<typeof fleetPoint> {}

const ofFleet = object('The past of all agents, or of those of one namespace.', {
  namespace: nullable(text('null: all namespaces.')),
  step: oneOf('The step of the points.', ['hour', 'day']),
  ...range,
  points: list(OLDEST_FIRST, fleetPoint),
});
/** `GET /api/v1/history`. */
export interface FleetHistory extends TypeOf<typeof ofFleet> {}
export const fleetHistory = named('FleetHistory', ofFleet);
