import { stopId, type AgentStop } from '../../core/organisation/stops.ts';
import { Problem } from '../../runtime/problem.ts';
import type { StopStorage } from '../../control-plane/stops/stop-storage.ts';
import type { AgentKey } from '../../control-plane/stores/store.ts';

/** A storage of stops whose failures the test decides. */
export class HeldStops implements StopStorage {
  /** What the storage shows; null: not known yet. */
  stops: AgentStop[] | null = [];
  /** `hangs`: does not respond until the test resolves `response`. `silent`: stores, and shows nothing of it. */
  mode: 'up' | 'down' | 'hangs' | 'rejects' | 'silent' = 'up';
  response = Promise.withResolvers<void>();
  #onChange: () => void = () => undefined;

  start(onChange: () => void): Promise<void> {
    this.#onChange = onChange;
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  list(): readonly AgentStop[] | null {
    return this.stops;
  }

  async create(stop: AgentStop): Promise<AgentStop> {
    await this.#answer();
    if (this.mode !== 'silent' && !this.#has(stop)) this.show([...(this.stops ?? []), stop]);
    return stop;
  }

  async remove(key: AgentKey): Promise<boolean> {
    await this.#answer();
    if (!this.#has(key)) return false;
    this.show((this.stops ?? []).filter((stop) => stopId(stop) !== stopId(key)));
    return true;
  }

  /** Another process changed the stops. */
  show(stops: AgentStop[] | null): void {
    this.stops = stops;
    this.#onChange();
  }

  #has(key: AgentKey): boolean {
    return this.stops?.some((stop) => stopId(stop) === stopId(key)) === true;
  }

  async #answer(): Promise<void> {
    if (this.mode === 'hangs') await this.response.promise;
    if (this.mode === 'down') throw new Problem(503, 'the storage is unavailable; try again');
    if (this.mode === 'rejects') throw new Problem(409, 'a policy rejects it');
  }
}

/** A stop of the whole fleet, or of what `overrides` says. */
export const aStop = (
  name: string,
  { namespace = 'platform-system', ...spec }: Partial<AgentStop['spec']> & { namespace?: string } = {},
): AgentStop => ({
  ...{ namespace, name, since: '2026-03-01T10:00:00.000Z' },
  spec: { reason: 'leak', ...spec },
});
