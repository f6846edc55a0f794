import { hash } from 'node:crypto';
import { RecordLines } from '../../core/record/line.ts';
import { NO_LINE, type RecordSource } from '../../core/record/record-event.ts';
import { sampleEvents, SAMPLE_SOURCE } from './sample-events.ts';

export const sha256 = (text: string): string => hash('sha256', text);

/** `count` lines of a chain. Line 10 reports three lost events. */
export function chainOfLines(count: number, source: RecordSource = SAMPLE_SOURCE): string[] {
  const writer = new RecordLines({ source, hostOf: () => undefined, hintsOf: () => undefined });
  const { request, lost } = sampleEvents();
  let prev = NO_LINE;
  return Array.from({ length: count }, (_, index) => {
    const line = writer.line(index === 9 ? lost : request, { sequence: index + 1, prev });
    prev = sha256(line);
    return line;
  });
}
