import { RecordLines } from '../../core/record/line.ts';
import { NO_LINE, type RecordSource } from '../../core/record/record-event.ts';
import { logLines, sha256 } from './log-lines.ts';
import { sampleEvents, SAMPLE_SOURCE } from './sample-events.ts';

type SampleName = keyof ReturnType<typeof sampleEvents>;

/** Makes lines with a declared provider `anthropic`, destructive tools named `delete…`, and read-only tools otherwise. */
export const SAMPLE_WRITER = new RecordLines({
  source: SAMPLE_SOURCE,
  hostOf: () => 'api.example.com',
  hintsOf: (tool) =>
    tool.startsWith('delete')
      ? { isReadOnly: false, isDestructive: true }
      : { isReadOnly: true, isDestructive: false },
});

/** The events as lines of one chain, in the order of the sample events. */
export function linesOfSamples(): Record<SampleName, string> {
  let prev = NO_LINE;
  const rows = Object.entries(sampleEvents()).map(([name, event], index) => {
    const place = { sequence: index + 1, prev, manifestDigest: `sha256:${'a'.repeat(64)}` };
    const line = SAMPLE_WRITER.line(event, place);
    prev = sha256(line);
    return [name, line];
  });
  return Object.fromEntries(rows) as Record<SampleName, string>;
}

/** `count` lines of a chain. Line 10 reports three lost events. */
export function chainOfLines(count: number, source: RecordSource = SAMPLE_SOURCE): string[] {
  const { request, lost } = sampleEvents();
  const events = Array.from({ length: count }, (_, index) => (index === 9 ? lost : request));
  return logLines(events, source);
}
