import { randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';
import { isDnsLabel, isDnsSubdomain } from '../../core/injection/names.ts';
import { stopId, type AgentStop } from '../../core/organisation/stops.ts';
import { stopRequest, type StopEntry } from '../../core/shapes/agent-stop.ts';
import { parseWith } from '../../core/shapes/field.ts';
import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import { present } from '../../core/untrusted/present.ts';
import { jsonBody } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { requireRight } from '../auth/authorize.ts';
import { principalOf } from '../auth/principal.ts';
import { noteNamespace } from '../auth/record-actions.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { StopState } from '../stops/stops.ts';
import { tryAgain } from '../try-again.ts';
import { readRoute } from './read-route.ts';

const PATH = '/api/v1/stops';
/** Two lists of 100 patterns of 200 characters, and the reason. */
const MAX_STOP_BYTES = 256 * 1024;
/** Characters of `spec.by`. */
const MAX_BY = 320;
const RETRY = { headers: { 'Retry-After': 'Seconds to wait.' } };

/** The stops of agents. */
export function stopRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  context.metrics.gauge(
    'platform_control_plane_stops',
    'Stops that have not ended. Absent while they are not known.',
    () => {
      const stops = context.stops.list(context.clock.now());
      return stops === null ? [] : [{ value: stops.length }];
    },
  );
  const { list, create, remove } = handlersOf(context);
  return [
    readRoute(PATH, {
      summary:
        '`[{id, namespace, name, agents?, namespaces?, reason, until?, by?, since, stored}]`, newest first: the stops that have not ended. `stored` is false while the API server or the database has not accepted it. 503 until the stops are known.',
      operation: {
        id: 'listStops',
        responses: { 200: { description: 'The stops, newest first.', schema: listOf(ref('Stop')) } },
      },
      read: list,
    }),
    {
      method: 'POST',
      path: PATH,
      access: 'stop',
      summary:
        'Body `{namespace?, agents?, namespaces?, reason, until?}`: stops agents. Without `namespace` it applies to the agents in `namespaces`, or to all. 201 with the stop. 202 with `stored: false` while the API server or the database is unavailable: it applies to the sidecars that are connected to this replica, in memory, and is stored later. 400 with `errors`. 409 if the API server rejects it.',
      operation: {
        id: 'createStop',
        body: 'StopRequest',
        responses: {
          201: { description: 'The stop.', schema: 'Stop' },
          202: { description: 'The stop, which is not stored yet.', schema: 'Stop' },
          409: 'The API server rejected the AgentStop.',
        },
      },
      handlers: [jsonBody(MAX_STOP_BYTES), create],
    },
    {
      method: 'DELETE',
      path: `${PATH}/:namespace/:stop`,
      access: 'resume',
      summary:
        'Ends a stop: its agents resume, unless another stop applies. 204, 404. 503 while the API server or the database is unavailable.',
      operation: {
        id: 'deleteStop',
        responses: {
          204: 'The stop has ended.',
          404: 'There is no such stop.',
          409: 'The API server rejected the request.',
          503: { description: 'The stop cannot be ended now, or no admin key is configured.', ...RETRY },
        },
      },
      handlers: [remove],
    },
  ];
}

function handlersOf(context: ControlPlaneContext) {
  const { stops, clock, logger, access } = context;
  return {
    list: async (_request: Request, response: Response): Promise<StopEntry[]> => {
      const known = stops.list(clock.now());
      if (known === null) throw tryAgain('the stops are not known yet; try again', 2);
      const caller = principalOf(response);
      // Not only the namespaces that have agents: that of the release has none.
      const isReadable = await Promise.all(
        known.map(({ stop }) => access.can(caller, 'read', stop.namespace)),
      );
      return known
        .filter((_state, index) => isReadable[index])
        .map((state) => entryOf(state, stops.rootNamespace))
        .sort((a, b) => Date.parse(b.since) - Date.parse(a.since));
    },

    create: async (request: Request, response: Response): Promise<void> => {
      const stop = requestedStop(request.body, {
        rootNamespace: stops.rootNamespace,
        at: clock.now(),
        by: userOf(response),
      });
      noteNamespace(request, stop.namespace, stop.spec.reason);
      await requireRight(response, context, { right: 'stop', namespace: stop.namespace });
      const state = await stops.add(stop);
      const { by, reason } = stop.spec;
      logger.info('agents stopped', { stop: stopId(stop), by, reason, stored: state.isStored });
      response.status(state.isStored ? 201 : 202).json(entryOf(state, stops.rootNamespace));
    },

    remove: async (request: Request, response: Response): Promise<void> => {
      const { namespace = '', stop: name = '' } = request.params as Record<string, string>;
      // An invalid name must not become part of an API server path.
      const isValid = isDnsLabel(namespace) && isDnsSubdomain(name);
      if (isValid) noteNamespace(request, namespace);
      const key = { namespace, name };
      if (isValid) await requireRight(response, context, { right: 'resume', namespace });
      if (!isValid || !(await stops.remove(key).catch(notNow)))
        throw new Problem(404, `stop ${stopId(key)} not found`);
      logger.info('stop of agents ended', { stop: stopId(key), by: userOf(response) });
      response.status(204).end();
    },
  };
}

function notNow(error: unknown): never {
  if (!(error instanceof Problem) || error.status !== 503) throw error;
  throw tryAgain(`the stop still applies: ${error.message}`, 2);
}

/** Throws a 400 with all errors. */
function requestedStop(
  body: unknown,
  { rootNamespace, at, by }: { rootNamespace: string; at: Date; by: string },
): AgentStop {
  const parsed = parseWith(stopRequest, body);
  const errors = parsed.ok ? [] : parsed.errors;
  const { namespace = rootNamespace, ...spec } = parsed.ok ? parsed.value : { reason: '' };
  if (spec.namespaces !== undefined && namespace !== rootNamespace)
    errors.push({ path: 'namespaces', message: `is only allowed in the namespace ${rootNamespace}` });
  if (spec.until !== undefined && Date.parse(spec.until) <= at.getTime())
    errors.push({ path: 'until', message: 'must be in the future' });
  if (errors.length > 0) throw new Problem(400, 'the stop is not valid', { extra: { errors } });
  return {
    ...{ namespace, name: `stop-${randomUUID().slice(0, 13)}`, since: at.toISOString() },
    spec: { ...spec, by },
  };
}

/** The caller for `spec.by`: as Kubernetes names it, so that it is the same for a stop by kubectl; else the kind of key. */
function userOf(response: Response): string {
  const { user, method } = principalOf(response);
  return (user === '' ? method : user).slice(0, MAX_BY);
}

/** A reader need not know the namespace of the release to see that a stop is about every namespace. */
const entryOf = ({ stop, isStored }: StopState, rootNamespace: string): StopEntry => {
  const { namespace, name, since, spec } = stop;
  const everywhere = namespace === rootNamespace && spec.namespaces === undefined;
  const about = everywhere ? { ...spec, namespaces: ['*'] } : spec;
  return { id: stopId(stop), namespace, name, ...present(about), since, stored: isStored };
};
