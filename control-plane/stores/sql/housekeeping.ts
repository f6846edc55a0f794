import { slept, type Clock } from '../../../runtime/clock.ts';
import { describeError, type Logger } from '../../../runtime/logger.ts';
import type { AgentKey } from '../store.ts';
import { ageAgents } from './age-agents.ts';
import type { agentTable } from './agent-table.ts';
import { expireAuditEvents } from './audit-event-table.ts';
import { expireAuditHeads } from './audit-head-table.ts';
import { expireHistory } from './history-tables.ts';
import type { SqlRetention } from './retention.ts';
import type { SqlDatabase } from './sql-database.ts';

export interface HousekeepingOptions {
  database: SqlDatabase;
  agents: ReturnType<typeof agentTable>;
  clock: Clock;
  retention: SqlRetention;
  logger: Logger;
  /** null: there is no cluster that could have removed a workload. */
  isGone: ((key: AgentKey, at: Date) => Promise<boolean>) | null;
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How often agents are checked for staleness. Every read checks as well. */
const SWEEP_MS = 10 * SECOND_MS;
/** How often agents that are gone are removed. */
const REMOVE_MS = 60 * SECOND_MS;
/** How often old history is deleted. */
const EXPIRE_MS = HOUR_MS;
/** How long keys of removed agents are kept for `changes`. */
const KEEP_REMOVALS_MS = HOUR_MS;
/** The shortest time after which an agent counts as silent. */
const SILENT_MS = 120 * SECOND_MS;

/** What a store does without a request. Each replica does it; all parts may run several times. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  #removedAtMs = -Infinity;
  #expiredAtMs = -Infinity;
  #isFailing = false;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    while (await slept(clock, SWEEP_MS, this.#stop.signal)) {
      try {
        await this.#sweep(clock.now());
        this.#isFailing = false;
      } catch (error) {
        if (!this.#isFailing)
          logger.warn('failed to update silent agents or to remove old data, retrying', {
            error: describeError(error),
          });
        this.#isFailing = true;
      }
    }
  }

  async #sweep(at: Date): Promise<void> {
    const { database, agents, retention } = this.#options;
    let isMore = true;
    while (isMore && !this.#stop.signal.aborted)
      isMore = await database.transaction((session) => ageAgents(session, agents, at));
    if (at.getTime() - this.#removedAtMs >= REMOVE_MS) {
      await this.#removeGone(at);
      await this.#removeOld(at);
      await database.transaction((session) =>
        agents.forgetRemovals(session, new Date(at.getTime() - KEEP_REMOVALS_MS)),
      );
      this.#removedAtMs = at.getTime();
    }
    if (at.getTime() - this.#expiredAtMs >= EXPIRE_MS) {
      await database.transaction((session) => expireHistory(session, retention, at));
      await this.#expireAudit(new Date(at.getTime() - retention.auditDays * DAY_MS));
      this.#expiredAtMs = at.getTime();
    }
  }

  async #expireAudit(before: Date): Promise<void> {
    const { database } = this.#options;
    await database.transaction((session) => expireAuditHeads(session, before));
    let isMore = true;
    while (isMore && !this.#stop.signal.aborted)
      isMore = await database.transaction((session) => expireAuditEvents(session, before));
  }

  /** Removes silent workloads that the cluster no longer has. */
  async #removeGone(at: Date): Promise<void> {
    const { isGone } = this.#options;
    if (isGone === null) return;
    await this.#removeSilent({ before: new Date(at.getTime() - SILENT_MS), at }, isGone);
  }

  /** Removes workloads that are silent for a long time. */
  async #removeOld(at: Date): Promise<void> {
    const { removeAfterDays } = this.#options.retention;
    if (removeAfterDays === 0) return;
    await this.#removeSilent({ before: new Date(at.getTime() - removeAfterDays * DAY_MS), at }, () =>
      Promise.resolve(true),
    );
  }

  async #removeSilent(
    silence: { before: Date; at: Date },
    isRemovable: (key: AgentKey, at: Date) => Promise<boolean>,
  ): Promise<void> {
    const { database, agents, logger } = this.#options;
    const silent = await database.transaction((session) => agents.silent(session, silence.before));
    for (const key of silent) {
      if (this.#stop.signal.aborted) return;
      if (!(await isRemovable(key, silence.at))) continue;
      const isRemoved = await database.transaction((session) => agents.removeSilent(session, key, silence));
      if (isRemoved)
        logger.info('workload without heartbeats removed', { agent: key.name, namespace: key.namespace });
    }
  }
}
