import { formatAge, formatTime, NO_VALUE } from '../format.ts';
import { now } from './clock.ts';

/** The age of a moment; its date and time are the tooltip. `time`: ISO 8601, or null if it is not known. */
export function Ago({ time }: { time: string | null }) {
  if (time === null) return <span>{NO_VALUE}</span>;
  return (
    <time dateTime={time} title={formatTime(time)}>
      {formatAge(time, now.value)}
    </time>
  );
}
