import type { Check } from '../../core/shapes/health.ts';
import { formatNumber, NO_VALUE } from '../format.ts';
import { Card } from '../parts/card.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Empty } from '../parts/empty.tsx';
import { CheckStatusTag } from './evidence-tab.tsx';
import { sortChecks } from './sort-checks.ts';
import type { TabProps } from './types.ts';

/** The checks of the shown report, failures first. */
export function ChecksTab({ detail: { status } }: TabProps) {
  const { checks = [], reportedBy } = status;
  const count = (wanted: Check['status']): string =>
    formatNumber(checks.filter((check) => check.status === wanted).length);
  if (checks.length === 0)
    return (
      <Empty title="There are no checks yet">
        <p>Checks come with the first heartbeat of the agent.</p>
      </Empty>
    );
  return (
    <Card title="Checks">
      <p class="intro">
        {count('fail')} failed, {count('skip')} skipped, {count('pass')} passed.{' '}
        {reportedBy !== undefined && (
          <>
            Report of instance <code>{reportedBy}</code>.
          </>
        )}
        {checks.length >= MAX_CHECKS && ` The list has the worst ${MAX_CHECKS} checks.`}
      </p>
      <DataTable
        caption="Checks, failures first"
        rows={sortChecks(checks)}
        rowKey={({ id }) => id}
        columns={[
          { title: 'Status', render: (check) => <CheckStatusTag check={check} /> },
          { title: 'Check', render: ({ id }) => <code>{id}</code> },
          { title: 'Severity', render: ({ severity }) => severity },
          { title: 'Latency', numeric: true, render: ({ latencyMs }) => latencyText(latencyMs) },
          {
            title: 'Message and remedy',
            render: ({ message, remediation }) => (
              <>
                {message !== undefined && <p>{message}</p>}
                {remediation !== undefined && (
                  <p class="lost-remedy">
                    <strong>Fix:</strong> {remediation}
                  </p>
                )}
              </>
            ),
          },
        ]}
      />
    </Card>
  );
}

/** Most checks in a status (CRD). */
const MAX_CHECKS = 100;

function latencyText(latencyMs: number | undefined): string {
  return latencyMs === undefined ? NO_VALUE : `${formatNumber(Math.round(latencyMs))} ms`;
}
