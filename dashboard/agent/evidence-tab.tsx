import type { Check } from '../../core/shapes/health.ts';
import { formatNumber, formatPercent } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Empty } from '../parts/empty.tsx';
import { groupEvidence, TIER_TEXTS, type EvidenceGroup, type EvidenceRow } from './evidence-groups.ts';
import { RuleLink } from './links.tsx';
import { Prose } from './prose.tsx';
import type { TabProps } from './types.ts';

/** What the manifest declares, next to what is reported and to the evidence for it. */
export function EvidenceTab({ detail: { status } }: TabProps) {
  const { evidence, checks = [], issues = [], reportedBy } = status;
  if (evidence === undefined)
    return (
      <Empty title="The agent reports no evidence">
        <p>
          Its sidecar or reporter is of an older version. Replace its pods to inject the current sidecar, or
          update the reporter.
        </p>
      </Empty>
    );
  const { percent, shown, declared, reported, items } = evidence;
  return (
    <>
      <p class="intro">
        <strong>{formatPercent(percent / 100)}</strong>: evidence for {formatNumber(shown)} of{' '}
        {formatNumber(declared)} declared items in the last 24 hours. Items that only the agent reports count
        half
        {reported > 0 && ` (${formatNumber(reported)} of them)`}.
        {items.length < declared &&
          ` The list has ${formatNumber(items.length)} items${reportedBy === undefined ? '' : `, from instance ${reportedBy}`}.`}
      </p>
      {groupEvidence(items, checks, issues).map((group) => (
        <Card
          key={group.kind}
          title={group.title}
          actions={`${formatNumber(group.shown)} of ${formatNumber(group.rows.length)} with evidence`}
        >
          <Items group={group} />
        </Card>
      ))}
    </>
  );
}

function Items({ group: { title, rows } }: { group: EvidenceGroup }) {
  return (
    <DataTable
      caption={`${title}: declared and reported`}
      rows={rows}
      rowKey={({ item }) => item.name}
      columns={[
        { title: 'Declared', width: '22%', render: ({ item }) => <code>{item.name}</code> },
        { title: 'Reported', width: '30%', render: (row) => <Reported row={row} /> },
        { title: 'Evidence', width: '34%', render: ({ item }) => <Tier item={item} /> },
        { title: 'Last seen', width: '14%', render: ({ item }) => <Ago time={item.lastSeen ?? null} /> },
      ]}
    />
  );
}

/** The result of a check by word and color. */
export function CheckStatusTag({ check: { status } }: { check: Check }) {
  const text = { pass: 'Passed', fail: 'Failed', skip: 'Skipped' }[status];
  return <span class={`note-tag check-${status}`}>{text}</span>;
}

function Reported({ row: { check, issue } }: { row: EvidenceRow }) {
  return (
    <>
      {check !== null && <CheckStatusTag check={check} />}
      {check?.message !== undefined && <p>{check.message}</p>}
      {issue !== null && (
        <p>
          {issue.description} <RuleLink id={issue.property} />
        </p>
      )}
      {check === null && issue === null && <span class="muted">nothing</span>}
    </>
  );
}

function Tier({ item: { tier, shownBy, contradictedBy } }: { item: EvidenceRow['item'] }) {
  return (
    <>
      <span class={`note-tag tier-${tier}`}>{TIER_TEXTS[tier]}</span>
      {shownBy !== undefined && (
        <p>
          <Prose text={shownBy} />
        </p>
      )}
      {contradictedBy !== undefined && (
        <p class="contradicted">
          <strong>Contradicted:</strong> {contradictedBy}
        </p>
      )}
    </>
  );
}
