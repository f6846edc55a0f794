import { count, dnsLabel } from './common.ts';
import { condition } from './condition.ts';
import { flag, inCrd, ISO_TIME, isoTime, named, nullable, text, type Field } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { patterns, validations, written } from './agent-policy.ts';

/** Characters of a reason, and of the name of a person. */
export const MAX_REASON = 500;
export const MAX_PERSON = 320;
/** A namespace, a slash and the name of an AgentStop. */
const MAX_ID = 63 + 1 + 253;

/** The stop that the annotation `platform.io/stop` of a pod causes has no AgentStop. */
export const ANNOTATION_STOP = 'pod-annotation';

/** Reasons of the condition `Stopped` of an agent that is stopped. */
export const STOP_STATES = ['Stopping', 'IngressOnly', 'Stopped'] as const;
export type StopState = (typeof STOP_STATES)[number];

const specMembers = object(
  'The agents that are stopped, and the reason. Deleting the AgentStop ends the stop.',
  {
    'agents?': patterns('Names of agents; absent: every agent.', 'A pattern of agent names'),
    'namespaces?': patterns(
      'Namespaces of the agents. Only in the namespace of the release, where it is absent for every namespace. Elsewhere an AgentStop applies to its own namespace.',
      'A pattern of namespaces',
    ),
    reason: written(
      'Why the agents are stopped. Agents and operators see it, clients of the agents do not.',
      MAX_REASON,
    ),
    // The API server accepts more forms than a parser of the product; such a stop would have no effect.
    'until?': inCrd(isoTime('End of the stop; absent: it ends when the AgentStop is deleted.'), {
      pattern: ISO_TIME.source,
    }),
    'by?': written('User name of the person who stops the agents.', MAX_PERSON),
  },
);

/** The spec of an AgentStop. */
export interface AgentStopSpec extends TypeOf<typeof specMembers> {}
export const agentStopSpec: Field<AgentStopSpec> = inCrd(
  specMembers,
  validations({
    rule: 'self == oldSelf',
    message: 'spec is immutable: delete the AgentStop and create another',
  }),
);

export const agentStopStatus = object('What became of the stop. Written by the operator.', {
  agents: count('Number of agents that the AgentStop applies to.'),
  stopped: count('Number of these agents that are stopped in every instance.'),
  pending: count('Number of these agents with an instance that has not confirmed the stop.'),
  'conditions?': list('Conditions of other clients.', condition, { max: 8, key: 'type' }),
});

/** The status of an AgentStop. */
export interface AgentStopStatus extends TypeOf<typeof agentStopStatus> {}

const id = text(`Namespace and name of the AgentStop, or \`${ANNOTATION_STOP}\`.`, { max: MAX_ID });
const reason = text('Why the agent is stopped.', { max: MAX_REASON });

const directive = object('A stop of the agent.', {
  id,
  reason,
  since: isoTime('When the stop was requested.'),
  until: nullable(isoTime('When the stop ends without another message; null: it has no end.')),
});

/** What a sidecar needs to know of a stop. */
export interface StopDirective extends TypeOf<typeof directive> {}
export const stopDirective = named('StopDirective', directive);

const confirmed = object('The stop that the sender applies.', {
  id,
  since: isoTime(
    'When it was requested, because an AgentStop that is created again has the same id; by annotation: when the sender began to apply it.',
  ),
  cut: count('Connections and responses that the sender ended for it.'),
  lanes: flag('Whether the sender has egress lanes, which also stop the own work of the agent.'),
});

/** Member `stop` of a heartbeat. */
export interface ConfirmedStop extends TypeOf<typeof confirmed> {}
export const confirmedStop = confirmed;

const observed = object('The stop of the agent. Absent: it is not stopped.', {
  id,
  reason,
  'by?': text('Who requested it, as the API server or the control plane verified it.', { max: MAX_PERSON }),
  since: isoTime('When it was requested.'),
  'until?': isoTime('When it ends. Absent: when it is lifted.'),
  instances: count('Number of instances, with those that no longer report.'),
  confirmed: count('Number of these instances that report and apply the stop.'),
  'firstConfirmedAt?': isoTime('When the first instance confirmed it.'),
  'lastConfirmedAt?': isoTime('When the last of the instances confirmed it.'),
});

/** Member `stop` of the status of an AgentObservation. */
export interface ObservedStop extends TypeOf<typeof observed> {}
export const observedStop: Field<ObservedStop> = observed;

const { members } = specMembers;
const applied = {
  agents: members.agents,
  namespaces: members.namespaces,
  reason: members.reason,
  until: members.until,
};

/** The request of `POST /api/v1/stops`. */
export const stopRequest = named(
  'StopRequest',
  object('A stop of agents.', {
    'namespace?': dnsLabel(
      'The namespace whose agents are stopped; absent: those in `namespaces`, or every namespace.',
    ),
    ...applied,
  }),
);

const entry = object('A stop.', {
  id,
  namespace: text('Namespace of the AgentStop; that of the release for a stop of several namespaces.'),
  name: text('Name of the AgentStop.'),
  ...applied,
  by: members.by,
  since: isoTime('When it was requested.'),
  stored: flag(
    'False: it applies, but it is not stored yet, because the API server or the database is unavailable.',
  ),
});

/** A stop, as the control plane lists it. */
export interface StopEntry extends TypeOf<typeof entry> {}
export const stopEntry = named('Stop', entry);
