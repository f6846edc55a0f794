import type { OrganisationReport, PolicyReport, RuleReport } from '../../core/shapes/organisation.ts';
import { AgentLink, SeverityTag } from '../agent/links.tsx';
import { Loaded } from '../agent/loaded.tsx';
import { Cut } from '../agent/organisation-card.tsx';
import { REFRESH_MS } from '../agent/types.ts';
import { useResource } from '../api/resource.ts';
import { countText, formatNumber, formatTime } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Empty } from '../parts/empty.tsx';

/** The rules of the organisation, the agents that break them, and the exceptions. */
export function OrganisationPage() {
  const report = useResource<OrganisationReport>('/api/v1/organisation', { refreshMs: REFRESH_MS });
  return (
    <div class="detail-page">
      <h1>Organisation rules</h1>
      <Loaded resource={report} what="organisation rules">
        {({ policies, invalid }) => (
          <>
            {policies.length + invalid.length === 0 && <NoRules />}
            {invalid.map(({ policy, reason }) => (
              <Card key={policy} title={policy} actions={<span class="note-tag is-bad">not applied</span>}>
                <p class="sentence">{reason}</p>
              </Card>
            ))}
            {policies.map((policy) => (
              <Policy key={policy.name} policy={policy} />
            ))}
          </>
        )}
      </Loaded>
    </div>
  );
}

const FIRST_POLICY = `apiVersion: platform.io/v1
kind: AgentPolicy
metadata: { name: production }
spec:
  rules: [{ id: tools, action: Audit, tools: { forbidden: ['shell*'] } }]`;

function NoRules() {
  return (
    <Empty title="No organisation rules yet">
      <p>
        They say what agents may declare and use. Begin with the action Audit, which only records, and change
        it to Deny when no agent breaks the rule:
      </p>
      <CodeBlock text={FIRST_POLICY} label="An AgentPolicy" />
      <p>
        Apply it with <code>kubectl apply</code>, or set <code>ORGANISATION_POLICIES</code> outside a cluster.
        The guide <code>docs/guide/organisation.md</code> has all checks.
      </p>
    </Empty>
  );
}

function Policy({ policy }: { policy: PolicyReport }) {
  const { name, agents, broken, notJudged, rules, exceptions } = policy;
  const counts = (
    <>
      {notJudged > 0 && <span class="note-tag is-warn">{formatNumber(notJudged)} not judged</span>}
      <span class={`note-tag ${broken > 0 ? 'is-bad' : ''}`}>
        {formatNumber(broken)} of {formatNumber(agents)} agents break a rule
      </span>
    </>
  );
  return (
    <Card title={name} actions={counts}>
      <DataTable
        caption={`Rules of ${name}`}
        rows={rules}
        rowKey={({ id }) => id}
        columns={[
          { title: 'Rule', width: '25%', render: (rule) => <RuleName rule={rule} /> },
          { title: 'Action', width: '35%', render: (rule) => <Action rule={rule} /> },
          { title: 'Broken by', width: '40%', render: (rule) => <Breaking rule={rule} /> },
        ]}
      />
      {exceptions.length > 0 && <h3>Exceptions</h3>}
      {exceptions.map(({ namespace, agents: names, rules: ids, reason, expires, state }) => (
        <p key={JSON.stringify([namespace, names, ids, reason, expires])}>
          <span class={`note-tag ${STATES[state][1]}`}>{STATES[state][0]}</span> {ids.join(', ')} for{' '}
          <code>{`${namespace}/${names?.join(', ') ?? '*'}`}</code> until {formatTime(expires)}: {reason}
        </p>
      ))}
    </Card>
  );
}

const STATES = {
  active: ['active', ''],
  ending: ['ends soon', 'is-warn'],
  expired: ['expired', 'is-bad'],
} as const;

function RuleName({ rule: { id, check, severity } }: { rule: RuleReport }) {
  return (
    <>
      <code>{id}</code> <SeverityTag severity={severity} />
      {check !== id && <p class="muted">check {check}</p>}
    </>
  );
}

function Action({ rule: { action, enforcedAt, wouldBlock } }: { rule: RuleReport }) {
  return (
    <>
      {action} <span class="muted">at {enforcedAt.join(', ')}</span>
      {wouldBlock !== null && <p>Would be blocked by Deny: {formatNumber(wouldBlock)}</p>}
    </>
  );
}

/** More agents are shown on request. */
const MAX_OPEN = 5;

function Breaking({ rule: { broken, agents } }: { rule: RuleReport }) {
  if (broken === 0) return <span class="muted">no agent</span>;
  return (
    <details open={broken <= MAX_OPEN}>
      <summary>{countText(broken, 'agent')}</summary>
      <ul class="item-list wrap">
        {agents.map((agent) => (
          <li key={`${agent.namespace}/${agent.agentName}`}>
            <AgentLink {...agent} /> <span class="muted">found</span> <Ago time={agent.since} />
          </li>
        ))}
      </ul>
      <Cut shown={agents.length} total={broken} />
    </details>
  );
}
