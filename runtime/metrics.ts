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
      const bounds = [...buckets, Infinity];
      const all = new Map<string, Series>();
      const seriesOf = (labels: Labels): Series => {
        const key = labelsText(labels);
        let series = all.get(key);
        if (series === undefined) all.set(key, (series = { labels, counts: bounds.map(() => 0), sum: 0 }));
        return series;
      };
      const lines = () => [...all.values()].flatMap((each) => histogramLines(name, bounds, each));
      families.push({ name, type: 'histogram', help, lines });
      return {
        observe: (value, labels = NO_LABELS) => {
          if (Number.isNaN(value)) return;
          const series = seriesOf(labels);
          const bucket = bounds.findIndex((bound) => value <= bound);
          series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
          series.sum += value;
        },
        create: (labels) => void seriesOf(labels),
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

interface Series {
  labels: Labels;
  /** Number of values per bucket, without the values of smaller buckets. */
  counts: number[];
  sum: number;
}

function histogramLines(name: string, bounds: readonly number[], { labels, counts, sum }: Series): string[] {
  let count = 0;
  const buckets = bounds.map((bound, index) => {
    const le = bound === Infinity ? '+Inf' : String(bound);
    return `${name}_bucket${labelsText({ ...labels, le })} ${(count += counts[index] ?? 0)}`;
  });
  const text = labelsText(labels);
  return [...buckets, `${name}_sum${text} ${sum}`, `${name}_count${text} ${count}`];
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
