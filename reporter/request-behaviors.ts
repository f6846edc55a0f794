import type { EventClient } from '../push/event-client.ts';
import { currentRequest, requestIdOf, type RequestContext, type RequestWithId } from './current-request.ts';
import {
  behaviorOfNoRequest,
  createRequestBehavior,
  type CountUsage,
  type HeadWriter,
  type RequestBehavior,
} from './request-behavior.ts';

export interface RequestBehaviorsOptions {
  events: Pick<EventClient, 'send'>;
  countUsage: (requestId: string | null, ...call: Parameters<CountUsage>) => boolean;
  warnOnce: (message: string, kind: { reason: string }, more?: object) => void;
}

/**
 * Creates `reporter.behavior`. Without arguments it returns one object for each request of a `node:http` server, so that an
 * integration and the code of the agent report into the same headers.
 */
export function createRequestBehaviors({ events, countUsage, warnOnce }: RequestBehaviorsOptions) {
  const known = new WeakMap<RequestContext, RequestBehavior>();
  const outside = behaviorOfNoRequest(
    (...call) => countUsage(null, ...call),
    () =>
      warnOnce('no open request, guardrails and tools not reported', {
        reason: 'the code runs outside of the async context of a request to a node:http server',
      }),
  );
  const create = (requestId: string | null, response: HeadWriter | null, isLazy = false): RequestBehavior =>
    createRequestBehavior({
      response,
      isLazy,
      sendEvent: (event) => requestId !== null && events.send(requestId, [event]),
      countUsage: (...call) => countUsage(requestId, ...call),
      onLost: ({ name, reason }) => warnOnce('behavior not reported', { reason }, { name }),
    });
  return (request?: RequestWithId, response?: HeadWriter): RequestBehavior => {
    const context = currentRequest();
    if (request === undefined) {
      if (context === null) return outside;
      const behavior = known.get(context) ?? create(context.requestId, headOf(context), true);
      known.set(context, behavior);
      return behavior;
    }
    const requestId = requestIdOf(request);
    if (context === null || context.requestId !== requestId) return create(requestId, response ?? null);
    // An integration may have reported already.
    const behavior = known.get(context) ?? create(requestId, response ?? null);
    behavior.begin();
    known.set(context, behavior);
    return behavior;
  };
}

/** Does not keep the response in memory after it has closed. */
const headOf = (context: RequestContext): HeadWriter => ({
  get headersSent() {
    return context.response?.headersSent ?? true;
  },
  setHeader: (name, value) => context.response?.setHeader(name, value),
});
