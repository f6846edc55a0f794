import { excerptOf, placeText, type AgentExcerpt } from '../../core/fleet/excerpt.ts';
import type { AgentKey, AgentRecord, FleetChanges } from '../stores/store.ts';

const textOf = ({ namespace, name }: AgentKey): string => placeText({ namespace, agentName: name });

/** Excerpts of all agents of a store: first filled from its pages, then kept up to date by its changes. */
export class FleetCopy {
  readonly #agents = new Map<string, AgentExcerpt>();
  /** Agents that changed while the pages are read. A page may have their previous state. null: all pages are read. */
  #changed: Set<string> | null = new Set();
  /** The sorted keys; null: an agent was added or removed since they were sorted. */
  #order: readonly string[] | null = null;

  addPage(agents: readonly AgentRecord[]): void {
    for (const agent of agents) if (this.#changed?.has(textOf(agent)) !== true) this.#put(agent);
  }

  /** All pages were added. */
  complete(): void {
    this.#changed = null;
  }

  apply({ changed, removed, isAll }: FleetChanges): void {
    if (isAll) {
      this.#agents.clear();
      this.#order = null;
    }
    for (const key of removed) this.#remove(key);
    // After the removals: an agent that was added again may be in both lists.
    for (const agent of changed) {
      this.#changed?.add(textOf(agent));
      this.#put(agent);
    }
  }

  /** All agents, ordered by namespace and name. */
  list(): AgentExcerpt[] {
    this.#order ??= [...this.#agents.keys()].sort();
    return this.#order.flatMap((text) => this.#agents.get(text) ?? []);
  }

  #put(agent: AgentRecord): void {
    const text = textOf(agent);
    if (!this.#agents.has(text)) this.#order = null;
    this.#agents.set(text, excerptOf(agent));
  }

  #remove(key: AgentKey): void {
    const text = textOf(key);
    this.#changed?.add(text);
    if (this.#agents.delete(text)) this.#order = null;
  }
}
