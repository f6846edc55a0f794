/** Prometheus metrics of one process. Code updates counters and histograms; gauges and totals are read on each scrape. */
export interface Metrics {
  counter(name: string, help: string): Counter;
  /** `buckets`: upper bounds in ascending order; seconds for durations. */
  histogram(name: string, help: string, buckets: readonly number[]): Histogram;
  gauge(name: string, help: string, read: (scrape: Scrape) => readonly Sample[]): void;
  /** A counter whose value another component counts. */
  total(name: string, help: string, read: (scrape: Scrape) => readonly Sample[]): void;
  /** Returns the Prometheus text exposition format. */
  render(): string;
}

/** Identity of one scrape: what several gauges need is computed once for it. */
export type Scrape = object;

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels?: Labels, by?: number): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
  /** Exports the series before its first value, so that this value is an increase. */
  create(labels: Labels): void;
}

export interface Sample {
  labels?: Labels;
  value: number;
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function createMetrics(): Metrics {
  const families: { name: string; type: string; help: string; lines: (scrape: Scrape) => string[] }[] = [];
  const readBy =
    (type: string) =>
    (name: string, help: string, read: (scrape: Scrape) => readonly Sample[]): void => {
      const lines = (scrape: Scrape) =>
        read(scrape).map(({ labels = {}, value }) => `${name}${labelsText(labels)} ${value}`);
      families.push({ name, type, help, lines });
    };
  return {
    counter(name, help) {
      const series = new Map<string, number>();
      const lines = () => [...series].map(([labels, value]) => `${name}${labels} ${value}`);
      families.push({ name, type: 'counter', help, lines });
      return {
        add: (labels = NO_LABELS, by = 1) => {
          const key = labelsText(labels);
          series.set(key, (series.get(key) ?? 0) + by);
        },
      };
    },
    histogram(name, help, buckets) {
      const series = new Map<string, Series>();
      const lines = () => [...series.values()].flatMap((each) => histogramLines(name, buckets, each));
      families.push({ name, type: 'histogram', help, lines });
      return {
        observe: (value, labels = NO_LABELS) => observe(seriesOf(series, buckets, labels), buckets, value),
        create: (labels) => void seriesOf(series, buckets, labels),
      };
    },
    gauge: readBy('gauge'),
    total: readBy('counter'),
    render: () => {
      const scrape: Scrape = {};
      return (
        families
          .flatMap(({ name, type, help, lines }) => [
            `# HELP ${name} ${help}`,
            `# TYPE ${name} ${type}`,
            ...lines(scrape),
          ])
          .join('\n') + '\n'
      );
    },
  };
}

function seriesOf(known: Map<string, Series>, buckets: readonly number[], labels: Labels): Series {
  const key = labelsText(labels);
  let series = known.get(key);
  if (series === undefined) {
    series = { labels, counts: buckets.map(() => 0), sum: 0, count: 0 };
    known.set(key, series);
  }
  return series;
}

function observe(series: Series, buckets: readonly number[], value: number): void {
  let bucket = 0;
  while (bucket < buckets.length && !(value <= (buckets[bucket] ?? Infinity))) bucket += 1;
  if (bucket < buckets.length) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
  series.sum += value;
  series.count += 1;
}

interface Series {
  labels: Labels;
  /** Number of values per bucket, without the values of smaller buckets. */
  counts: number[];
  sum: number;
  count: number;
}

function histogramLines(
  name: string,
  buckets: readonly number[],
  { labels, counts, sum, count }: Series,
): string[] {
  const bucket = (le: string, value: number) => `${name}_bucket${labelsText({ ...labels, le })} ${value}`;
  let below = 0;
  return [
    ...buckets.map((bound, index) => bucket(String(bound), (below += counts[index] ?? 0))),
    bucket('+Inf', count),
    `${name}_sum${labelsText(labels)} ${sum}`,
    `${name}_count${labelsText(labels)} ${count}`,
  ];
}

const NO_LABELS: Labels = {};

function labelsText(labels: Labels): string {
  if (labels === NO_LABELS) return '';
  let pairs = '';
  for (const name of Object.keys(labels))
    pairs += `${pairs === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`;
  return pairs === '' ? '' : `{${pairs}}`;
}

function escaped(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
