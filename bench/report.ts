/** One round of one target in one scenario. */
export interface Measurement {
  target: string;
  scenario: string;
  round: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** User and system time of the target's process only, in microseconds per request. */
  cpuUs: number;
}

export interface Spread {
  min: number;
  median: number;
  max: number;
}

/** One target in one scenario over all rounds. */
export interface Row {
  target: string;
  scenario: string;
  perSecond: Spread;
  p50Ms: Spread;
  p99Ms: Spread;
  cpuUs: Spread;
  /** By baseline. */
  against: Record<string, Ratios>;
}

/** A target divided by a baseline in the same round. */
export interface Ratios {
  throughput: Spread;
  /** Requests per processor time. */
  cpu: Spread;
  p99: Spread;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const at = (index: number): number => sorted[index] ?? NaN;
  const median = sorted.length % 2 === 1 ? at(Math.floor(middle)) : (at(middle - 1) + at(middle)) / 2;
  return { min: at(0), median, max: at(sorted.length - 1) };
}

/** Returns a row for each measured target and scenario, in the order of the first round. */
export function rowsOf(measured: readonly Measurement[], baselines: readonly string[]): Row[] {
  const groups = Map.groupBy(measured, ({ scenario, target }) => `${scenario}\n${target}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { target, scenario } = first;
    const against = baselines.flatMap((baseline): [string, Ratios][] => {
      const ratios = ratiosOf(
        group,
        measured.filter((each) => each.target === baseline && each.scenario === scenario),
      );
      return ratios === null ? [] : [[baseline, ratios]];
    });
    return {
      target,
      scenario,
      perSecond: spreadOf(group.map(({ perSecond }) => perSecond)),
      p50Ms: spreadOf(group.map(({ p50Ms }) => p50Ms)),
      p99Ms: spreadOf(group.map(({ p99Ms }) => p99Ms)),
      cpuUs: spreadOf(group.map(({ cpuUs }) => cpuUs)),
      against: Object.fromEntries(against),
    };
  });
}

/** Compares each round with the same round of the baseline; null without a common round. */
function ratiosOf(mine: readonly Measurement[], baseline: readonly Measurement[]): Ratios | null {
  const pairs = mine.flatMap((own) => {
    const base = baseline.find(({ round }) => round === own.round);
    return base === undefined ? [] : [{ own, base }];
  });
  if (pairs.length === 0) return null;
  return {
    throughput: spreadOf(pairs.map(({ own, base }) => own.perSecond / base.perSecond)),
    cpu: spreadOf(pairs.map(({ own, base }) => base.cpuUs / own.cpuUs)),
    p99: spreadOf(pairs.map(({ own, base }) => own.p99Ms / base.p99Ms)),
  };
}

/** Renders a text table with one block per scenario. */
export function renderTable(rows: readonly Row[], baselines: readonly string[]): string {
  const head = [
    ...['req/s', 'p50 ms', 'p99 ms', 'cpu µs/req'],
    ...baselines.flatMap((baseline) => [`req/s × ${baseline}`, `req/cpu × ${baseline}`]),
  ];
  const cells = (row: Row): string[] => [
    row.target,
    row.perSecond.median.toFixed(0),
    row.p50Ms.median.toFixed(2),
    row.p99Ms.median.toFixed(2),
    row.cpuUs.median.toFixed(0),
    ...baselines.flatMap((baseline) => {
      const ratios = row.against[baseline];
      return [rangeOf(ratios?.throughput), rangeOf(ratios?.cpu)];
    }),
  ];
  return [...Map.groupBy(rows, ({ scenario }) => scenario)]
    .map(([scenario, group]) => renderColumns([[scenario, ...head], ...group.map(cells)]))
    .join('\n\n');
}

/** Renders lines of cells as a text table: the first column to the left, the others to the right. */
export function renderColumns(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return column === 0 ? cell.padEnd(width) : cell.padStart(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function rangeOf(spread: Spread | undefined): string {
  if (spread === undefined) return '-';
  return `${spread.median.toFixed(2)} (${spread.min.toFixed(2)}..${spread.max.toFixed(2)})`;
}

/** The value that `share` (0..1) of the values do not exceed; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}
