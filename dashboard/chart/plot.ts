import uPlot from 'uplot';
import { formatTick } from '../format.ts';
import {
  isolatedIndexes,
  labelStarts,
  tickLabels,
  timeRange,
  type ChartMark,
  type ChartSeries,
} from './chart-data.ts';

/** CSS pixels. */
const HEIGHT = 200;
const COMPACT_HEIGHT = 130;
const FONT_SIZE = 12;
const FONT = `${FONT_SIZE}px system-ui, sans-serif`;
const LABEL_GAP = 4;

/** The contents of a plot. */
export interface PlotInput {
  /** Milliseconds since the epoch, ascending. Keep the same array while the data are the same. */
  times: readonly number[];
  series: readonly ChartSeries[];
  marks?: readonly ChartMark[];
  /** false: only the lines of the marks are drawn, as in the further charts of a page. */
  hasMarkLabels?: boolean;
  /** Half as high, for a page where charts are not the main content. */
  isCompact?: boolean;
  /** The time range of the request; default: that of the values. */
  range?: readonly [from: number, to: number];
  /** Top of the value axis; default: from the values. */
  max?: number;
}

type Color = (token: string) => string;

/** The times and values in the form of uPlot. */
export function alignedData({ times, series }: Pick<PlotInput, 'times' | 'series'>): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])];
}

/**
 * Draws a plot into `host`. It follows the size of the host and the color scheme.
 * @param input the current contents; the names, kinds and colors of the series must not change
 * @param onCursor called with the index of the time at the cursor; null: no cursor
 */
export function drawPlot(
  host: HTMLElement,
  input: () => PlotInput,
  onCursor: (index: number | null) => void,
): { plot: uPlot; remove(): void } {
  const plot = new uPlot(optionsOf(host, input, onCursor), alignedData(input()), host);
  const stops = [followSize(host, plot, input), followColorScheme(plot)];
  return {
    plot,
    remove: () => {
      for (const stop of stops) stop();
      plot.destroy();
    },
  };
}

/** Moves the cursor to a time, as the pointer does. */
export function moveCursor(plot: uPlot, time: number): void {
  plot.setCursor({ left: plot.valToPos(time, 'x'), top: 0 });
}

function optionsOf(
  host: HTMLElement,
  input: () => PlotInput,
  onCursor: (index: number | null) => void,
): uPlot.Options {
  // Read at each drawing, so that the colors follow the color scheme.
  const color: Color = (token) => getComputedStyle(host).getPropertyValue(token).trim();
  return {
    width: Math.max(1, host.clientWidth),
    height: heightOf(input()),
    ms: 1,
    padding: [
      input().hasMarkLabels !== false && !input().isCompact ? FONT_SIZE + 2 * LABEL_GAP : 8,
      20,
      0,
      0,
    ],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false, setScale: false } },
    scales: {
      x: { time: true, range: () => timeRange(input().times, input().range) },
      y: { range: (_plot, _min, max) => [0, input().max ?? topOf(max)] },
    },
    axes: axesOf(color),
    series: [{}, ...input().series.map((series) => seriesOf(series, color, input().isCompact ? 12 : 48))],
    hooks: {
      draw: [(plot) => drawMarks(plot, input(), color)],
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
    },
  };
}

const heightOf = ({ isCompact }: PlotInput): number => (isCompact === true ? COMPACT_HEIGHT : HEIGHT);

/** The top of the value axis for the highest value. Without a positive value the axis ends at 1. */
function topOf(max: number): number {
  return Number.isFinite(max) && max > 0 ? (uPlot.rangeNum(0, max, 0.1, true)[1] ?? max) : 1;
}

function axesOf(color: Color): uPlot.Axis[] {
  const stroke = (): string => color('--color-muted');
  const line = { stroke: () => color('--color-grid'), width: 1 };
  const common = { stroke, font: FONT, grid: line, ticks: { ...line, size: 4 } };
  return [
    {
      ...common,
      space: 70,
      size: (_plot, labels) => (labels?.some((each) => each.includes('\n')) === true ? 44 : 28),
      values: (_plot, splits, ...[, , step]) => tickLabels(splits, step),
    },
    {
      ...common,
      size: (_plot, labels) => FONT_SIZE * Math.max(3, 0.6 * longestOf(labels) + 1),
      space: 28,
      values: (_plot, splits) => splits.map(formatTick),
    },
  ];
}

/** Characters of the longest label. uPlot has no labels before it has the values. */
const longestOf = (labels: string[] | null): number =>
  Math.max(0, ...(labels ?? []).map((each) => each.length));

function seriesOf(
  { name, kind, color: token, isDashed }: ChartSeries,
  color: Color,
  widestBar: number,
): uPlot.Series {
  const paint = (): string => color(token);
  const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.7, widestBar] }) : undefined;
  if (bars !== undefined) return { label: name, fill: paint, width: 0, paths: bars, points: { show: false } };
  return {
    label: name,
    stroke: paint,
    width: 2,
    // A value between two gaps has no line: only such values are points.
    points: {
      size: 5,
      fill: paint,
      show: () => false,
      filter: (plot, index) => isolatedIndexes(plot.data[index] ?? []),
    },
    ...(isDashed === true && { dash: [6, 4] }),
  };
}

/** One dashed vertical line for each mark in the range, with its label above the plot where there is room. */
function drawMarks(plot: uPlot, { marks = [], hasMarkLabels = true }: PlotInput, color: Color): void {
  const { ctx, bbox, scales } = plot;
  const { min = 0, max = 0 } = scales['x'] ?? {};
  const ratio = uPlot.pxRatio;
  const right = bbox.left + bbox.width;
  ctx.save();
  ctx.font = `${FONT_SIZE * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = 'bottom';
  ctx.textAlign = 'left';
  ctx.fillStyle = color('--color-muted');
  ctx.strokeStyle = color('--color-series-4');
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  const placed = marks
    .filter(({ at }) => at >= min && at <= max)
    .map(({ at, label }) => ({
      label,
      x: Math.round(plot.valToPos(at, 'x', true)),
      width: ctx.measureText(label).width + LABEL_GAP * ratio,
    }))
    .sort((a, b) => a.x - b.x);
  const starts = hasMarkLabels ? labelStarts(placed, right) : [];
  ctx.beginPath();
  for (const { x } of placed) {
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
  }
  ctx.stroke();
  for (const [index, { label }] of placed.entries()) {
    const start = starts[index] ?? null;
    if (start !== null) ctx.fillText(label, start, bbox.top - LABEL_GAP * ratio);
  }
  ctx.restore();
}

/** Resizes the plot with its host, at most once per frame. */
function followSize(host: HTMLElement, plot: uPlot, input: () => PlotInput): () => void {
  let frame = 0;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const width = host.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: heightOf(input()) });
    });
  });
  observer.observe(host);
  return () => {
    observer.disconnect();
    cancelAnimationFrame(frame);
  };
}

function followColorScheme(plot: uPlot): () => void {
  const query = matchMedia('(prefers-color-scheme: dark)');
  const redraw = (): void => plot.redraw(false, false);
  query.addEventListener('change', redraw);
  return () => query.removeEventListener('change', redraw);
}
