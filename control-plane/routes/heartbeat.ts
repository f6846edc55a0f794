import type { Request, Response } from 'express';
import { parseHeartbeat } from '../../core/observation/parse-heartbeat.ts';
import type { Operation } from '../../core/openapi/operation.ts';
import type { ProofWrites } from '../../core/evidence/proof.ts';
import { jsonBody, whileWaiting } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { callerOf, type Caller } from '../auth/caller.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import { replyTo } from '../status/reply.ts';
import type { HeartbeatOutcome } from '../stores/store.ts';
import { tryAgain } from '../try-again.ts';

/** Maximum size of a HeartbeatV1, in bytes. */
const MAX_HEARTBEAT_BYTES = 64 * 1024;
/** Retry delay while the operator has not created the observation yet, in seconds. */
const OBSERVATION_WAIT_SECONDS = 2;

const TOO_EARLY = 'heartbeat rate limit of this instance exceeded; try again';
const TOO_MANY_NAMES =
  'the agent has too many new instances right now, or 1,000 reporting instances; try again';

const OPERATION: Operation = {
  id: 'sendHeartbeat',
  body: 'Heartbeat',
  responses: {
    200: { description: 'Accepted; the reply has news for the sender.', schema: 'HeartbeatReply' },
    204: 'Accepted, or a repeat of an accepted heartbeat.',
    403: 'The token is not the token of a pod with an agent.',
    409: 'The name of the agent belongs to an agent that is registered here or mirrored.',
    429: {
      description: 'The heartbeat rate limit, the limit of new instances, or too many invalid tokens.',
      headers: { 'Retry-After': 'Seconds to wait.' },
    },
    503: {
      description: 'The store or the API server is unavailable, or the AgentObservation does not exist yet.',
      headers: { 'Retry-After': 'Seconds to wait.' },
    },
  },
};

/** `POST /api/v1/heartbeat`. The credential identifies the sender and is checked before the body is read. */
export function heartbeatRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const { store, clock, rateLimitSeconds, organisation, stops } = context;
  // As the injector sets PROOF_WRITES, whatever the sidecar of a manually written manifest does.
  const proofWrites: ProofWrites = context.adminKey === null ? 'local' : 'control-plane';
  const results = context.metrics.counter('platform_control_plane_heartbeats_total', 'Heartbeats by result.');
  return [
    {
      method: 'POST',
      path: '/api/v1/heartbeat',
      access: 'bearer',
      summary:
        '204, or 200 with `{proof?, proofRevision?, othersToday?, intervalSeconds?, organisation?, stop?, manifest?}` for the sender; `stop` is null if the agent may run again. A repeat (same `instance`, `startedAt`, `seq`) returns 204 and changes nothing. 400 with `errors`. 401. 403 for a pod without an agent. 409 if the agent name of a pod belongs to an agent that is registered here or mirrored from another control plane. 413 above 64 KiB. 429 with `Retry-After` within RATE_LIMIT_SECONDS of the previous heartbeat of the instance. 429 also for a new instance of a registered agent, after 60 new instances in that time or while 1,000 instances report. 503 with `Retry-After` until the observation of a new workload exists.',
      operation: OPERATION,
      handlers: [jsonBody(MAX_HEARTBEAT_BYTES), receive],
    },
  ];

  async function receive(request: Request, response: Response): Promise<void> {
    const caller = callerOf(response);
    const at = clock.now();
    const parsed = parseHeartbeat(request.body as unknown, { agentName: caller.key.name, at });
    if (!parsed.ok) {
      results.add({ result: 'invalid' });
      throw new Problem(400, 'the heartbeat is not valid', { extra: { errors: parsed.errors } });
    }
    const { heartbeat } = parsed;
    const sender =
      caller.kind === 'pod'
        ? { source: 'sidecar' as const, instance: caller.pod, uid: caller.uid, proofWrites }
        : { source: 'remote' as const, instance: heartbeat.instance };
    const prepared = await organisation.prepare(caller.key, heartbeat.manifestHash, {
      ...{ at, signal: whileWaiting(response) },
    });
    const { judge } = prepared;
    const { compare } = organisation;
    const stop = stops.of(caller.key, at);
    const known = { judge, compare, ...(stop !== undefined && { stop }) };
    const outcome = await store.heartbeat({ ...caller.key, ...sender, heartbeat, ...known, at });
    results.add({ result: outcome.kind });
    const { instance } = sender;
    const input = { heartbeat, instance, at, rateLimitSeconds, prepared, stop };
    const reply =
      outcome.kind === 'accepted' ? replyTo(outcome.record, input) : replyUnchanged(outcome, caller);
    if (reply === null) response.status(204).end();
    else response.json(reply);
  }
}

/** The reply to a heartbeat that changed nothing: none to a repeat. Throws a Problem if the heartbeat was not accepted. */
function replyUnchanged(outcome: Exclude<HeartbeatOutcome, { kind: 'accepted' }>, caller: Caller): null {
  switch (outcome.kind) {
    case 'repeat':
      return null;
    case 'limited':
      throw tryAgain(outcome.isNewName === true ? TOO_MANY_NAMES : TOO_EARLY, outcome.retryAfterSeconds, {
        status: 429,
      });
    case 'taken':
      throw new Problem(
        409,
        `${caller.key.name} in ${caller.key.namespace} is a registered agent, not a workload; use another agent name for the workload`,
      );
    case 'unknown':
      if (caller.kind === 'registered') throw new Problem(401, 'the agent was removed; register again');
      // Not 404: the operator creates the observation of a new workload within seconds, and the sender must retry.
      throw tryAgain(
        'the AgentObservation of this agent does not exist yet; try again',
        OBSERVATION_WAIT_SECONDS,
      );
  }
}
