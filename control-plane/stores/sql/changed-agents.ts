import { randomUUID } from 'node:crypto';
import type { AgentKey, AgentRecord, FleetChanges } from '../store.ts';
import type { AgentVersion, agentTable } from './agent-table.ts';
import type { SqlDatabase, SqlSession } from './sql-database.ts';

/**
 * How far a read goes back before its position, in milliseconds: the clocks of replicas differ, and a transaction commits after
 * the time that it writes.
 */
const OVERLAP_MS = 10_000;
/** Number of statuses per transaction. SQLite blocks the process during a query. */
const STATUSES_PER_READ = 100;

type Read = <T>(at: Date, work: (session: SqlSession) => Promise<T>) => Promise<T>;

interface Parts {
  database: SqlDatabase;
  agents: ReturnType<typeof agentTable>;
  /** Runs a transaction after the status changes that are due. */
  read: Read;
}

const textOf = ({ namespace, name }: AgentKey): string => `${namespace}/${name}`;

/**
 * The changes of an SQL store. A position is a time in milliseconds and an id. The versions of the agents at the last position are
 * remembered, so that the next call does not read the overlap's statuses again. With another position, for example of another
 * process, it does.
 */
export class ChangedAgents {
  readonly #parts: Parts;
  #last: { position: string; versions: ReadonlyMap<string, string> } = { position: '', versions: new Map() };

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async since(position: string | null, at: Date): Promise<FleetChanges> {
    const { agents, read, database } = this.#parts;
    const overlapMs = (position === null ? at.getTime() : parseInt(position)) - OVERLAP_MS;
    const known = position === this.#last.position ? this.#last.versions : new Map<string, string>();
    const rows = await read(at, (session) => agents.versionsSince(session, overlapMs));
    const next = `${at.getTime()}.${randomUUID()}`;
    const changed =
      position === null
        ? []
        : await this.#statusesOf(rows.filter((row) => known.get(textOf(row)) !== row.version));
    // After the statuses: an agent that was removed meanwhile is in no list or in this one.
    const removed =
      position === null ? [] : await database.read((session) => agents.removedSince(session, overlapMs));
    const recent = rows.filter(({ changedAt }) => changedAt >= at.getTime() - OVERLAP_MS);
    this.#last = { position: next, versions: new Map(recent.map((row) => [textOf(row), row.version])) };
    return { position: next, changed, removed };
  }

  async #statusesOf(rows: readonly AgentVersion[]): Promise<AgentRecord[]> {
    const { agents, database } = this.#parts;
    const changed: AgentRecord[] = [];
    for (let start = 0; start < rows.length; start += STATUSES_PER_READ) {
      const part = rows.slice(start, start + STATUSES_PER_READ);
      const found = await database.read((session) =>
        Promise.all(part.map((key) => agents.get(session, key))),
      );
      changed.push(...found.filter((agent) => agent !== null));
    }
    return changed;
  }
}
