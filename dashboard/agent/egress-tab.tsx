import type { JSX } from 'preact';
import type { EgressSummary } from '../../core/egress/summary.ts';
import { formatNumber, NO_VALUE } from '../format.ts';
import { Card } from '../parts/card.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Empty } from '../parts/empty.tsx';
import { Facts } from '../parts/facts.tsx';
import { egressRows, type EgressRow } from './egress-rows.ts';
import { RuleLink } from './links.tsx';
import { Prose } from './prose.tsx';
import { sidecarCommand } from './sidecar-command.ts';
import type { TabProps } from './types.ts';

const READ = `curl -s 'localhost:4001/explore?view=matrix' | jq '.rows[]'`;

/** What the agent calls, as the lanes and the census of one instance observed it, next to manifest and report. */
export function EgressTab({ detail }: TabProps): JSX.Element {
  const { source, namespace, status } = detail;
  const { egress, issues = [], reportedBy } = status;
  if (egress === undefined)
    return (
      <Empty title="The outgoing calls of this agent are not observed">
        <p>
          Its sidecar has neither an egress lane nor a census. Name the vendors of its models in the pod
          annotation <code>platform.io/egress-lanes</code>, or start the agent with <code>platform run</code>.
        </p>
      </Empty>
    );
  return (
    <>
      <p class="intro">
        Observed in the last 24 hours{reportedBy !== undefined && ` by the sidecar of instance ${reportedBy}`}
        .
      </p>
      <Card title="Declared, reported, observed">
        <Facts
          items={[
            { label: 'Undeclared', value: formatNumber(egress.undeclared), note: 'observed, not declared' },
            { label: 'Never seen', value: formatNumber(egress.neverSeen), note: 'declared, not observed' },
            {
              label: 'Misreported',
              value: formatNumber(egress.misreported),
              note: 'reported differently than observed',
            },
          ]}
        />
        <Differences rows={egressRows(egress, issues)} />
        <p>The sidecar has all rows, also of items that match:</p>
        <CodeBlock
          text={sidecarCommand({ source, namespace, pod: reportedBy }, READ)}
          label="Command to read the matrix"
        />
      </Card>
      <Card title="Outgoing calls">
        <Facts items={callsOf(egress)} />
      </Card>
    </>
  );
}

function Differences({ rows }: { rows: readonly EgressRow[] }): JSX.Element {
  return (
    <DataTable
      caption="Differences between manifest, report and observation"
      rows={rows}
      rowKey={({ item, rule }) => `${item} ${rule ?? ''}`}
      empty="No difference has an issue."
      columns={[
        { key: 'item', title: 'Item', width: '20%', render: ({ item }) => <code>{item}</code> },
        {
          key: 'verdict',
          title: 'Verdict',
          width: '14%',
          render: ({ verdict }) => (
            <span class={`note-tag ${verdict === 'undeclared' ? 'is-bad' : 'is-warn'}`}>{verdict}</span>
          ),
        },
        {
          key: 'description',
          title: 'Observation',
          width: '36%',
          render: ({ description, rule }) => (
            <>
              <p>{description}</p>
              {rule !== null && <RuleLink id={rule} />}
            </>
          ),
        },
        { key: 'remedy', title: 'Fix', width: '30%', render: ({ remedy }) => <Prose text={remedy} /> },
      ]}
    />
  );
}

function callsOf({
  lanes,
  calls,
  models,
  tools,
  unseenEgress,
  unexplainedOpens,
}: EgressSummary): Parameters<typeof Facts>[0]['items'] {
  const census = unseenEgress === undefined ? 'no census' : undefined;
  return [
    { label: 'Lanes', value: namesOf(lanes) },
    { label: 'Calls of models', value: formatNumber(calls) },
    { label: 'Models', value: namesOf(models), note: 'most calls first' },
    { label: 'Tools called', value: namesOf(tools), note: 'most calls first' },
    {
      label: 'Unseen egress',
      value: formatNumber(unseenEgress ?? null),
      note: census ?? 'addresses that nothing explains',
    },
    {
      label: 'Unexplained connections',
      value: formatNumber(unexplainedOpens ?? null),
      note: census ?? 'too short to see their address',
    },
  ];
}

const namesOf = (names: readonly string[]): string => (names.length === 0 ? NO_VALUE : names.join(', '));
