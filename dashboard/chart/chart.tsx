import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { formatNumber, formatTime, NO_VALUE } from '../format.ts';
import { MAX_TABLE_ROWS, movedIndex, summaryOf, type ChartSeries } from './chart-data.ts';
import { alignedData, drawPlot, moveCursor, type PlotInput } from './plot.ts';

export interface ChartProps extends PlotInput {
  title: string;
  /** Unit of the values, such as `tokens`. */
  unit: string;
  /** Format of one value in texts and tables; default: a number of the locale. */
  format?: (value: number) => string;
}

/**
 * Values over time, as a plot and, behind a button, as a table. The plot is a slider over the times: the arrow keys move the
 * cursor, and the value at the cursor is shown below the plot.
 */
export function Chart(props: ChartProps) {
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

function Plot(props: ChartProps) {
  const { title, series, times, isCompact = false, format = formatNumber } = props;
  const { host, index, moveTo } = usePlot(props);
  const last = times.length - 1;
  // Without a cursor, the values of the latest time are shown.
  const at = Math.min(index ?? last, last);
  const values = series.map((each) => `${each.name} ${textOf(each.values[at], format)}`);
  const summaries = series.map((each) => summaryOf(each, format));
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
        aria-valuenow={at}
        aria-valuetext={index === null ? summaries.join(' ') : `${timeText(times[at])}: ${values.join(', ')}`}
        onKeyDown={(event) => {
          const moved = movedIndex(event.key, index, times.length);
          if (moved === null) return;
          event.preventDefault();
          moveTo(moved);
        }}
      />
      <Readout {...{ series, format, at }} time={times[at]} />
    </>
  );
}

/** `index`: of the time at the cursor; null: no cursor. */
function usePlot(input: PlotInput) {
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
function Readout({ series, at, time, format }: ReadoutProps) {
  return (
    <p class="chart-readout wrap" aria-hidden="true">
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

function ChartTable(props: Pick<ChartProps, 'title' | 'series' | 'times' | 'unit'> & Formatted) {
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
  return value === null || value === undefined ? NO_VALUE : format(value);
}
