import { useMemo, useState } from 'preact/hooks';
import type { AgentHistory } from '../../core/shapes/history.ts';
import { useResource } from '../api/resource.ts';
import { Chart } from '../chart/chart.tsx';
import { formatTime, formatUsd } from '../format.ts';
import {
  changeText,
  historySeries,
  marksOf,
  momentsOf,
  queryOf,
  RANGES,
  type HistorySeries,
  type RangeId,
} from '../history/history-series.ts';
import { Card } from '../parts/card.tsx';
import { now } from '../parts/clock.ts';
import { DataTable } from '../parts/data-table.tsx';
import { Empty } from '../parts/empty.tsx';
import { useChange } from '../parts/use-change.ts';
import { agentPath } from './agent-path.ts';
import { Loaded } from './loaded.tsx';
import type { TabProps } from './types.ts';

/** Score, tokens, cost and outcomes over time, with the moments of change. */
export function HistoryTab({ detail }: TabProps) {
  const [range, setRange] = useState<RangeId>('heartbeats');
  const path = agentPath(detail, '/history', queryOf(range, now.value));
  const history = useResource<AgentHistory>(path);
  useChange(detail.lastSeen, history.reload);
  if (history.error?.kind === 'not-supported')
    return (
      <Empty title="This control plane keeps no history">
        <p class="sentence">{history.error.detail}. History begins with the first heartbeat after that.</p>
      </Empty>
    );
  return (
    <>
      <fieldset class="ranges wrap">
        <legend>Time range</legend>
        {RANGES.map(({ id, title }) => (
          <label key={id}>
            <input
              type="radio"
              name="range"
              value={id}
              checked={id === range}
              onChange={() => setRange(id)}
            />
            {title}
          </label>
        ))}
      </fieldset>
      <Loaded resource={history} what="history data">
        {(data) => <Charts history={data} />}
      </Loaded>
    </>
  );
}

function Charts({ history }: { history: AgentHistory }) {
  const { series, marks, moments } = useMemo(() => {
    const all = momentsOf(history.changes);
    return { series: historySeries(history), marks: marksOf(all), moments: all.toReversed() };
  }, [history]);
  const lines = useMemo(() => linesOf(series), [series]);
  const { times } = series;
  if (times.length === 0 && marks.length === 0)
    return (
      <Empty title="The agent sent no heartbeat in this time range">
        <p>Select a longer range.</p>
      </Empty>
    );
  const further = { times, marks, hasMarkLabels: false };
  return (
    <>
      <Card title="Score and use">
        <Chart title="Score" unit="points" max={100} series={lines.score} {...{ times, marks }} />
        <Chart title="Tokens" unit="tokens" series={lines.tokens} {...further} />
        {series.hasCost && (
          <Chart title="Cost" unit="USD" format={formatUsd} series={lines.cost} {...further} />
        )}
        <Chart title="Requests" unit="requests" series={lines.requests} {...further} />
      </Card>
      <Card title="Moments of change">
        <DataTable
          caption="Moments of change, newest first"
          rows={moments}
          rowKey={({ at }) => String(at)}
          empty="Nothing changed in this time range."
          columns={[
            { title: 'Time', width: '16rem', render: ({ at }) => formatTime(new Date(at).toISOString()) },
            { title: 'Change', render: ({ changes }) => changes.map(changeText).join(', ') },
          ]}
        />
      </Card>
    </>
  );
}

type Lines = Record<'score' | 'tokens' | 'cost' | 'requests', Parameters<typeof Chart>[0]['series']>;

/** The series of each chart. Lines of one chart differ in color and dashes. */
function linesOf(series: HistorySeries): Lines {
  const line = { kind: 'line' } as const;
  const dashed = { kind: 'line', isDashed: true } as const;
  const spread = [
    { ...dashed, name: 'Lowest', values: series.scoreMin, color: '--color-series-5' },
    { ...dashed, name: 'Highest', values: series.scoreMax, color: '--color-series-3' },
  ];
  return {
    score: [
      // The last one is drawn above the others.
      ...(series.hasSpread ? spread : []),
      { ...line, name: 'Score', values: series.score, color: '--color-series-1' },
    ],
    tokens: [{ kind: 'bars', name: 'Tokens', values: series.tokens, color: '--color-series-1' }],
    cost: [{ kind: 'bars', name: 'Cost', values: series.costUsd, color: '--color-series-3' }],
    requests: [
      { ...line, name: 'Allowed', values: series.allow, color: '--color-series-3' },
      { ...line, name: 'Denied', values: series.deny, color: '--color-series-5' },
      { ...dashed, name: 'Failed open', values: series.failOpen, color: '--color-series-2' },
      { ...dashed, name: 'Not evaluated', values: series.notEvaluated, color: '--color-series-4' },
    ],
  };
}
