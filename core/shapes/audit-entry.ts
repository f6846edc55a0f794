import { amount, count } from './common.ts';
import { behavioralEvent } from './events.ts';
import { flag, integer, isoTime, named, nullable, oneOf, optional, text, type Field } from './field.ts';
import type { LANE_USAGE } from './hidden-members.ts';
import { identity } from './identity.ts';
import { list, namedObject, object, type ObjectOf, type TypeOf } from './object.ts';
import { requestUsage, type ModelCall } from './request-usage.ts';
import { OUTCOMES } from './values.ts';

const onlyTrue = (about: string) => optional(oneOf(about, [true]));
const statusCode = (about: string) => optional(integer(about, { min: 0 }));

const upstreamFailure = oneOf(
  "Why the agent's response is missing or incomplete. unreachable: no connection. stale: a kept-alive connection was already closed, so the agent most likely did not receive the request. timeout: before the connection or before the first byte of the response. broken: closed early, or invalid HTTP.",
  ['unreachable', 'stale', 'timeout', 'broken'],
);
export type UpstreamFailureKind = TypeOf<typeof upstreamFailure>;

const names: Field<readonly string[]> = list(
  'Absent: not reported. An empty list is a fact.',
  text('A name.'),
);
const behavior = {
  guardrailsInvoked: optional(names),
  toolsCalled: optional(names),
  userConfirmed: optional(flag('Whether the user confirmed the request. Absent: not reported.')),
};

/** Behavior of the agent as reported for one request. */
export interface Behavior extends ObjectOf<typeof behavior> {}

const members = object('One proxied request.', {
  seq: integer('Increases by one with each request of this sidecar.', { min: 1 }),
  requestId: text('`X-Request-Id` of the request.'),
  timestamp: isoTime('Time of arrival.'),
  method: text('Method of the request.'),
  path: text('Path of the request.'),
  'address?': text('IP address of the client. Absent: not known.'),
  'identity?': identity,
  bytesIn: count('Bytes of the request body.'),
  bytesOut: count('Bytes of the response body.'),
  statusCode: statusCode(
    'Status sent to the client; absent while the request is in flight, and if the client disconnected before the response.',
  ),
  upstreamStatusCode: statusCode("Status of the agent's response; absent if there was none."),
  'durationMs?': amount('Milliseconds.'),
  aborted: onlyTrue('The client or the agent aborted the exchange.'),
  'upstreamFailure?': upstreamFailure,
  unsent: onlyTrue('The request was never written to a connection, so the agent did not receive it.'),
  retried: onlyTrue(
    'The request was sent again after a kept-alive connection had closed. The agent may have received it twice.',
  ),
  'outcome?': oneOf('Result of the policy; absent while the request is in flight.', OUTCOMES),
  blocked: onlyTrue('The policy rejected the request.'),
  'policyViolations?': list('Why the policy denies the request.', text('A reason.')),
  lateDenial: onlyTrue('The denial came after the response head, so the request does not count as blocked.'),
  'usage?': requestUsage,
  'events?': list('What the agent did.', behavioralEvent),
  'agentName?': text('Agent name in the event batch, not verified.'),
  'behaviorFrom?': oneOf('The tools are known only from spans, so it is not known which guardrails ran.', [
    'spans',
  ]),
  ...behavior,
  'egress?': object('The calls through egress lanes during the request. Absent: there are none.', {
    calls: count('Number of calls.'),
    models: list('Requested models, each once.', text('A model.')),
    tools: list('Tools that the models called, and called tools of MCP servers, each once.', text('A name.')),
  }),
});

/** An entry of the audit ring. It is added when the request arrives and completed when the response has closed. */
export interface AuditEntry extends TypeOf<typeof members> {
  [LANE_USAGE]?: { calls: readonly ModelCall[]; withoutUsage: number };
}
export const auditEntry: Field<AuditEntry> = named('AuditEntry', members);

const requestId = text('The request of the events.');

/** The responses of `POST /events`. */
export const recordedEvents = namedObject('RecordedEvents', 'The events are recorded.', {
  requestId,
  found: oneOf('The request is in the ring.', [true]),
  opaViolations: list('Reasons of the policy engine; empty: no denial.', text('A reason.')),
});
export const unmatchedEvents = namedObject('UnmatchedEvents', 'The request is not in the ring.', {
  requestId: nullable(requestId),
  found: oneOf('The request is not in the ring.', [false]),
});
