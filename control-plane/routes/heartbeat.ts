import type { Request, Response } from 'express';
import { parseHeartbeat } from '../../core/heartbeat/parse-heartbeat.ts';
import { jsonBody, type Route } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { authenticate, type Caller } from '../auth/caller.ts';
import type { ControlPlaneContext } from '../context.ts';
import { replyTo } from '../status/reply.ts';
import type { HeartbeatOutcome } from '../stores/store.ts';

/** HeartbeatV1 at most, in bytes. */
const MAX_HEARTBEAT_BYTES = 64 * 1024;
/** How soon a sender may try again whose observation the operator has yet to create, in seconds. */
const OBSERVATION_WAIT_SECONDS = 2;

const TOO_EARLY = 'this instance has sent a heartbeat a moment ago';
const TOO_MANY_NAMES =
  'the agent has too many new instances at this moment, or 1,000 instances that report; try again';

interface Locals {
  caller: Caller;
}

/** `POST /api/v1/heartbeat`. Who sends is what the credential says; it is checked before a byte of the body is read. */
export function heartbeatRoutes(context: ControlPlaneContext): Route[] {
  const { store, clock, rateLimitSeconds } = context;
  const results = context.metrics.counter('platform_control_plane_heartbeats_total', 'Heartbeats by result.');
  return [
    {
      method: 'POST',
      path: '/api/v1/heartbeat',
      summary:
        '204, or 200 with what the sender should know: `{proof?, proofRevision?, othersToday?, intervalSeconds?}`. A repeat (same `instance`, `startedAt`, `seq`) is 204 and changes nothing. 400 with `errors`; 401; 403 for a pod without agent; 409 for one with the name of an agent that is registered here or mirrored from elsewhere; 413 over 64 KiB; 429 with `Retry-After` inside RATE_LIMIT_SECONDS of the same instance, and for a new instance of a registered agent after 60 new ones in that time or while 1,000 report; 503 with `Retry-After` while the observation of a new workload is not there yet.',
      handlers: [
        async (request, response, next) => {
          (response.locals as Locals).caller = await authenticate(request, context);
          next();
        },
        jsonBody(MAX_HEARTBEAT_BYTES),
        (request, response) => receive(request, response, (response.locals as Locals).caller),
      ],
    },
  ];

  async function receive(request: Request, response: Response, caller: Caller): Promise<void> {
    const at = clock.now();
    const parsed = parseHeartbeat(request.body as unknown, { agentName: caller.key.name, at });
    if (!parsed.ok) {
      results.add({ result: 'invalid' });
      throw new Problem(400, 'the heartbeat is not valid', { extra: { errors: parsed.errors } });
    }
    const { heartbeat } = parsed;
    const sender =
      caller.kind === 'pod'
        ? { source: 'sidecar' as const, instance: caller.pod, uid: caller.uid }
        : { source: 'remote' as const, instance: heartbeat.instance };
    const outcome = await store.heartbeat({ ...caller.key, ...sender, heartbeat, at });
    results.add({ result: outcome.kind });
    if (outcome.kind !== 'accepted') {
      settle(outcome, caller, response);
      return;
    }
    const reply = replyTo(outcome.record, { heartbeat, instance: sender.instance, at, rateLimitSeconds });
    if (reply === null) response.status(204).end();
    else response.json(reply);
  }
}

/** The answers to what changed nothing. */
function settle(
  outcome: Exclude<HeartbeatOutcome, { kind: 'accepted' }>,
  caller: Caller,
  response: Response,
): void {
  switch (outcome.kind) {
    case 'repeat':
      response.status(204).end();
      return;
    case 'limited':
      throw new Problem(429, outcome.isNewName === true ? TOO_MANY_NAMES : TOO_EARLY, {
        headers: { 'retry-after': String(outcome.retryAfterSeconds) },
      });
    case 'taken':
      throw new Problem(
        409,
        `${caller.key.name} in ${caller.key.namespace} is a registered agent, and no workload; give the workload's agent another name`,
      );
    case 'unknown':
      if (caller.kind === 'registered') throw new Problem(401, 'the agent was removed; register again');
      // Not 404: the operator creates the observation of a new workload within moments, and the sender shall come back.
      throw new Problem(503, 'the observation of this agent is not there yet; try again', {
        headers: { 'retry-after': String(OBSERVATION_WAIT_SECONDS) },
      });
  }
}
