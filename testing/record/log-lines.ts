import { createHash } from 'node:crypto';
import { RecordLines } from '../../core/record/line.ts';
import { NO_LINE, type RecordEvent, type RecordSource } from '../../core/record/record-event.ts';
import { SAMPLE_SOURCE } from './sample-events.ts';

/** The hash of a text, in hex. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The lines of one chain, as a sidecar writes them. */
export function logLines(events: readonly RecordEvent[], source: RecordSource = SAMPLE_SOURCE): string[] {
  const lines = new RecordLines({ source, hostOf: () => 'api.openai.com', hintsOf: () => undefined });
  let prev = NO_LINE;
  return events.map((event, index) => {
    const line = lines.line(event, { sequence: index + 1, prev });
    prev = sha256(line);
    return line;
  });
}

/** A log file with these lines. */
export const logText = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
