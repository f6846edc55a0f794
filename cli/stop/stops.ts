import type { AgentStop } from '../../core/organisation/stops.ts';
import type { stopRequest, StopEntry } from '../../core/shapes/agent-stop.ts';
import type { TypeOf } from '../../core/shapes/object.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';

export type StopRequest = TypeOf<typeof stopRequest>;

/** A stop, with the numbers of its agents that the operator counted. */
export interface ListedStop extends StopEntry {
  stopped?: number;
  pending?: number;
}

export interface AgentKey {
  namespace: string;
  name: string;
}

export interface AgentPod extends AgentKey {
  agent: AgentKey;
  /** It has the annotation that stops it. */
  isAnnotated: boolean;
}

/**
 * Where stops are created and deleted: in a cluster, or through the routes of a control plane. Each method throws an Error, whose
 * `status` is the HTTP status of the rejection, and 0 if no response arrived. `namespace` null: every namespace.
 */
export interface Stops {
  /** The stops that can apply to agents of these namespaces; null: of every namespace. */
  list(namespaces: readonly string[] | null): Promise<ListedStop[]>;
  create(request: StopRequest): Promise<ListedStop>;
  /** Also succeeds if the stop does not exist any more. */
  remove(stop: AgentKey): Promise<void>;
  agents(namespace: string | null): Promise<AgentKey[]>;
  /** null: there is no such agent. */
  status(agent: AgentKey): Promise<Partial<ObservationStatus> | null>;
  /** null: the routes do not reach pods. */
  pods: {
    list(namespace: string | null): Promise<AgentPod[]>;
    /** Sets the annotation; null removes it. */
    annotate(pod: AgentKey, reason: string | null): Promise<void>;
  } | null;
}

/** A stop as the rules about its agents read it. */
export const stopIn = (entry: Omit<StopEntry, 'id' | 'stored'>): AgentStop => ({ ...entry, spec: entry });

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** By property: the errors of the cluster are of another bundle. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && (error.status === 401 || error.status === 403);

/** Runs `act` for each item, 16 at a time, and collects the messages of its errors. */
export async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<string[]> {
  const problems = new Set<string>();
  for (let at = 0; at < items.length; at += 16)
    await Promise.all(
      items
        .slice(at, at + 16)
        .map((item) => act(item).catch((error: unknown) => problems.add(messageOf(error)))),
    );
  return [...problems];
}
