import { randomUUID } from 'node:crypto';
import { keyText, parseKey } from '../../../kube/resources.ts';
import type { AgentKey } from '../store.ts';

/** Maximum number of remembered keys: of agents, and of agents that were removed. */
const MAX_KEYS = 50_000;

/**
 * Which agents changed, in the order of their last change. A position is a number of changes of this process, and is unknown
 * to other processes.
 */
export class ChangeLog {
  readonly #process = randomUUID();
  readonly #maxKeys: number;
  /** By key the number of the agent's last change, lowest first. */
  readonly #changes = new Map<string, number>();
  #last = 0;
  /** Number of the last change that is not remembered any more. */
  #forgotten = 0;

  constructor(maxKeys = MAX_KEYS) {
    this.#maxKeys = maxKeys;
  }

  /** The position after the last change. */
  get position(): string {
    return `${this.#process}.${this.#last}`;
  }

  record(key: AgentKey): void {
    const text = keyText({ namespace: key.namespace, name: key.name });
    this.#changes.delete(text);
    this.#last += 1;
    this.#changes.set(text, this.#last);
    if (this.#changes.size <= this.#maxKeys) return;
    const [oldest] = this.#changes;
    if (oldest === undefined) return;
    this.#changes.delete(oldest[0]);
    this.#forgotten = oldest[1];
  }

  /** The agents that changed after the position, each once; null: the changes since then are not known. */
  since(position: string): AgentKey[] | null {
    const [, process, count] = /^(.*)\.(\d{1,15})$/.exec(position) ?? [];
    const after = Number(count);
    if (process !== this.#process || after < this.#forgotten || after > this.#last) return null;
    return [...this.#changes].flatMap(([text, number]) => {
      const { namespace = '', name } = parseKey(text);
      return number > after ? { namespace, name } : [];
    });
  }
}
