// All versions of all observations, and all emitted Events, from the API server's audit log.
import { isDeepStrictEqual } from 'node:util';
import type { AuditEntry } from '../cluster/api-audit.ts';

interface Condition {
  type: string;
  status: string;
  lastTransitionTime: string;
}

interface Stored {
  metadata: { uid: string; name: string; resourceVersion: string; ownerReferences?: { uid: string }[] };
  status?: { phase?: string; grade?: string; conditions?: Condition[] } & Record<string, unknown>;
}

interface Version {
  object: Stored;
  by: string;
  isStatus: boolean;
  at: string;
}

/** Two versions, one after the other. */
interface Step {
  before: Version;
  after: Version;
}

export interface History {
  /** First versions. */
  made: Version[];
  steps: Step[];
  events: EmittedEvent[];
}

interface EmittedEvent {
  kind: string;
  uid: string;
  reason: string;
  note: string;
  /** Time, Event name, reporting process and last reported version. */
  how: string;
}

interface StoredEvent {
  metadata?: { name: string; annotations?: Record<string, string> };
  reportingInstance?: string;
  regarding: { kind: string; uid: string };
  reason: string;
  note: string;
}

const isStored = ({ stage, responseStatus }: AuditEntry): boolean =>
  stage === 'ResponseComplete' && [200, 201].includes(responseStatus?.code ?? 0);

/** Of an audit log that has the bodies of what was stored: observations, and the product's Events. */
export function historyOf(entries: readonly AuditEntry[]): History {
  const writes = entries.filter((entry) => isStored(entry) && entry.responseObject !== undefined);
  const of = (resource: string) => writes.filter(({ objectRef }) => objectRef?.resource === resource);
  const byUid = Map.groupBy(of('agentobservations').map(versionOf), ({ object }) => object.metadata.uid);
  const number = ({ object }: Version) => Number(object.metadata.resourceVersion);
  const lives = [...byUid.values()].map((versions) => versions.sort((a, b) => number(a) - number(b)));
  return {
    made: lives.flatMap((versions) => versions.slice(0, 1)),
    steps: lives.flatMap((versions) =>
      versions.slice(1).map((after, index) => ({ before: versions[index]!, after })),
    ),
    events: of('events').map(eventIn),
  };
}

function eventIn({ responseObject, stageTimestamp, verb }: AuditEntry): EmittedEvent {
  const { regarding, reason, note, metadata, reportingInstance } = responseObject as StoredEvent;
  const occurrences = metadata?.annotations?.['platform.io/occurrences']?.split(' ') ?? [];
  const how = `${stageTimestamp} ${verb} ${metadata?.name} by ${reportingInstance} of ${occurrences.at(-1)}`;
  return { kind: regarding.kind, uid: regarding.uid, reason, note, how };
}

const versionOf = ({ responseObject, user, objectRef, stageTimestamp }: AuditEntry): Version => ({
  object: responseObject as Stored,
  by: user.username.replace(/^.*:/, ''),
  isStatus: objectRef?.subresource === 'status',
  at: stageTimestamp,
});

/** Status writes without a change: not stored, or stored with the same content. */
export function idleWrites({ steps }: History): string[] {
  return steps
    .filter(
      ({ before, after }) => after.isStatus && isDeepStrictEqual(before.object.status, after.object.status),
    )
    .map(({ after }) => `${after.object.metadata.name}: by ${after.by} at ${after.at}`);
}

/** Conditions whose lastTransitionTime changed while their status did not. */
export function falseTransitions({ steps }: History): string[] {
  return steps.flatMap(({ before, after }) =>
    (after.object.status?.conditions ?? []).flatMap((condition) => {
      const known = before.object.status?.conditions?.find(({ type }) => type === condition.type);
      if (known?.status !== condition.status || known.lastTransitionTime === condition.lastTransitionTime)
        return [];
      const { type, status, lastTransitionTime } = condition;
      return [
        `${after.object.metadata.name}: ${type} ${status} since ${known.lastTransitionTime}, then ${lastTransitionTime}, by ${after.by}`,
      ];
    }),
  );
}

/**
 * Events about observations and injection that were emitted more often than their cause occurred. Other Events, such as
 * `PodsRefused`, are not covered, because observations do not contain their cause.
 */
export function duplicateEvents(history: History): string[] {
  const keyed = Map.groupBy(history.events.filter(isOfObservation), (event) =>
    [event.kind, event.uid, event.reason, cause(event)].join(' '),
  );
  return [...keyed].flatMap(([key, events]) => {
    const times = occurrences(history, events[0]!);
    if (events.length <= times) return [];
    const details = events.map(({ how }) => `\n  ${how}`).join('');
    return [`${key}: emitted ${events.length} times, happened ${times} times${details}`];
  });
}

const isOfObservation = (event: EmittedEvent): boolean =>
  cause(event) !== '' || ['Observed', 'Injected', 'SidecarMissing'].includes(event.reason);

/** The reported step, without its reasons: `phase Healthy became Unknown`. */
const cause = ({ note }: EmittedEvent): string => /^(phase|grade) \S+ became \w+/.exec(note)?.[0] ?? '';

function occurrences({ made, steps }: History, event: EmittedEvent): number {
  const isOfIt = ({ object: { metadata } }: Version) =>
    event.kind === 'AgentObservation'
      ? metadata.uid === event.uid
      : metadata.ownerReferences?.some(({ uid }) => uid === event.uid) === true;
  const ofIt = steps.filter(({ after }) => isOfIt(after));
  const [, what, from, to] = /^(phase|grade) (\S+) became (\w+)/.exec(event.note) ?? [];
  if (what === 'phase' || what === 'grade') {
    const none = what === 'phase' ? 'Pending' : '(none)';
    return ofIt.filter(
      ({ before, after }) =>
        (before.object.status?.[what] ?? none) === from && (after.object.status?.[what] ?? none) === to,
    ).length;
  }
  const births = made.filter(isOfIt).length;
  if (event.reason === 'Observed') return births;
  const injected = ({ object }: Version) =>
    object.status?.conditions?.find(({ type }) => type === 'Injected')?.status;
  const wanted = event.reason === 'Injected' ? 'True' : 'False';
  const flips = ofIt.filter(
    ({ before, after }) =>
      injected(before) !== undefined && injected(before) !== injected(after) && injected(after) === wanted,
  );
  return births + flips.length;
}
