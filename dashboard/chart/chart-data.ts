/** One row of values of a chart. */
export interface ChartSeries {
  name: string;
  /** One value for each time of the chart; null: no value. */
  values: readonly (number | null)[];
  kind: 'line' | 'bars';
  /** A CSS custom property, such as `--color-series-1`. */
  color: string;
  /** Draws the line dashed, so that lines differ in more than their color. */
  isDashed?: true;
}

/** A moment of change: a vertical line with a label. */
export interface ChartMark {
  /** Milliseconds since the epoch. */
  at: number;
  label: string;
}

/** Newest rows of the table equivalent. More rows would make the page slow; the API returns all of them. */
export const MAX_TABLE_ROWS = 500;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The smallest distance of two neighbouring times in milliseconds; null: fewer than two times. */
export function smallestStep(times: readonly number[]): number | null {
  let smallest: number | null = null;
  for (let index = 1; index < times.length; index += 1) {
    const step = (times[index] ?? 0) - (times[index - 1] ?? 0);
    if (step > 0 && (smallest === null || step < smallest)) smallest = step;
  }
  return smallest;
}

/**
 * The limits of the time axis: half a step more on both sides, so that no bar is cut.
 * @param asked the time range of the request, which may have values in a part of it
 */
export function timeRange(
  times: readonly number[],
  asked?: readonly [from: number, to: number],
): [min: number, max: number] {
  const first = times.at(0) ?? 0;
  const last = times.at(-1) ?? 0;
  const margin = (smallestStep(times) ?? 2 * MINUTE_MS) / 2;
  const [from, to] = asked ?? [first, last];
  return [Math.min(from, first - margin), Math.max(to, last + margin)];
}

/**
 * The labels of the time axis; by default in the locale and time zone of the browser. The first tick of each day has its date in a
 * second line, if there are several days.
 */
export function tickLabels(
  splits: readonly number[],
  stepMs: number,
  locale?: string,
  timeZone?: string,
): string[] {
  const date = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone });
  const time = new Intl.DateTimeFormat(locale, {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone,
  });
  if (stepMs >= DAY_MS) return splits.map((split) => date.format(split));
  const days = splits.map((split) => date.format(split));
  const hasSeveralDays = days.some((day) => day !== days[0]);
  return splits.map((split, index) => {
    const day = days[index] ?? '';
    const startsDay = index === 0 ? hasSeveralDays : day !== days[index - 1];
    return startsDay ? `${time.format(split)}\n${day}` : time.format(split);
  });
}

/** The places of values that have no value before and after them. */
export function isolatedIndexes(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from(values)
    .map((_value, index) => index)
    .filter((at) =>
      [at - 1, at, at + 1].every((each) => ((values[each] ?? null) === null) === (each !== at)),
    );
}

/**
 * Where the label of each mark starts: at its mark, or further left if the right edge is near. null: the label before it, or the
 * next mark, leaves no room.
 * @param places the position and the width of the label of each mark, sorted by position
 */
export function labelStarts(
  places: readonly { x: number; width: number }[],
  right: number,
): (number | null)[] {
  let end = 0;
  return places.map(({ x, width }, index) => {
    const start = Math.min(x, right - width);
    if (start < end || start + width > (places[index + 1]?.x ?? right)) return null;
    end = start + width;
    return start;
  });
}

/** The lowest, highest and latest value of a series as one sentence, for screen readers. */
export function summaryOf(
  { name, values }: Pick<ChartSeries, 'name' | 'values'>,
  format: (value: number) => string,
): string {
  const known = values.filter((value) => value !== null);
  const latest = known.at(-1);
  if (latest === undefined) return `${name}: no value.`;
  const lowest = known.reduce((a, b) => Math.min(a, b));
  const highest = known.reduce((a, b) => Math.max(a, b));
  return `${name}: lowest ${format(lowest)}, highest ${format(highest)}, latest ${format(latest)}.`;
}

/** The index after a key of the keyboard; null: the key does not move the cursor. */
export function movedIndex(key: string, index: number | null, count: number): number | null {
  const last = count - 1;
  const from = index ?? last;
  const page = Math.max(1, Math.round(count / 10));
  const moved: Readonly<Record<string, number>> = {
    ArrowLeft: from - 1,
    ArrowDown: from - 1,
    ArrowRight: from + 1,
    ArrowUp: from + 1,
    PageDown: from - page,
    PageUp: from + page,
    Home: 0,
    End: last,
  };
  const target = moved[key];
  return target === undefined ? null : Math.min(last, Math.max(0, target));
}
