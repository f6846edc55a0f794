import {
  agentStopSpec,
  ANNOTATION_STOP,
  MAX_PERSON,
  MAX_REASON,
  type AgentStopSpec,
  type StopDirective,
} from '../shapes/agent-stop.ts';
import { parseWith } from '../shapes/field.ts';
import { cut, isRecord } from '../untrusted/fields.ts';
import { matchesAny } from './pattern.ts';

/** An AgentStop whose spec was parsed. */
export interface AgentStop {
  namespace: string;
  name: string;
  /** When it was created, ISO 8601. */
  since: string;
  spec: AgentStopSpec;
}

/** Namespace and name, as sidecars, routes and records have it. */
export const stopId = ({ namespace, name }: Pick<AgentStop, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`;

/** A stop that someone requested, or applies. */
interface Named {
  id: string;
  since: string;
}

/** Whether both are one stop. An AgentStop that is created again under its name is another one. */
export const isSameStop = (a: Named, b: Named): boolean =>
  a.id === b.id && (a.id === ANNOTATION_STOP || Date.parse(a.since) === Date.parse(b.since));

/** null: the spec is not valid. */
export function parseStop({
  metadata: { namespace = '', name, creationTimestamp = '' },
  spec,
}: {
  metadata: { namespace?: string; name: string; creationTimestamp?: string };
  spec?: unknown;
}): AgentStop | null {
  const parsed = parseWith(agentStopSpec, isRecord(spec) ? { ...spec, ...shortened(spec) } : spec);
  return parsed.ok ? { namespace, name, since: creationTimestamp, spec: parsed.value } : null;
}

/** The API server counts characters, of which some have two UTF-16 units. These texts are only shown, and must not undo a stop. */
function shortened({ reason, by }: Record<string, unknown>): object {
  return {
    ...(typeof reason === 'string' && { reason: cut(reason, MAX_REASON) }),
    ...(typeof by === 'string' && { by: cut(by, MAX_PERSON) }),
  };
}

/** An AgentStop in the namespace of the release is about several namespaces; elsewhere it is about its own. */
export function appliesTo(
  { namespace, spec: { agents, namespaces } }: AgentStop,
  agent: { namespace: string; name: string },
  rootNamespace: string,
): boolean {
  const isInside =
    namespace === rootNamespace
      ? namespaces === undefined || matchesAny(namespaces, agent.namespace)
      : namespace === agent.namespace;
  return isInside && (agents === undefined || matchesAny(agents, agent.name));
}

/** Milliseconds since 1970; Infinity: no end. */
const endMs = ({ spec: { until } }: AgentStop): number =>
  until === undefined ? Infinity : Date.parse(until);

/** Whether the time of the stop is over. */
export const hasEnded = (stop: AgentStop, at: Date): boolean => endMs(stop) <= at.getTime();

/** The stop of an agent; null: it may run. Of several stops it is the one that lasts longest. */
export function stopOf(
  stops: readonly AgentStop[],
  agent: { namespace: string; name: string },
  { rootNamespace, at }: { rootNamespace: string; at: Date },
): AgentStop | null {
  const [longest] = stops
    .filter((stop) => !hasEnded(stop, at) && appliesTo(stop, agent, rootNamespace))
    .sort((a, b) => endMs(b) - endMs(a) || Date.parse(a.since) - Date.parse(b.since) || compare(a, b));
  return longest ?? null;
}

/** Infinity - Infinity is NaN, which `||` skips like 0. */
const compare = (a: AgentStop, b: AgentStop): number => (stopId(a) < stopId(b) ? -1 : 1);

/** Finds the stops of many agents: those of other namespaces cannot apply, and there can be many. */
export function stopFinder(
  stops: readonly AgentStop[],
  rootNamespace: string,
): (agent: { namespace: string; name: string }, at: Date) => AgentStop | null {
  const byNamespace = Map.groupBy(stops, ({ namespace }) => namespace);
  return (agent, at) => {
    const places = [...new Set([rootNamespace, agent.namespace])];
    const near = places.flatMap((namespace) => byNamespace.get(namespace) ?? []);
    return stopOf(near, agent, { rootNamespace, at });
  };
}

/** What a sidecar receives of a stop. */
export const stopDirectiveOf = (stop: AgentStop): StopDirective => ({
  id: stopId(stop),
  reason: stop.spec.reason,
  since: stop.since,
  until: stop.spec.until ?? null,
});
