import { OUTCOMES } from '../../behavior/audit-entry.ts';
import { CHANGE_KINDS, HISTORY_STEPS } from '../../fleet/history.ts';
import { GRADES, PHASES } from '../../shapes/values.ts';
import {
  AMOUNT,
  closed,
  COUNT,
  enumOf,
  listOf,
  orNull,
  ref,
  TEXT,
  TIME,
} from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';
import { GRADE, SCORE } from './reports.ts';

const USE = {
  tokens: { ...COUNT, description: 'Tokens used in the step.' },
  costUsd: { ...AMOUNT, description: 'Cost in the step in USD; 0 without prices in the manifest.' },
  outcomes: {
    ...closed(Object.fromEntries(OUTCOMES.map((each) => [each, COUNT]))),
    description: 'Requests in the step by the result of the policy.',
  },
} as const;

const RANGE = {
  from: { ...TIME, description: 'Start of the range, inclusive.' },
  to: { ...TIME, description: 'End of the range, exclusive.' },
} as const;

/** Schemas of the history and of the log of admin actions. */
export const HISTORY_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  AgentHistory: {
    description: 'The past of one agent.',
    ...closed({
      agentName: TEXT,
      namespace: TEXT,
      step: enumOf(HISTORY_STEPS),
      ...RANGE,
      points: {
        ...listOf(ref('HistoryPoint')),
        description: 'Oldest first. A step without a heartbeat has no point.',
      },
      changes: { ...listOf(ref('HistoryChange')), description: 'Oldest first.' },
    }),
  },
  HistoryPoint: {
    description: 'What all instances of an agent did in one step.',
    ...closed({
      at: {
        ...TIME,
        description: 'Start of the UTC hour or day; with step `heartbeat` the time at which it was received.',
      },
      heartbeats: { ...COUNT, description: 'Number of accepted heartbeats.' },
      score: { ...SCORE, description: 'Score of the agent after the last heartbeat of the step.' },
      scoreMin: { ...SCORE, description: 'Lowest score in the step.' },
      scoreMax: { ...SCORE, description: 'Highest score in the step.' },
      grade: { ...GRADE, description: 'Grade of `score`.' },
      phase: { ...enumOf(PHASES), description: 'Phase after the last heartbeat of the step.' },
      ...USE,
    }),
  },
  HistoryChange: {
    description: 'A moment at which a value of an agent changed.',
    ...closed({
      at: TIME,
      kind: {
        ...enumOf(CHANGE_KINDS),
        description: 'The value: for `manifest` the hash, for `version` the version of the sidecar.',
      },
      from: { ...orNull(TEXT), description: 'null: there was no value before.' },
      to: { ...orNull(TEXT), description: 'null: there is no value any more.' },
    }),
  },
  FleetHistory: {
    description: 'The past of all agents, or of those of one namespace.',
    ...closed({
      namespace: { ...orNull(TEXT), description: 'null: all namespaces.' },
      step: enumOf(HISTORY_STEPS.filter((step) => step !== 'heartbeat')),
      ...RANGE,
      points: {
        ...listOf(ref('FleetPoint')),
        description: 'Oldest first. A step without a heartbeat has no point.',
      },
    }),
  },
  FleetPoint: {
    description: 'All agents in one hour or day.',
    ...closed({
      at: { ...TIME, description: 'Start of the UTC hour or day.' },
      agents: { ...COUNT, description: 'Number of agents with a heartbeat in the step.' },
      heartbeats: { ...COUNT, description: 'Number of accepted heartbeats.' },
      score: {
        type: 'number',
        minimum: 0,
        maximum: 100,
        description: "Mean of the agents' last scores in the step, rounded to one decimal place.",
      },
      grades: {
        ...closed(Object.fromEntries(GRADES.map((each) => [each, COUNT]))),
        description: 'Number of agents by their last grade in the step.',
      },
      ...USE,
    }),
  },
  AdminAction: {
    description: 'A request with the admin key that changes something, with its result.',
    ...closed({
      id: { type: 'integer', minimum: 1, description: 'Increases with each action.' },
      at: { ...TIME, description: 'Time of the response.' },
      action: { ...TEXT, description: 'The operation id of the route, such as `deleteAgent`.' },
      address: { ...TEXT, description: 'Address of the client.' },
      agentName: { ...orNull(TEXT), description: 'null: the request names no valid agent.' },
      namespace: { ...orNull(TEXT), description: 'Namespace of the agent; null: not known.' },
      ruleId: { ...orNull(TEXT), description: 'The rule of a proof; null: another action.' },
      status: { type: 'integer', minimum: 200, maximum: 599, description: 'Status of the response.' },
    }),
  },
};
