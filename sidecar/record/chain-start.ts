import { hash } from 'node:crypto';
import { parseLine } from '../../core/record/columns.ts';
import { NO_LINE } from '../../core/record/record-event.ts';

/** Where a writer continues. */
export interface ChainStart {
  /** Start of the process that began the chain, in epoch milliseconds. */
  startedAt: number;
  /** Sequence of the last line; 0: none. */
  sequence: number;
  /** SHA-256 of the last line, in hex. */
  prev: string;
}

const CHAIN = /^(.*)\/([0-9a-z]{1,11}):(\d+)$/s;

/** Continues the chain of a file's last line. A line of another instance, or one that is not readable, begins a new chain. */
export function chainStartOf(last: string | null, instance: string, startedAt: number): ChainStart {
  const first = { startedAt, sequence: 0, prev: NO_LINE };
  const parsed = last === null ? null : parseLine(last);
  if (last === null || parsed?.ok !== true) return first;
  const { sequence, uid } = parsed.event.metadata;
  const [, writer, start = ''] = CHAIN.exec(uid) ?? [];
  if (writer !== instance) return first;
  return { startedAt: Number.parseInt(start, 36), sequence, prev: hash('sha256', last) };
}
