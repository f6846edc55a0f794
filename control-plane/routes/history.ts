import type { Request, Response } from 'express';
import {
  HISTORY_STEPS,
  type AgentHistory,
  type FleetHistory,
  type HistoryStep,
} from '../../core/shapes/history.ts';
import { MAX_POINTS, rangeOf } from '../../core/fleet/steps.ts';
import type { Operation } from '../../core/openapi/operation.ts';
import { isoTime } from '../../core/shapes/field.ts';
import { INVALID } from '../../core/untrusted/fields.ts';
import { Problem } from '../../runtime/problem.ts';
import { wantedNamespaces } from '../auth/authorize.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { HistoryStore, Times } from '../stores/history.ts';
import { findAgent, namespaceReader } from './find-agent.ts';
import { oneOf, readQuery, type QueryParameter } from './query.ts';
import { readRoute } from './read-route.ts';

const EXAMPLE = '2026-03-01T10:00:00Z';

/** A time in a query. A `+` of an offset has to be percent-encoded, so the example is in UTC. */
export function instant(description: string): QueryParameter<Date> {
  const field = isoTime(description);
  return {
    read: (raw) => {
      const time = field(raw, '', []);
      return time === INVALID
        ? { error: `is not an ISO 8601 time with a time zone, such as ${EXAMPLE}` }
        : new Date(time);
    },
    schema: { type: 'string', format: 'date-time' },
    description,
  };
}

const RANGE = {
  from: instant(
    'Start of the range, inclusive, rounded down to the start of its hour or day. Default: 24 hours before `to` (step `hour`), 30 days (`day`), or everything (`heartbeat`).',
  ),
  to: instant('End of the range, exclusive. Default: now.'),
};

const HISTORY_QUERY = {
  step: oneOf(
    HISTORY_STEPS,
    'One point for each stored heartbeat, or for each UTC hour or day. Default: hour.',
  ),
  ...RANGE,
};

const FLEET_QUERY = {
  step: oneOf(['hour', 'day'], 'One point for each UTC hour or day. Default: hour.'),
  ...RANGE,
  namespace: namespaceReader,
};

/** The response of the routes that need a SQL store. */
export const NO_HISTORY = { 501: 'The Kubernetes store keeps only the latest state.' } as const;

/** The part of the store that keeps the past. Throws a 501 with the reason if the store has none. */
export function requireHistory({ store }: ControlPlaneContext, what: string): HistoryStore {
  if (store.history === null)
    throw new Problem(
      501,
      `the Kubernetes store keeps only the latest state and no ${what}; set STORE=sqlite or STORE=postgres on the control plane`,
    );
  return store.history;
}

const AGENT_OPERATION: Operation = {
  id: 'getAgentHistory',
  query: { ...HISTORY_QUERY, namespace: namespaceReader },
  responses: {
    200: { description: 'The points and changes of the agent, oldest first.', schema: 'AgentHistory' },
    404: 'The agent does not exist.',
    409: 'The name exists in several namespaces; `namespaces` lists them.',
    ...NO_HISTORY,
  },
};

const FLEET_OPERATION: Operation = {
  id: 'getFleetHistory',
  query: FLEET_QUERY,
  responses: {
    200: { description: 'The points of all agents, oldest first.', schema: 'FleetHistory' },
    ...NO_HISTORY,
  },
};

/** The past of one agent and of the fleet. */
export function historyRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const { clock } = context;
  return [
    readRoute('/api/v1/agents/:name/history', {
      summary: `\`{agentName, namespace, step, from, to, points[], changes[]}\`, oldest first. A point has \`{at, heartbeats, score, scoreMin, scoreMax, grade, phase, tokens, costUsd, outcomes}\`. \`changes[] {at, kind, from, to, summary?}\` lists changes of phase, grade, manifest, sidecar version and policy mode, and stops. Query: \`?step=heartbeat\`, \`hour\` (default) or \`day\`, \`?from=\` and \`?to=\` (ISO 8601), \`?namespace=\`. 400 above ${MAX_POINTS} points. 501 with the Kubernetes store.`,
      operation: AGENT_OPERATION,
      read: agentHistory,
    }),
    readRoute('/api/v1/history', {
      summary: `\`{namespace, step, from, to, points[]}\`, oldest first: all agents that the caller may read, in each hour or day. A point has \`{at, agents, heartbeats, score, grades, tokens, costUsd, outcomes}\`; \`score\` is the mean. Query: \`?step=hour\` (default) or \`day\`, \`?from=\`, \`?to=\`, \`?namespace=\`. 400 above ${MAX_POINTS} points. 501 with the Kubernetes store.`,
      operation: FLEET_OPERATION,
      read: fleetHistory,
    }),
  ];

  async function agentHistory(request: Request, response: Response): Promise<AgentHistory> {
    const history = requireHistory(context, 'history');
    const { step = 'hour', ...given } = readQuery(request, HISTORY_QUERY);
    const range = requireRange(step, given, clock.now());
    const { namespace, name } = await findAgent(request, response, context);
    const found = await history.agent({ namespace, name, step, ...range });
    return { agentName: name, namespace, step, ...textOf(range), ...found };
  }

  async function fleetHistory(request: Request, response: Response): Promise<FleetHistory> {
    const history = requireHistory(context, 'history');
    const { step = 'hour', namespace, ...given } = readQuery(request, FLEET_QUERY);
    const range = requireRange(step, given, clock.now());
    const namespaces = await wantedNamespaces(response, context, namespace);
    const points = await history.fleet({ step, ...range, namespaces });
    return { namespace: namespace ?? null, step, ...textOf(range), points };
  }
}

function requireRange(step: HistoryStep, given: Partial<Times>, now: Date): Times {
  const range = rangeOf(step, given, now);
  if (range.ok) return { from: range.from, to: range.to };
  const { path, message } = range;
  throw new Problem(400, 'the query is not valid', { extra: { errors: [{ path, message }] } });
}

const textOf = ({ from, to }: Times) => ({ from: from.toISOString(), to: to.toISOString() });
