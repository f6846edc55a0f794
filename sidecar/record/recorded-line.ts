import type { AuditEvent } from '../../core/shapes/audit-event.ts';
import { parseLine } from '../../core/record/columns.ts';
import type { ForwardLevel } from './record-fields.ts';

/** A line of the record, with its event. */
export interface RecordedLine {
  text: string;
  event: AuditEvent;
}

/** null: the line is not an audit event, such as one that a full disk cut. */
export function recordedLine(text: string): RecordedLine | null {
  const parsed = parseLine(text);
  return parsed.ok ? { text, event: parsed.event } : null;
}

const KIND = '"kind":"';

/**
 * Whether a copy with the level has the line. Reads the text, because most lines at full load are left out. A text inside of a value
 * cannot match: its quotes are escaped.
 */
export function isForwarded(level: ForwardLevel, line: string): boolean {
  const at = line.lastIndexOf(KIND) + KIND.length;
  const isKind = (kind: string): boolean => line.startsWith(`${kind}"`, at);
  if (level === 'off') return false;
  if (!isKind('request') && (level === 'calls' || !['model', 'tool', 'connect'].some(isKind))) return true;
  return line.includes('"outcome":"deny"', at) || line.includes('"outcome":"failOpen"', at);
}

/** Lines that are sent together: what the control plane accepts in one request. */
export const MAX_BATCH_LINES = 500;
export const MAX_BATCH_BYTES = 256 * 1024;

/** Lines in the order of the record. Each batch is requested when the batch before it is done. */
export interface LineSource {
  /** The next lines; empty: there are none now. Rejects when the record cannot be read. */
  next(): Promise<readonly RecordedLine[]>;
  /** The lines of the last batch are not needed any more. */
  done(): Promise<void>;
  close(): Promise<void>;
  /** Lines that were never in a batch, since the start of the process. */
  readonly lost: Record<LossReason, number>;
}

/**
 * Why a line is not sent. `rotated`: its file was removed first. `full`: the memory for lines was full. `invalid`: it is not an audit event.
 * `rejected`: the receiver did not accept it.
 */
export const LOSS_REASONS = ['rotated', 'full', 'invalid', 'rejected'] as const;
export type LossReason = (typeof LOSS_REASONS)[number];

export const noLoss = (): Record<LossReason, number> => ({ rotated: 0, full: 0, invalid: 0, rejected: 0 });

/** The lines of one batch, up to the limits. */
export class Batch {
  readonly lines: RecordedLine[] = [];
  #bytes = 0;

  /** false: the batch is full, and the line belongs to the next one. `bytes`: of the text, with its line end. */
  add(line: RecordedLine, bytes: number): boolean {
    if (this.lines.length === MAX_BATCH_LINES || this.#bytes + bytes > MAX_BATCH_BYTES) return false;
    this.lines.push(line);
    this.#bytes += bytes;
    return true;
  }
}
