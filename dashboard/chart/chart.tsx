import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { formatNumber, formatTick, formatTime } from '../format.ts';
import { MAX_TABLE_ROWS, movedIndex, summaryOf, type ChartMark, type ChartSeries } from './chart-data.ts';
import { alignedData, drawPlot, moveCursor, type PlotInput } from './plot.ts';

export interface ChartProps {
  title: string;
  series: readonly ChartSeries[];
  /** Milliseconds since the epoch, ascending. Keep the same array while the data are the same. */
  times: readonly number[];
  /** Unit of the values, such as `tokens`. */
  unit: string;
  marks?: readonly ChartMark[];
  /** The labels of the marks are drawn; else only their lines, as in the further charts of a page. */
  hasMarkLabels?: boolean;
  /** The time range of the request; default: that of the values. */
  range?: readonly [from: number, to: number];
  /** Half as high, for a page where charts are not the main content. */
  isCompact?: boolean;
  /** Top of the value axis; default: from the values. */
  max?: number;
  /** Format of one value in texts and tables; default: a number of the locale. */
  format?: (value: number) => string;
}

const NO_MARKS: readonly ChartMark[] = [];

/**
 * Values over time, as a plot and, behind a button, as a table. The plot is a slider over the times: the arrow keys move the
 * cursor, and the value at the cursor is shown below the plot.
 */
export function Chart(props: ChartProps): JSX.Element {
  const { title, series, times, unit, format = formatNumber } = props;
  const [isTable, setTable] = useState(false);
  const tableId = useId();
  return (
    <figure class="chart">
      <figcaption class="chart-title">
        {title} {!title.toLowerCase().includes(unit) && <span class="chart-unit">({unit})</span>}
      </figcaption>
      {times.length > 0 && (
        <button
          type="button"
          class="button chart-toggle"
          aria-label={isTable ? `Hide table of ${title}` : `Show ${title} as table`}
          aria-expanded={isTable}
          aria-controls={tableId}
          onClick={() => setTable(!isTable)}
        >
          {isTable ? 'Hide table' : 'Table'}
        </button>
      )}
      {times.length > 0 ? <Plot {...props} /> : <p class="chart-empty">No data in this time range.</p>}
      <div
        class="chart-table"
        id={tableId}
        hidden={!isTable}
        role="region"
        aria-label={`${title}, table`}
        tabIndex={0}
      >
        {isTable && <ChartTable {...{ title, series, times, unit, format }} />}
      </div>
    </figure>
  );
}

function Plot({ title, series, times, format = formatNumber, ...rest }: ChartProps): JSX.Element {
  const { marks = NO_MARKS, max = null, hasMarkLabels = true, isCompact = false, range = null } = rest;
  const input: PlotInput = { times, series, marks, hasMarkLabels, isCompact, range, max, format: formatTick };
  const { host, index, moveTo } = usePlot(input);
  const last = times.length - 1;
  const readout = readoutAt(Math.min(index ?? last, last), times, series, format);
  return (
    <>
      <div
        ref={host}
        class={isCompact ? 'chart-plot is-compact' : 'chart-plot'}
        role="slider"
        tabIndex={0}
        aria-label={`${title} over time`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={Math.min(index ?? last, last)}
        aria-valuetext={index === null ? series.map((each) => summaryOf(each, format)).join(' ') : readout}
        onKeyDown={(event) => {
          const moved = movedIndex(event.key, index, times.length);
          if (moved === null) return;
          event.preventDefault();
          moveTo(moved);
        }}
      />
      <Readout {...{ series, format }} at={Math.min(index ?? last, last)} time={times[index ?? last]} />
    </>
  );
}

/** The values of one time as text. Without a cursor it is the latest one. */
function readoutAt(
  index: number,
  times: readonly number[],
  series: readonly ChartSeries[],
  format: (value: number) => string,
): string {
  const values = series.map(({ name, values: all }) => `${name} ${textOf(all[index], format)}`);
  return `${timeText(times[index])}: ${values.join(', ')}`;
}

interface UsedPlot {
  host: { current: HTMLDivElement | null };
  /** Index of the time at the cursor. */
  index: number | null;
  moveTo(index: number): void;
}

function usePlot(input: PlotInput): UsedPlot {
  const host = useRef<HTMLDivElement | null>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(input);
  latest.current = input;
  const [index, setIndex] = useState<number | null>(null);
  const shape = input.series.map(({ name, kind, color, isDashed }) =>
    [name, kind, color, isDashed].join(' '),
  );
  useEffect(() => {
    if (host.current === null) return undefined;
    const drawn = drawPlot(host.current, () => latest.current, setIndex);
    plot.current = drawn.plot;
    return () => {
      plot.current = null;
      drawn.remove();
    };
  }, [shape.join('\n')]);
  useEffect(
    () => plot.current?.setData(alignedData(latest.current)),
    [input.times, input.series, input.marks],
  );
  const moveTo = (target: number): void => {
    const time = latest.current.times[target];
    if (plot.current !== null && time !== undefined) moveCursor(plot.current, time);
  };
  return { host, index, moveTo };
}

interface ReadoutProps extends Formatted {
  series: readonly ChartSeries[];
  at: number;
  time: number | undefined;
}

/** The legend, with the values at the cursor or the latest ones. Screen readers have them as the value of the slider. */
function Readout({ series, at, time, format }: ReadoutProps): JSX.Element {
  return (
    <p class="chart-readout" aria-hidden="true">
      {series.map(({ name, values, color, kind, isDashed }) => (
        <span key={name}>
          <span
            class={`chart-swatch ${kind === 'bars' ? 'is-bar' : ''} ${isDashed === true ? 'is-dashed' : ''}`}
            style={{ '--swatch': `var(${color})` }}
          />
          {name} <strong>{textOf(values[at], format)}</strong>
        </span>
      ))}
      <span>{timeText(time)}</span>
    </p>
  );
}

const timeText = (time = 0): string => formatTime(new Date(time).toISOString());

function ChartTable(props: Pick<ChartProps, 'title' | 'series' | 'times' | 'unit'> & Formatted): JSX.Element {
  const { title, series, times, unit, format } = props;
  const start = Math.max(0, times.length - MAX_TABLE_ROWS);
  const rows = times.slice(start).map((time, index) => ({ time, index: start + index }));
  return (
    <table>
      <caption>
        {title} in {unit}, newest first
        {start > 0 && ` (the newest ${formatNumber(rows.length)} of ${formatNumber(times.length)} rows)`}
      </caption>
      <thead>
        <tr>
          <th scope="col">Time</th>
          {series.map(({ name }) => (
            <th key={name} scope="col" class="numeric">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.reverse().map(({ time, index }) => (
          <tr key={time}>
            <th scope="row">{timeText(time)}</th>
            {series.map(({ name, values }) => (
              <td key={name} class="numeric">
                {textOf(values[index], format)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Formatted {
  format(value: number): string;
}

function textOf(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}
