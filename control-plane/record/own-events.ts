import { hash } from 'node:crypto';
import { RecordLines } from '../../core/record/line.ts';
import { NO_LINE, type RecordEvent, type RecordSource } from '../../core/record/record-event.ts';
import type { Clock } from '../../runtime/clock.ts';
import { VERSION } from '../../runtime/version.ts';
import type { AuditEventStore, AuditRow } from '../stores/audit-events.ts';
import type { AgentKey } from '../stores/store.ts';
import { OWN_CHAINS, rowOf } from './audit-row.ts';

/** The name under which events that are not about one agent are stored. */
const NO_AGENT = 'control-plane';

type OwnEvent = RecordEvent & { kind: 'admin' | 'gap' };

export interface OwnEventsOptions {
  store: AuditEventStore;
  clock: Clock;
  /** The name of this replica. */
  instance: string;
  /** The namespace of events that are about no namespace. */
  rootNamespace: string;
}

/** The events of this replica, which form a chain of their own. They are stored in the order of the calls. */
export class OwnEvents {
  readonly #options: OwnEventsOptions;
  #startedAt: number;
  #sequence = 0;
  #prev = NO_LINE;
  /** Events that were not stored. */
  #lost = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: OwnEventsOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now().getTime();
  }

  /**
   * Resolves when the event is stored; rejects if it is lost.
   * @param about the agent, or only a namespace, that the event is about
   */
  add(about: Partial<AgentKey>, event: OwnEvent): Promise<void> {
    const added = this.#last.then(() => this.#add(about, event));
    this.#last = added.catch(() => undefined);
    return added;
  }

  async #add(about: Partial<AgentKey>, event: OwnEvent): Promise<void> {
    const { rootNamespace, clock, store } = this.#options;
    const { namespace = rootNamespace } = about;
    // Without a namespace the agent is not known.
    const key = { namespace, name: about.namespace === undefined ? NO_AGENT : (about.name ?? NO_AGENT) };
    const rows: AuditRow[] = [];
    if (this.#lost > 0) {
      const gap = { kind: 'gap', lost: this.#lost, reason: 'the store was not available' } as const;
      rows.push(this.#row({ namespace: rootNamespace, name: NO_AGENT }, { ...gap, at: event.at }));
    }
    rows.push(this.#row(key, event));
    try {
      await store.add(rows);
      this.#lost = 0;
    } catch (error) {
      // The store may have accepted the rows without an answer, so the next event begins another chain.
      this.#lost += 1;
      this.#startedAt = Math.max(clock.now().getTime(), this.#startedAt + 1);
      this.#sequence = 0;
      this.#prev = NO_LINE;
      throw error;
    }
  }

  #row({ namespace, name: agent }: AgentKey, event: OwnEvent): AuditRow {
    const { instance, clock } = this.#options;
    const source: RecordSource = {
      ...{ namespace, agent, version: VERSION },
      ...{ instance: OWN_CHAINS + instance, startedAt: this.#startedAt },
    };
    const lines = new RecordLines({ source, hintsOf: () => undefined, hostOf: () => undefined });
    this.#sequence += 1;
    const line = lines.line(event, { sequence: this.#sequence, prev: this.#prev });
    this.#prev = hash('sha256', line);
    const read = rowOf(line, clock.now());
    if (!read.ok) throw new Error(`an event of the control plane ${read.error}`);
    return read.row;
  }
}
