import { keyText } from '../../../kube/resources.ts';
import { MAX_NEW_NAMES } from '../../status/receive.ts';
import type { AgentKey } from '../store.ts';

/** Times when this replica accepted new instance names; as many as the limit needs. */
export class NewNames {
  readonly #byAgent = new Map<string, number[]>();

  /** Milliseconds, oldest first. */
  of({ namespace, name }: AgentKey): readonly number[] {
    return this.#byAgent.get(keyText({ namespace, name })) ?? [];
  }

  add({ namespace, name }: AgentKey, at: Date): void {
    const times = [...this.of({ namespace, name }), at.getTime()];
    this.#byAgent.set(keyText({ namespace, name }), times.slice(-MAX_NEW_NAMES));
  }

  /** Forgets a removed agent. */
  drop({ namespace, name }: AgentKey): void {
    this.#byAgent.delete(keyText({ namespace, name }));
  }
}
