import type { InstanceStatus } from '../../core/shapes/instance.ts';
import { dayOf } from '../../core/usage/day-totals.ts';
import { formatNumber, formatUsd, NO_VALUE } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { now } from '../parts/clock.ts';
import { DataTable, type Column } from '../parts/data-table.tsx';
import { PhaseBadge } from '../parts/phase-badge.tsx';
import type { TabProps } from './types.ts';

/** The processes of the agent. */
export function InstancesTab({ detail: { status } }: TabProps) {
  const { instances = [], unlistedCount = 0, reportedBy } = status;
  const today = dayOf(now.value);
  return (
    <Card title="Instances">
      {unlistedCount > 0 && (
        <p class="intro">
          {formatNumber(unlistedCount)} further instances are counted in the totals. The worst{' '}
          {formatNumber(instances.length)} are listed.
        </p>
      )}
      <DataTable
        caption="Instances"
        rows={instances}
        rowKey={({ name }) => name}
        empty="No instance has sent a heartbeat."
        columns={columnsFor(today, reportedBy)}
      />
    </Card>
  );
}

function columnsFor(today: string, reportedBy: string | undefined): Column<InstanceStatus>[] {
  const ofToday = ({ day }: InstanceStatus, value: number): number => (day === today ? value : 0);
  return [
    {
      title: 'Instance',
      render: ({ name }) => (
        <>
          <code>{name}</code> {name === reportedBy && <span class="note-tag">report shown</span>}
        </>
      ),
    },
    { title: 'Phase', render: ({ phase }) => <PhaseBadge phase={phase} /> },
    { title: 'Score', numeric: true, render: ({ score }) => formatNumber(score) },
    { title: 'Last heartbeat', render: ({ lastHeartbeat }) => <Ago time={lastHeartbeat} /> },
    { title: 'Version', render: ({ sidecarVersion }) => sidecarVersion ?? NO_VALUE },
    { title: 'Tokens today', numeric: true, render: (row) => formatNumber(ofToday(row, row.tokensToday)) },
    {
      title: 'Cost today',
      numeric: true,
      // Without prices in the manifest the cost is 0.
      render: (row) => (row.costTodayUsd > 0 ? formatUsd(ofToday(row, row.costTodayUsd)) : NO_VALUE),
    },
    { title: 'Violations', numeric: true, render: ({ violations }) => formatNumber(violations) },
    { title: 'Started', render: ({ startedAt }) => <Ago time={startedAt} /> },
  ];
}
