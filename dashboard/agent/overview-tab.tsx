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
  const today = status.tokens && 'since 00:00 UTC';
  const hash = manifestHash && <code title={manifestHash}>{hashText(manifestHash)}</code>;
  const declared =
    evidence && `${formatNumber(evidence.shown)} of ${formatNumber(evidence.declared)} declared items`;
  return [
    ['Tokens today', formatNumber(status.tokens === undefined ? null : tokens), today],
    costUsd > 0
      ? ['Cost today', formatUsd(costUsd), today]
      : ['Cost today', NO_VALUE, status.tokens && 'the manifest has no prices'],
    ['Evidence', evidence === undefined ? NO_VALUE : formatPercent(evidence.percent / 100), declared],
    ['Model', model === undefined ? NO_VALUE : `${model.provider}/${model.id}`],
    ['Policy mode', policyMode ?? NO_VALUE],
    ['Instances', formatNumber(instanceCount ?? 0)],
    ['Runtime', `${runtime}, ${source === 'remote' ? 'registered' : 'sidecar'}`],
    ['Manifest', hash ?? NO_VALUE],
    ['Agent id', <code>{agentId}</code>],
    ['Last heartbeat', <Ago time={lastSeen} />],
    ...(worst !== undefined && worst.score < (status.score ?? 0)
      ? [['Worst of 24 hours', `${worst.grade} ${worst.score}`, <Ago time={worst.at} />] as const]
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
          ['Declared score', formatNumber(declared), 'what the manifest states'],
          ['Proved score', formatNumber(proved), 'what evidence and proofs show'],
        ]}
      />
      {failed.length === 0 ? <p>No rule is violated.</p> : <h3>Violated rules</h3>}
      <ul class="rule-list wrap">
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
