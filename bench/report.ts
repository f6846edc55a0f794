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
  /** Throughput divided by the baseline's throughput in the same round. */
  throughputRatio: Spread;
  /** Requests per processor time, divided by the baseline's value in the same round. */
  cpuRatio: Spread;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const at = (index: number): number => sorted[index] ?? NaN;
  const median = sorted.length % 2 === 1 ? at(Math.floor(middle)) : (at(middle - 1) + at(middle)) / 2;
  return { min: at(0), median, max: at(sorted.length - 1) };
}

/** Returns a row for each measured target and scenario, in the order of their first measurement. */
export function rowsOf(measured: readonly Measurement[], baseline: string): Row[] {
  const groups = Map.groupBy(measured, ({ scenario, target }) => `${scenario}\n${target}`);
  const keyOf = ({ scenario, round }: Measurement): string => `${scenario}\n${round}`;
  const base = new Map(
    measured.filter(({ target }) => target === baseline).map((each) => [keyOf(each), each]),
  );
  const ratios = (
    group: readonly Measurement[],
    ratio: (mine: Measurement, base: Measurement) => number,
  ): Spread =>
    spreadOf(
      group.flatMap((mine) => {
        const other = base.get(keyOf(mine));
        return other === undefined ? [] : [ratio(mine, other)];
      }),
    );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    return {
      target: first.target,
      scenario: first.scenario,
      perSecond: spreadOf(group.map(({ perSecond }) => perSecond)),
      p50Ms: spreadOf(group.map(({ p50Ms }) => p50Ms)),
      p99Ms: spreadOf(group.map(({ p99Ms }) => p99Ms)),
      cpuUs: spreadOf(group.map(({ cpuUs }) => cpuUs)),
      throughputRatio: ratios(group, (mine, other) => mine.perSecond / other.perSecond),
      cpuRatio: ratios(group, (mine, other) => other.cpuUs / mine.cpuUs),
    };
  });
}

/** Renders a text table with one block per scenario. */
export function renderTable(rows: readonly Row[], baseline: string): string {
  const cells = (row: Row): string[] => [
    row.target,
    row.perSecond.median.toFixed(0),
    row.p50Ms.median.toFixed(2),
    row.p99Ms.median.toFixed(2),
    row.cpuUs.median.toFixed(0),
    rangeOf(row.throughputRatio),
    rangeOf(row.cpuRatio),
  ];
  const head = [
    '',
    'req/s',
    'p50 ms',
    'p99 ms',
    'cpu µs/req',
    `req/s × ${baseline}`,
    `req/cpu × ${baseline}`,
  ];
  const blocks = [...Map.groupBy(rows, ({ scenario }) => scenario)].map(([scenario, group]) => {
    const lines = [[scenario, ...head.slice(1)], ...group.map(cells)];
    const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
    return lines
      .map((line) =>
        line
          .map((cell, column) =>
            column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
          )
          .join('  '),
      )
      .join('\n');
  });
  return blocks.join('\n\n');
}

function rangeOf({ min, median, max }: Spread): string {
  if (Number.isNaN(median)) return '-';
  return `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`;
}
