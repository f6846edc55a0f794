import { renderColumns, renderTable, type Row } from './report.ts';
import type { Results } from './results.ts';
import {
  BASELINES,
  DECISIONS_LOG,
  FULL_LOG,
  HTTP_PROXY,
  LANE,
  NO_LOG,
  SIDECAR,
  UNDICI,
  WITH_OPA,
} from './targets.ts';

/** A promise about the speed or the memory of the sidecar. */
export interface Bar {
  name: string;
  unit: '×' | 'ms' | 'MB';
  atLeast?: number;
  atMost?: number;
  /** The measured value; undefined if the run does not have it. */
  of: (results: Results) => number | undefined;
}

export interface JudgedBar {
  name: string;
  value: number;
  unit: string;
  bar: number;
  isUpper: boolean;
  isMet: boolean;
}

const rowIn = (rows: readonly Row[] | undefined, target: string, scenario: string): Row | undefined =>
  rows?.find((row) => row.target === target && row.scenario === scenario);

/** Requests per processor time of a target, as a multiple of a baseline. */
function speed(scenario: string, target: string, baseline: string, atLeast: number): Bar {
  const what = target === WITH_OPA ? `${scenario}, with OPA` : scenario;
  return {
    name: `requests per processor time, ${what}, × ${baseline}`,
    unit: '×',
    atLeast,
    of: ({ throughput }) => rowIn(throughput, target, scenario)?.against[baseline]?.cpu.median,
  };
}

const p99 = (scenario: string): Bar => ({
  name: `p99 at full load, ${scenario}, × ${UNDICI}`,
  unit: '×',
  atMost: 1.2,
  of: ({ throughput }) => rowIn(throughput, SIDECAR, scenario)?.against[UNDICI]?.p99.median,
});

const lane = (scenario: string): Bar => ({
  name: `requests per processor time, egress lane, ${scenario}, × ${UNDICI}`,
  unit: '×',
  atLeast: 0.85,
  of: ({ lanes }) => rowIn(lanes, LANE, scenario)?.against[UNDICI]?.cpu.median,
});

/** Processor time per request with an audit log, as a multiple of that without. */
const record = (target: string, scenario: string, atMost: number): Bar => ({
  name: `processor time per request, ${target}, ${scenario}`,
  unit: '×',
  atMost,
  of: ({ record: rows }) => {
    const perTime = rowIn(rows, target, scenario)?.against[NO_LOG]?.cpu.median;
    return perTime === undefined ? undefined : 1 / perTime;
  },
});

/** The bars, in the order in which they are printed. All values are medians of the rounds. */
export const BARS: readonly Bar[] = [
  speed('json', SIDECAR, UNDICI, 1),
  speed('chat', SIDECAR, UNDICI, 0.95),
  speed('sse', SIDECAR, UNDICI, 0.95),
  speed('json', SIDECAR, HTTP_PROXY, 1.8),
  speed('chat', SIDECAR, HTTP_PROXY, 1.6),
  speed('sse', SIDECAR, HTTP_PROXY, 0.95),
  speed('json', WITH_OPA, HTTP_PROXY, 1.05),
  speed('chat', WITH_OPA, HTTP_PROXY, 1.05),
  speed('sse', WITH_OPA, HTTP_PROXY, 0.8),
  lane('chat'),
  lane('sse'),
  record(FULL_LOG, 'json', 1.2),
  record(FULL_LOG, 'chat', 1.2),
  record(DECISIONS_LOG, 'json', 1.03),
  record(DECISIONS_LOG, 'chat', 1.03),
  p99('json'),
  p99('chat'),
  p99('sse'),
  {
    name: 'added latency at 1,000 requests per second, p50',
    unit: 'ms',
    atMost: 0.3,
    of: ({ latency }) => latency?.find(({ target }) => target === SIDECAR)?.addedP50Ms.median,
  },
  {
    name: 'added latency at 1,000 requests per second, p99',
    unit: 'ms',
    atMost: 1.5,
    of: ({ latency }) => latency?.find(({ target }) => target === SIDECAR)?.addedP99Ms.median,
  },
  { name: 'scavenge, p99', unit: 'ms', atMost: 2.5, of: ({ heap }) => heap?.scavengeP99Ms.median },
  { name: 'memory, idle', unit: 'MB', atMost: 77, of: ({ heap }) => heap?.idleMb.median },
  { name: 'memory, idle, not shared', unit: 'MB', atMost: 31, of: ({ heap }) => heap?.idleOwnMb.median },
  { name: 'memory, after load', unit: 'MB', atMost: 125, of: ({ heap }) => heap?.afterLoadMb.median },
  {
    name: 'start to first answer, × a bare node:http server',
    unit: '×',
    atMost: 3.4,
    of: ({ start }) => start?.ratio.median,
  },
];

/** Compares the measured values with the bars. Bars without a value are omitted. */
export function judge(results: Results, bars: readonly Bar[] = BARS): JudgedBar[] {
  return bars.flatMap(({ name, unit, atLeast, atMost, of }) => {
    const value = of(results);
    if (value === undefined) return [];
    const isUpper = atMost !== undefined;
    const bar = atMost ?? atLeast ?? NaN;
    return { name, value, unit, bar, isUpper, isMet: isUpper ? value <= bar : value >= bar };
  });
}

/** A value of a bar for people, such as `0.97 ×` or `78 MB`. */
export const withUnit = (value: number, unit: string): string =>
  `${value.toFixed(unit === 'MB' ? 0 : 2)} ${unit}`;

/** A text table of the bars. */
export function renderBars(judged: readonly JudgedBar[]): string {
  return renderColumns([
    ['bar', 'measured', '', 'bar', ''],
    ...judged.map(({ name, value, unit, bar, isUpper, isMet }) => [
      name,
      withUnit(value, unit),
      isUpper ? '≤' : '≥',
      withUnit(bar, unit),
      isMet ? 'met' : 'NOT MET',
    ]),
  ]);
}

/** The tables of throughput and the bars as text. `--json` has all other figures. */
export function renderResults(results: Results): string {
  const { throughput, lanes, record: logged } = results;
  const parts: [title: string, text: string | undefined][] = [
    ['throughput and latency at full load', throughput && renderTable(throughput, BASELINES)],
    ['an egress lane, to a vendor with TLS', lanes && renderTable(lanes, [UNDICI])],
    ['the audit log', logged && renderTable(logged, [NO_LOG])],
    ['bars', renderBars(judge(results))],
  ];
  return parts.flatMap(([title, text]) => (text === undefined ? [] : [`== ${title}\n${text}`])).join('\n\n');
}
