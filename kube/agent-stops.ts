import { parseStop, type AgentStop } from '../core/organisation/stops.ts';
import { present } from '../core/untrusted/present.ts';
import type { ClusterParts } from './cluster-parts.ts';
import { Informer } from './informer.ts';
import { createObject, deleteObject } from './objects.ts';
import { AGENT_STOPS, keyText } from './resources.ts';
import type { KubeObject } from './types.ts';

type StopObject = KubeObject & { spec?: unknown };

/** The AgentStops of the cluster, kept up to date by a watch. */
export class AgentStops {
  readonly #client: ClusterParts['client'];
  readonly #logger: ClusterParts['logger'];
  readonly #stops: Informer<StopObject>;
  #onChange: () => void = () => undefined;
  /** Parsed again after a change. */
  #parsed: AgentStop[] | null = null;

  constructor({ client, clock, logger }: ClusterParts) {
    this.#client = client;
    this.#logger = logger;
    this.#stops = new Informer({
      ...{ client, clock, logger, resource: AGENT_STOPS },
      keep: ({ metadata: { namespace, name, uid, resourceVersion, creationTimestamp }, spec }) => ({
        metadata: { name, ...present({ namespace, uid, resourceVersion, creationTimestamp }) },
        spec,
      }),
      onChange: () => {
        this.#parsed = null;
        this.#onChange();
      },
    });
  }

  /** @param onChange called after each change of an AgentStop. It must be quick. */
  start(onChange: () => void): void {
    this.#onChange = onChange;
    this.#stops.start();
    // An empty list changes no object.
    void this.#stops.synced().then(onChange);
  }

  close(): Promise<void> {
    return this.#stops.close();
  }

  /** null: not listed yet. While the API server does not respond: the last known ones. */
  list(): readonly AgentStop[] | null {
    if (!this.#stops.isSynced()) return null;
    this.#parsed ??= this.#stops.list().flatMap((object) => this.#parse(object) ?? []);
    return this.#parsed;
  }

  /** Creates the AgentStop, unless it exists. Throws a KubeError. */
  async create(stop: AgentStop): Promise<AgentStop> {
    const { namespace, name, spec } = stop;
    const made = await createObject(this.#client, AGENT_STOPS, { metadata: { namespace, name }, spec });
    return (made.outcome === 'created' ? parseStop(made.object) : null) ?? stop;
  }

  /** false: it does not exist. Throws a KubeError. */
  remove({ namespace, name }: Pick<AgentStop, 'namespace' | 'name'>): Promise<boolean> {
    return deleteObject(this.#client, AGENT_STOPS, { namespace, name });
  }

  /** Like `remove`, but not a later AgentStop of the same name, which a person created meanwhile. */
  removeSame({ namespace, name }: AgentStop): Promise<boolean> {
    const uid = this.#stops.get({ namespace, name })?.metadata.uid;
    return deleteObject(this.#client, AGENT_STOPS, { namespace, name }, uid);
  }

  #parse(object: StopObject): AgentStop | null {
    const stop = parseStop(object);
    if (stop === null) this.#logger.warn('agent stop is not valid', { stop: keyText(object.metadata) });
    return stop;
  }
}
