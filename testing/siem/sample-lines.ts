import type { RecordEvent } from '../../core/record/record-event.ts';
import { logLines } from '../record/log-lines.ts';
import { sampleEvents } from '../record/sample-events.ts';

/** An event of each kind, by name, and one whose line has nearly 8,000 bytes, the most that a line has. */
export const EVENTS: Readonly<Record<string, RecordEvent>> = { ...sampleEvents(), long: longEvent() };

/** The lines of EVENTS, as one chain. */
export const sampleLines = (): string[] => logLines(Object.values(EVENTS));

function longEvent(): RecordEvent {
  const { request } = sampleEvents();
  return { kind: 'request', entry: { ...request.entry, toolsCalled: Array(176).fill('t'.repeat(37)) } };
}
