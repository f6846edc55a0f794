import type { ComponentChildren } from 'preact';
import { AgentLink, SeverityTag } from '../agent/links.tsx';
import type { RuleState } from '../../core/shapes/rule-state.ts';
import { formatNumber, NO_VALUE } from '../format.ts';
import { Card } from '../parts/card.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { titleOf } from './rule-list.ts';

export interface RuleDetailProps {
  rule: RuleState;
  /** The id in the address: the id of the rule, or the property of an issue. */
  searched: string;
  /** Link to all rules. */
  back: ComponentChildren;
}

/** One rule: what it means, who fails it, and who suppresses it. */
export function RuleDetail({ rule, searched, back }: RuleDetailProps) {
  const { id, kind, title, severity, points, meaning, remedy } = rule;
  return (
    <>
      <header>
        <p>{back}</p>
        <h1>{id}</h1>
        {searched !== id && (
          <p class="muted">
            The rule of the issue <code>{searched}</code>
          </p>
        )}
        <p class="intro">
          {title} <SeverityTag severity={severity} />
        </p>
      </header>
      <Card title="Meaning">
        <p>{meaning}</p>
        <p class="muted">
          {titleOf(rule)}.{' '}
          {kind === 'gap'
            ? `It costs up to ${points} points of the gap score.`
            : `Weight ${points} in the compliance scores.`}
        </p>
      </Card>
      <Card title="Remedy">
        <p>{remedy}</p>
      </Card>
      <Failing rule={rule} />
      <Suppressed rule={rule} />
    </>
  );
}

function Failing({ rule: { failing, failingCount } }: { rule: RuleState }) {
  return (
    <Card title={`Failing agents: ${formatNumber(failingCount)}`}>
      {failing.length < failingCount && (
        <p class="intro">The first {formatNumber(failing.length)} agents are listed.</p>
      )}
      {failing.length === 0 && <p class="muted">No agent fails this rule.</p>}
      <ul class="agent-list">
        {failing.map((agent) => (
          <li key={`${agent.namespace}/${agent.agentName}`}>
            <AgentLink {...agent} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Suppressed({ rule: { suppressed, suppressedCount } }: { rule: RuleState }) {
  return (
    <Card title={`Suppressions: ${formatNumber(suppressedCount)}`}>
      <DataTable
        caption="Suppressions"
        rows={suppressed}
        rowKey={({ namespace, agentName, reason }) => `${namespace}/${agentName} ${reason}`}
        empty="No agent suppresses this rule."
        columns={[
          { title: 'Agent', render: (row) => <AgentLink {...row} /> },
          { title: 'Reason', render: ({ reason }) => reason },
          { title: 'Approved by', render: ({ approvedBy }) => approvedBy ?? NO_VALUE },
          { title: 'Expires', render: ({ expires }) => expires ?? 'never' },
          {
            title: 'State',
            render: ({ state }) => (
              <span class={`note-tag ${state === 'active' ? '' : 'is-bad'}`}>{state}</span>
            ),
          },
        ]}
      />
    </Card>
  );
}
