import type { EgressReport } from '../../../core/shapes/egress.ts';

/** Maximum length of all texts together, in UTF-16 units. A usual report has about 3,000. */
const MAX_LENGTH = 16 * 1024 * 1024;

interface Entry {
  instance: string;
  /** JSON, which needs less memory than its objects. */
  text: string;
}

/**
 * The egress reports of the agents' worst instances, in memory: the status of an AgentObservation has only their summary, because
 * it is stored in etcd. Above the limit, the report that was not renewed for the longest time is removed.
 */
export class EgressReports {
  readonly #byAgent = new Map<string, Entry>();
  readonly #maxLength: number;
  #length = 0;

  constructor(maxLength: number = MAX_LENGTH) {
    this.#maxLength = maxLength;
  }

  /** null: the instance sends none, so a report of an earlier heartbeat is removed. */
  put(agent: string, instance: string, report: EgressReport | null): void {
    this.remove(agent);
    if (report === null) return;
    const text = JSON.stringify(report);
    this.#byAgent.set(agent, { instance, text });
    this.#length += text.length;
    for (const oldest of this.#byAgent.keys()) {
      if (this.#length <= this.#maxLength) return;
      this.remove(oldest);
    }
  }

  /** null: not known in this process. */
  of(agent: string, instance: string): EgressReport | null {
    const entry = this.#byAgent.get(agent);
    return entry?.instance === instance ? (JSON.parse(entry.text) as EgressReport) : null;
  }

  remove(agent: string): void {
    this.#length -= this.#byAgent.get(agent)?.text.length ?? 0;
    this.#byAgent.delete(agent);
  }
}
