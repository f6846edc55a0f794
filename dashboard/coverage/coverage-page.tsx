import { useRef, useState } from 'preact/hooks';
import type { CoverageReport } from '../../core/shapes/coverage.ts';
import { AgentLink } from '../agent/links.tsx';
import { Loaded } from '../agent/loaded.tsx';
import { REFRESH_MS } from '../agent/types.ts';
import { useResource } from '../api/resource.ts';
import { EmptyFleet } from '../fleet/empty-fleet.tsx';
import { countText, formatNumber, withLocalTimes } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { Button } from '../parts/button.tsx';
import { Card } from '../parts/card.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Empty } from '../parts/empty.tsx';
import { groupGaps, withNamespaces, type CoverageGroup } from './coverage-groups.ts';

/** What the control plane cannot see: agents without a reporter, without a sidecar, silent ones and others. */
export function CoveragePage() {
  const [namespace, setNamespace] = useState('');
  const query = namespace === '' ? '' : `?${new URLSearchParams({ namespace }).toString()}`;
  const coverage = useResource<CoverageReport>(`/api/v1/coverage${query}`, { refreshMs: REFRESH_MS });
  const namespaces = useRef<readonly string[]>([]);
  namespaces.current = withNamespaces(namespaces.current, coverage.data?.gaps ?? []);
  return (
    <div class="detail-page">
      <header>
        <h1>What we cannot see</h1>
        <p class="intro">
          Agents whose behavior is not, or not completely, known here, with the reason and the remedy.
        </p>
      </header>
      {namespaces.current.length > 1 && (
        <label class="choice">
          Namespace
          <select value={namespace} onChange={(event) => setNamespace(event.currentTarget.value)}>
            <option value="">All namespaces</option>
            {namespaces.current.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      )}
      <Loaded resource={coverage} what="coverage data">
        {(data) => (data.agents === 0 && namespace === '' ? <EmptyFleet /> : <Gaps coverage={data} />)}
      </Loaded>
    </div>
  );
}

function Gaps({ coverage }: { coverage: CoverageReport }) {
  const { found, clear } = groupGaps(coverage);
  return (
    <>
      {found.length === 0 && <AllClear agents={coverage.agents} />}
      {found.map((group) => (
        <Group key={group.kind} group={group} />
      ))}
      {clear.length > 0 && found.length > 0 && (
        <Card title="Nothing found">
          <ul class="clear-list wrap">
            {clear.map(({ kind, title }) => (
              <li key={kind}>{title}</li>
            ))}
          </ul>
        </Card>
      )}
      <p class="muted">
        This page covers {countText(coverage.agents, 'agent')} that the control plane knows. Agents that were
        never registered and do not opt in to injection, requests that do not pass a sidecar, and behavior
        that responses do not report are not covered by any check. Computed{' '}
        <Ago time={coverage.generatedAt} />.
      </p>
    </>
  );
}

function AllClear({ agents }: { agents: number }) {
  return (
    <Empty title={`No blind spot found for ${countText(agents, 'agent')}`}>
      <p>
        All of them report, and no check of this page found a reason to doubt that their reports are complete.
        This does not prove that the agents do only what they declare: the grade and the evidence of each
        agent show how much is known.
      </p>
    </Empty>
  );
}

/** More rows are shown on request. */
const MAX_ROWS = 50;

function Group({ group: { title, explanation, count, gaps } }: { group: CoverageGroup }) {
  const [isWhole, setWhole] = useState(false);
  const rows = isWhole ? gaps : gaps.slice(0, MAX_ROWS);
  return (
    <Card title={title} actions={<span class="note-tag is-warn">{countText(count, 'agent')}</span>}>
      <p class="intro">{explanation}</p>
      <DataTable
        caption={title}
        rows={rows}
        rowKey={({ namespace, agentName }) => `${namespace}/${agentName}`}
        columns={[
          { title: 'Agent', width: '20%', render: (gap) => <AgentLink {...gap} /> },
          { title: 'Reason', width: '35%', render: ({ reason }) => withLocalTimes(reason) },
          { title: 'Remedy', width: '35%', render: ({ remedy }) => remedy },
          { title: 'Since', width: '10%', render: ({ since }) => <Ago time={since} /> },
        ]}
      />
      {rows.length < gaps.length && (
        <Button onClick={() => setWhole(true)}>Show {formatNumber(gaps.length)} rows</Button>
      )}
      {rows.length === gaps.length && gaps.length < count && (
        <p class="muted">The first {formatNumber(gaps.length)} agents are listed.</p>
      )}
    </Card>
  );
}
