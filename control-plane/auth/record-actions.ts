import type { Request, RequestHandler, Response } from 'express';
import { isRuleId } from '../../core/audit/rules.ts';
import { isDnsLabel } from '../../core/injection/names.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { AdminAction } from '../../core/shapes/admin-action.ts';
import type { AgentKey } from '../stores/store.ts';
import { actorOf, actorText, isIdentified } from './principal.ts';
import { oncePerSource, sourceOf } from './once-per-source.ts';

/** Minimum time between two recorded refused requests from one source, in milliseconds. */
const REFUSED_MS = 60_000;

type Subject = Pick<AdminAction, 'agentName' | 'namespace'>;
/** What a handler knows about a request. `comment`: why the caller makes it. */
type Noted = Subject & { comment?: string };

const notes = new WeakMap<Request, Noted>();

/** Notes which agent a request is about, because its path may contain only the name, and the agent may be removed. */
export function noteAgent(request: Request, { namespace, name }: AgentKey): void {
  notes.set(request, { agentName: name, namespace });
}

/** Notes the namespace of a request that is about several agents. `comment`: why the caller makes it. */
export function noteNamespace(request: Request, namespace: string, comment?: string): void {
  notes.set(request, { agentName: null, namespace, ...(comment !== undefined && { comment }) });
}

/**
 * Adds the record of admin actions to the guards of a route: every request of a person that changes something, with the status of
 * its response. Refused requests (a wrong key, a missing right) are recorded at most once per minute and source. The record is written
 * before the response is sent. A failure to write it does not change the response, and is logged and counted. A store without
 * a history only logs the actions.
 */
export function actionRecorder(
  context: ControlPlaneContext,
): (route: ControlPlaneRoute, guards: readonly RequestHandler[]) => RequestHandler[] {
  const record = actionWriter(context);
  const isRefusalDue = oncePerSource({ clock: context.clock, everyMs: REFUSED_MS });
  return (route, guards) => {
    if (['open', 'bearer'].includes(route.access) || route.method === 'GET') return [...guards];
    const admitted = new WeakSet<Request>();
    const watch: RequestHandler = (request, response, next) => {
      // Read now: a closed connection has no address, and the error handler has no parameters of the path.
      const asked = askedOf(request);
      beforeEnd(response, async () => {
        const isAdmitted = admitted.has(request);
        const status = response.statusCode;
        if (status === 403 ? isRefusalDue(asked.address) : isAdmitted) {
          const actor = isIdentified(response) ? actorOf(response) : null;
          const { comment, ...subject } = notes.get(request) ?? {};
          await record({ ...asked, ...subject, action: route.operation.id, status, actor }, comment);
        }
      });
      next();
    };
    const admit: RequestHandler = (request, _response, next) => {
      admitted.add(request);
      next();
    };
    return [watch, ...guards, admit];
  };
}

function actionWriter({ clock, logger, metrics, store, ownEvents }: ControlPlaneContext) {
  const failures = metrics.counter(
    'platform_control_plane_unrecorded_actions_total',
    'Admin actions that the store could not record.',
  );
  return async (done: Omit<AdminAction, 'id' | 'at'>, comment?: string): Promise<void> => {
    const { address: source, agentName: agent, action, namespace, ruleId, status, actor: by } = done;
    const fields = { action, source, actor: by && actorText(by), agent, namespace, ruleId, status };
    if (store.history === null) {
      logger.info('admin action', fields);
      return;
    }
    try {
      const at = clock.now();
      await store.history.addAction({ ...done, at: at.toISOString() });
      // A request that failed changed nothing. Refused ones are limited by their source.
      if (status < 400 || status === 403)
        await ownEvents?.add(subjectOf(done), {
          ...{ kind: 'admin', action: done, at: at.getTime() },
          ...(comment !== undefined && { comment }),
        });
    } catch (error) {
      failures.add();
      logger.warn('failed to record admin action', { ...fields, error: describeError(error) });
    }
  };
}

const subjectOf = ({ agentName, namespace }: Subject): Partial<AgentKey> => ({
  ...(namespace !== null && { namespace }),
  ...(agentName !== null && { name: agentName }),
});

/** What the request itself contains, as far as its texts are valid. Invalid texts are not stored. */
function askedOf(request: Request): Subject & Pick<AdminAction, 'address' | 'ruleId'> {
  const { params, query } = request;
  const ruleId = params['ruleId'];
  const label = (text: unknown): string | null =>
    typeof text === 'string' && isDnsLabel(text) ? text : null;
  return {
    address: sourceOf(request),
    agentName: label(params['name']),
    namespace: label(query['namespace']),
    ruleId: typeof ruleId === 'string' && isRuleId(ruleId) ? ruleId : null,
  };
}

/** Runs `work` when the response is complete, and sends the response after it. `work` never rejects. */
function beforeEnd(response: Response, work: () => Promise<void>): void {
  const end = response.end.bind(response);
  response.end = new Proxy(end, {
    apply(send, _response, parts: unknown[]) {
      response.end = end;
      void work().finally(() => {
        // If the response was ended by other code in the meantime, a second end would be an error.
        if (!response.writableEnded) Reflect.apply(send, undefined, parts);
      });
      return response;
    },
  });
}
