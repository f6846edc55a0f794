import { STEP_MS } from '../../core/fleet/steps.ts';
import type { AgentHistory, HistoryChange, HistoryPoint, HistoryStep } from '../../core/shapes/history.ts';
import type { Outcome } from '../../core/shapes/values.ts';
import type { ChartMark } from '../chart/chart-data.ts';
import { withLocalTimes } from '../format.ts';

type Values = readonly (number | null)[];

/** The points of a history as columns. A time without a heartbeat is a gap: null in every column. */
export interface HistorySeries extends Readonly<Record<Outcome, Values>> {
  /** Milliseconds since the epoch. */
  times: readonly number[];
  score: Values;
  scoreMin: Values;
  scoreMax: Values;
  tokens: Values;
  costUsd: Values;
  /** Some point has a cost, so the manifest has prices. */
  hasCost: boolean;
  /** Some point has lower or higher scores than its last score. */
  hasSpread: boolean;
}

/** An instance without a heartbeat for this time counts as silent (core/observation/phase.ts). */
const SILENT_MS = 120_000;
/** Heartbeats within this time belong together. */
const TOGETHER_MS = 1_000;

/** The columns of a history for its charts. */
export function historySeries({ step, points }: Pick<AgentHistory, 'step' | 'points'>): HistorySeries {
  const rows = withGaps(points, longestStepMs(step, points));
  const column = (of: (point: HistoryPoint) => number): Values =>
    rows.map(({ point }) => (point === null ? null : of(point)));
  return {
    times: rows.map(({ at }) => at),
    score: column(({ score }) => score),
    scoreMin: column(({ scoreMin }) => scoreMin),
    scoreMax: column(({ scoreMax }) => scoreMax),
    tokens: column(({ tokens }) => tokens),
    costUsd: column(({ costUsd }) => costUsd),
    allow: column(({ outcomes }) => outcomes.allow),
    deny: column(({ outcomes }) => outcomes.deny),
    failOpen: column(({ outcomes }) => outcomes.failOpen),
    notEvaluated: column(({ outcomes }) => outcomes.notEvaluated),
    hasCost: points.some(({ costUsd }) => costUsd > 0),
    hasSpread: points.some(({ score, scoreMin, scoreMax }) => scoreMin !== score || scoreMax !== score),
  };
}

/** The longest time between two points that belong together. */
function longestStepMs(step: HistoryStep, points: readonly HistoryPoint[]): number {
  if (step !== 'heartbeat') return 1.5 * STEP_MS[step];
  const times = points.map(({ at }) => Date.parse(at));
  // Instances that send together would make the median the time between two of them.
  const steps = times
    .slice(1)
    .map((time, index) => time - (times[index] ?? time))
    .filter((step) => step >= TOGETHER_MS);
  const median = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  return Math.max(SILENT_MS, 3 * median);
}

interface Row {
  at: number;
  point: HistoryPoint | null;
}

/** The points, with an empty row in the middle of each gap. Points of the same millisecond become one, the last. */
function withGaps(points: readonly HistoryPoint[], longestMs: number): Row[] {
  const rows: Row[] = [];
  for (const point of points) {
    const at = Date.parse(point.at);
    const last = rows.at(-1);
    if (last?.at === at) rows.pop();
    else if (last !== undefined && at - last.at > longestMs)
      rows.push({ at: Math.round((last.at + at) / 2), point: null });
    rows.push({ at, point });
  }
  return rows;
}

const NOUNS: Readonly<Record<HistoryChange['kind'], string>> = {
  phase: 'Phase',
  grade: 'Grade',
  manifest: 'Manifest',
  version: 'Version',
  'policy-mode': 'Policy mode',
  stop: 'Stop',
};

/** Characters of a manifest hash that identify it in a text. */
const HASH_LENGTH = 8;

/** A change as text: `Grade A → B`. */
export function changeText({ kind, from, to, summary }: HistoryChange): string {
  const short = (value: string | null): string => {
    if (value === null) return 'none';
    return kind === 'manifest' ? hashText(value) : value;
  };
  const text = from === null ? `${NOUNS[kind]} ${short(to)}` : `${NOUNS[kind]} ${short(from)} → ${short(to)}`;
  return summary === undefined ? text : `${text} (${withLocalTimes(summary)})`;
}

/** The start of a hash, without its algorithm. */
export function hashText(hash: string): string {
  return hash.slice(hash.indexOf(':') + 1).slice(0, HASH_LENGTH);
}

/** Changes of the same time. */
export interface Moment {
  /** Milliseconds since the epoch. */
  at: number;
  changes: readonly HistoryChange[];
}

export function momentsOf(changes: readonly HistoryChange[]): Moment[] {
  const byTime = Map.groupBy(changes, ({ at }) => Date.parse(at));
  return [...byTime].map(([at, members]) => ({ at, changes: members }));
}

/** The marks of charts. The first heartbeat of an agent changes everything, which needs no words. */
export function marksOf(moments: readonly Moment[]): ChartMark[] {
  return moments.map(({ at, changes }) => ({
    at,
    label: isFirst(changes) ? 'First heartbeat' : changes.map(changeText).join(', '),
  }));
}

const isFirst = (changes: readonly HistoryChange[]): boolean =>
  changes.some(({ kind, from }) => kind === 'phase' && from === null);

/** The time ranges that the page offers. */
export const RANGES = [
  { id: 'heartbeats', title: 'Latest heartbeats', step: 'heartbeat', days: null },
  { id: '1d', title: '24 hours', step: 'hour', days: 1 },
  { id: '7d', title: '7 days', step: 'hour', days: 7 },
  { id: '30d', title: '30 days', step: 'day', days: 30 },
  { id: '400d', title: '400 days', step: 'day', days: 400 },
] as const satisfies readonly { id: string; title: string; step: HistoryStep; days: number | null }[];
export type RangeId = (typeof RANGES)[number]['id'];

/** The query of a range. It changes only with the hour, so that a refresh is a conditional request. */
export function queryOf(id: RangeId, now: Date): Record<string, string> {
  const range = RANGES.find((each) => each.id === id);
  if (typeof range?.days !== 'number') return { step: 'heartbeat' };
  const hour = Math.floor(now.getTime() / STEP_MS.hour) * STEP_MS.hour;
  return { step: range.step, from: new Date(hour - range.days * STEP_MS.day).toISOString() };
}
