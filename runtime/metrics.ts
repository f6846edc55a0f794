/** Prometheus metrics of one process: counters and histograms that code raises, gauges that are read when somebody asks. */
export interface Metrics {
  counter(name: string, help: string): Counter;
  /** `buckets`: upper bounds, rising; seconds for durations. */
  histogram(name: string, help: string, buckets: readonly number[]): Histogram;
  gauge(name: string, help: string, read: () => readonly Sample[]): void;
  /** The text exposition format. */
  render(): string;
}

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels?: Labels, by?: number): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

export interface Sample {
  labels?: Labels;
  value: number;
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function createMetrics(): Metrics {
  const families: { name: string; type: string; help: string; lines: () => string[] }[] = [];
  return {
    counter(name, help) {
      const series = new Map<string, number>();
      const lines = () => [...series].map(([labels, value]) => `${name}${labels} ${value}`);
      families.push({ name, type: 'counter', help, lines });
      return {
        add: (labels = {}, by = 1) => {
          const key = labelsText(labels);
          series.set(key, (series.get(key) ?? 0) + by);
        },
      };
    },
    histogram(name, help, buckets) {
      const series = new Map<string, { labels: Labels; counts: number[]; sum: number; count: number }>();
      const lines = () => [...series.values()].flatMap((each) => histogramLines(name, buckets, each));
      families.push({ name, type: 'histogram', help, lines });
      return {
        observe: (value, labels = {}) => {
          const key = labelsText(labels);
          const one = series.get(key) ?? { labels, counts: buckets.map(() => 0), sum: 0, count: 0 };
          series.set(key, one);
          buckets.forEach((bound, index) => {
            if (value <= bound) one.counts[index] = (one.counts[index] ?? 0) + 1;
          });
          one.sum += value;
          one.count += 1;
        },
      };
    },
    gauge(name, help, read) {
      const lines = () => read().map(({ labels = {}, value }) => `${name}${labelsText(labels)} ${value}`);
      families.push({ name, type: 'gauge', help, lines });
    },
    render: () =>
      families
        .flatMap(({ name, type, help, lines }) => [
          `# HELP ${name} ${help}`,
          `# TYPE ${name} ${type}`,
          ...lines(),
        ])
        .join('\n') + '\n',
  };
}

function histogramLines(
  name: string,
  buckets: readonly number[],
  series: { labels: Labels; counts: readonly number[]; sum: number; count: number },
): string[] {
  const { labels, counts, sum, count } = series;
  const bucket = (le: string, value: number) => `${name}_bucket${labelsText({ ...labels, le })} ${value}`;
  return [
    ...buckets.map((bound, index) => bucket(String(bound), counts[index] ?? 0)),
    bucket('+Inf', count),
    `${name}_sum${labelsText(labels)} ${sum}`,
    `${name}_count${labelsText(labels)} ${count}`,
  ];
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
