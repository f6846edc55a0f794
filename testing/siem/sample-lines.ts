import { RecordLines } from '../../core/record/line.ts';
import { NO_LINE, type RecordEvent } from '../../core/record/record-event.ts';
import { sha256 } from '../record/log-lines.ts';
import { sampleEvents, SAMPLE_SOURCE } from '../record/sample-events.ts';

/** An event of each kind, by name, and one whose line has nearly 8,000 bytes, the most that a line has. */
export const EVENTS: Readonly<Record<string, RecordEvent>> = { ...sampleEvents(), long: longEvent() };

/** The lines of EVENTS, as one chain. */
export function sampleLines(): string[] {
  const writer = new RecordLines({
    ...{ source: SAMPLE_SOURCE, hintsOf: () => undefined, hostOf: () => 'api.openai.com' },
  });
  let prev = NO_LINE;
  return Object.values(EVENTS).map((event, index) => {
    const line = writer.line(event, { sequence: index + 1, prev });
    prev = sha256(line);
    return line;
  });
}

function longEvent(): RecordEvent {
  const { request } = sampleEvents();
  return { kind: 'request', entry: { ...request.entry, toolsCalled: Array(176).fill('t'.repeat(37)) } };
}
