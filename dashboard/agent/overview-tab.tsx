import type { AuditSummary } from '../../core/shapes/audit.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import type { Drift } from '../../core/shapes/drift.ts';
import { usedToday } from '../../core/observation/tokens.ts';
import { formatNumber, formatPercent, formatUsd, NO_VALUE, withLocalTimes } from '../format.ts';
import { hashText } from '../history/history-series.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { now } from '../parts/clock.ts';
import { ConditionBadge } from '../parts/condition-badge.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Facts, type Fact } from '../parts/facts.tsx';
import { RuleLink } from './links.tsx';
import { OrganisationCard } from './organisation-card.tsx';
import { ScoreCard } from './score-card.tsx';
import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import type { TabProps } from './types.ts';

/** Why the agent has its grade, its state, its conditions and its compliance rules. */
export function OverviewTab({ detail }: TabProps) {
  const { conditions = [], drift = [], audit } = detail.status;
  return (
    <>
      <ScoreCard detail={detail} />
      <Card title="State">
        <Facts items={factsOf(detail)} />
      </Card>
      <Card title="Conditions">
        <Conditions conditions={conditions} />
      </Card>
      <OrganisationCard detail={detail} />
      {drift.length > 0 && (
        <Card title="Drift">
          <DriftTable drift={drift} />
        </Card>
      )}
      {audit !== undefined && <Compliance audit={audit} />}
    </>
  );
}

function factsOf({ status, runtime, source, agentId, lastSeen }: AgentDetail): Fact[] {
  const { tokens, costUsd } = usedToday(status, now.value);
  const { evidence, model, manifestHash, policyMode, instanceCount, worst: [worst] = [] } = status;
  return [
    {
      label: 'Tokens today',
      value: formatNumber(status.tokens === undefined ? null : tokens),
      note: status.tokens && 'since 00:00 UTC',
    },
    {
      label: 'Cost today',
      value: costUsd > 0 ? formatUsd(costUsd) : NO_VALUE,
      note: status.tokens && (costUsd > 0 ? 'since 00:00 UTC' : 'the manifest has no prices'),
    },
    {
      label: 'Evidence',
      value: evidence === undefined ? NO_VALUE : formatPercent(evidence.percent / 100),
      note:
        evidence && `${formatNumber(evidence.shown)} of ${formatNumber(evidence.declared)} declared items`,
    },
    { label: 'Model', value: model === undefined ? NO_VALUE : `${model.provider}/${model.id}` },
    { label: 'Policy mode', value: policyMode ?? NO_VALUE },
    { label: 'Instances', value: formatNumber(instanceCount ?? 0) },
    { label: 'Runtime', value: `${runtime}, ${source === 'remote' ? 'registered' : 'sidecar'}` },
    {
      label: 'Manifest',
      value:
        manifestHash === undefined ? NO_VALUE : <code title={manifestHash}>{hashText(manifestHash)}</code>,
    },
    { label: 'Agent id', value: <code>{agentId}</code> },
    { label: 'Last heartbeat', value: <Ago time={lastSeen} /> },
    ...(worst !== undefined && worst.score < (status.score ?? 0)
      ? [
          {
            label: 'Worst of 24 hours',
            value: `${worst.grade} ${worst.score}`,
            note: <Ago time={worst.at} />,
          },
        ]
      : []),
  ];
}

function Conditions({ conditions }: { conditions: readonly Condition[] }) {
  return (
    <DataTable
      caption="Conditions"
      rows={conditions}
      rowKey={({ type }) => type}
      empty="No condition is known yet."
      columns={[
        { title: 'Condition', render: ({ type }) => type },
        { title: 'Status', render: (condition) => <ConditionBadge {...condition} /> },
        { title: 'Reason', render: ({ reason }) => reason },
        { title: 'Message', render: ({ message }) => withLocalTimes(message) },
        { title: 'Since', render: ({ lastTransitionTime }) => <Ago time={lastTransitionTime} /> },
      ]}
    />
  );
}

function DriftTable({ drift }: { drift: readonly Drift[] }) {
  return (
    <DataTable
      caption="Pods that do not match the current installation"
      rows={drift}
      rowKey={({ reason }) => reason}
      columns={[
        { title: 'Reason', render: ({ reason }) => reason },
        { title: 'Pods', numeric: true, render: ({ pods }) => formatNumber(pods) },
        { title: 'Example', render: ({ example }) => <code>{example}</code> },
      ]}
    />
  );
}

function Compliance({ audit }: { audit: AuditSummary }) {
  const { declared, proved, failed, suppressions } = audit;
  return (
    <Card title="Compliance rules">
      <Facts
        items={[
          { label: 'Declared score', value: formatNumber(declared), note: 'what the manifest states' },
          { label: 'Proved score', value: formatNumber(proved), note: 'what evidence and proofs show' },
        ]}
      />
      {failed.length === 0 ? <p>No rule is violated.</p> : <h3>Violated rules</h3>}
      <ul class="rule-list">
        {failed.map((id) => (
          <li key={id}>
            <RuleLink id={id} />
          </li>
        ))}
      </ul>
      {suppressions.length > 0 && (
        <DataTable
          caption="Suppressed rules"
          rows={suppressions}
          rowKey={({ rule, reason }) => `${rule} ${reason}`}
          columns={[
            { title: 'Suppressed rule', render: ({ rule }) => <RuleLink id={rule} /> },
            { title: 'State', render: ({ state }) => state },
            { title: 'Reason', render: ({ reason }) => reason },
            { title: 'Expires', render: ({ expires }) => expires ?? 'never' },
          ]}
        />
      )}
    </Card>
  );
}
