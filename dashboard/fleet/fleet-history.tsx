import { useMemo, useState } from 'preact/hooks';
import type { FleetHistory as History, FleetPoint } from '../../core/shapes/history.ts';
import { useResource } from '../api/resource.ts';
import type { ChartSeries } from '../chart/chart-data.ts';
import { Chart } from '../chart/chart.tsx';
import { formatUsd } from '../format.ts';
import { Failure } from '../parts/failure.tsx';
import { Loading } from '../parts/loading.tsx';
import { me } from '../session.ts';
import { filters } from './view.ts';

const REFRESH_MS = 5 * 60_000;

/** Charts of all agents, or of one namespace. The other filters do not apply, because the store keeps no history for them. */
export function FleetHistory() {
  // On a phone the table is more important.
  const [isOpen, setOpen] = useState(() => matchMedia('(min-width: 60rem)').matches);
  const { namespace } = filters.value;
  return (
    <details
      class="card fleet-history"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <h2>Last 24 hours{namespace === null ? '' : ` in ${namespace}`}</h2>
      </summary>
      {isOpen &&
        (namespace === null && me.value !== null && me.value.can.read !== '*' ? (
          <p class="muted">
            Select a namespace to see its charts. The charts of all agents need the right to read every
            namespace.
          </p>
        ) : (
          <Charts namespace={namespace} />
        ))}
    </details>
  );
}

function Charts({ namespace }: { namespace: string | null }) {
  const query = namespace === null ? '' : `&namespace=${encodeURIComponent(namespace)}`;
  const { data, error, reload } = useResource<History>(`/api/v1/history?step=hour${query}`, {
    refreshMs: REFRESH_MS,
  });
  const series = useMemo(() => (data === null ? null : seriesOf(data)), [data]);
  if (series === null)
    return error === null ? <Loading what="history" /> : <Failure error={error} retry={reload} />;
  const common = { times: series.times, range: series.range, isCompact: true };
  return (
    <div class="fleet-charts">
      <Chart title="Mean score" unit="points" max={100} series={series.score} {...common} />
      <Chart title="Tokens per hour" unit="tokens" series={series.tokens} {...common} />
      {series.hasCost && (
        <Chart title="Cost per hour" unit="USD" series={series.cost} format={formatUsd} {...common} />
      )}
      <Chart title="Requests denied or failed open" unit="requests" series={series.outcomes} {...common} />
    </div>
  );
}

interface FleetSeries {
  times: number[];
  range: [from: number, to: number];
  score: ChartSeries[];
  tokens: ChartSeries[];
  cost: ChartSeries[];
  outcomes: ChartSeries[];
  hasCost: boolean;
}

function seriesOf({ points, from, to }: History): FleetSeries {
  const line = (name: string, color: string, of: (point: FleetPoint) => number): ChartSeries => ({
    name,
    color,
    kind: 'line',
    values: points.map(of),
  });
  const bars = (...given: Parameters<typeof line>): ChartSeries => ({ ...line(...given), kind: 'bars' });
  return {
    times: points.map(({ at }) => Date.parse(at)),
    range: [Date.parse(from), Date.parse(to)],
    score: [line('Mean score', '--color-series-1', ({ score }) => score)],
    tokens: [bars('Tokens', '--color-series-1', ({ tokens }) => tokens)],
    cost: [bars('Cost', '--color-series-3', ({ costUsd }) => costUsd)],
    outcomes: [
      line('Denied', '--color-series-5', ({ outcomes }) => outcomes.deny),
      { ...line('Failed open', '--color-series-2', ({ outcomes }) => outcomes.failOpen), isDashed: true },
    ],
    hasCost: points.some(({ costUsd }) => costUsd > 0),
  };
}
