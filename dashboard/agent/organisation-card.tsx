import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import type { AgentOrganisation, PictureItems } from '../../core/shapes/agent-organisation.ts';
import { useResource } from '../api/resource.ts';
import { formatNumber } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { ConditionBadge } from '../parts/condition-badge.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { agentPath } from './agent-path.ts';
import { SeverityTag } from './links.tsx';
import { Loaded } from './loaded.tsx';
import { pictureRows, type PictureRow } from './organisation-rows.ts';
import { REFRESH_MS } from './types.ts';

/** What the organisation allows the agent, what it declares and what was observed. One line if no rule selects the agent. */
export function OrganisationCard({ detail }: { detail: AgentDetail }) {
  const { status } = detail;
  const allowed = status.conditions?.find(({ type }) => type === 'Allowed');
  const hasRules = allowed !== undefined && allowed.reason !== 'NoPolicy';
  const path = hasRules ? agentPath(detail, '/organisation') : null;
  const picture = useResource<AgentOrganisation>(path, { refreshMs: REFRESH_MS });
  if (allowed === undefined) return null;
  if (!hasRules) return <p class="muted">No organisation rule selects this agent.</p>;
  return (
    <Card
      title="Organisation rules"
      actions={
        <span>
          Allowed: <ConditionBadge {...allowed} />
        </span>
      }
    >
      <p class="intro">What is declared must be allowed, and what is observed must be declared.</p>
      <Loaded resource={picture} what="organisation rules">
        {(data) => <Picture picture={data} />}
      </Loaded>
    </Card>
  );
}

const COLUMNS = [
  { key: 'allowed', title: 'Allowed', unknown: 'not known', empty: 'no Deny rule' },
  { key: 'declared', title: 'Declared', unknown: 'not known', empty: 'none' },
  { key: 'observed', title: 'Observed', unknown: 'not observed', empty: 'none' },
] as const;

function Picture({ picture }: { picture: AgentOrganisation }) {
  const { broken = [], brokenTotal = 0, notJudged = [] } = picture.organisation ?? {};
  return (
    <>
      <DataTable
        caption="Allowed, declared, observed"
        rows={pictureRows(picture)}
        rowKey={({ kind }) => kind}
        columns={[
          { title: 'Kind', width: '10%', render: ({ kind }) => kind },
          ...COLUMNS.map(({ key, title, unknown, empty }) => ({
            ...{ title, width: '30%' },
            render: (row: PictureRow) => <Cell cell={row[key]} unknown={unknown} empty={empty} />,
          })),
        ]}
      />
      {broken.length > 0 && <h3>Broken rules</h3>}
      {broken.map(({ policy, rule, severity, action, path, message, since = null }) => (
        <p key={JSON.stringify([policy, rule, path, message])}>
          <SeverityTag severity={severity} /> <code>{`${policy}/${rule}`}</code> {action}: {message}{' '}
          <span class="muted">
            {path} <Ago time={since} />
          </span>
        </p>
      ))}
      <Cut shown={broken.length} total={brokenTotal} />
      {notJudged.map(({ policy, rule, reason }) => (
        <p key={`${policy}/${rule ?? ''}`}>
          <span class="note-tag is-warn">not judged</span>{' '}
          <code>{[policy, rule ?? []].flat().join('/')}</code> {reason}
        </p>
      ))}
      {picture.policies?.map(({ name, rules, excepted }) => (
        <p key={name} class="muted">
          Policy {name}: {formatNumber(rules)} rules
          {excepted.length > 0 && `, without ${excepted.join(', ')} by exception`}
        </p>
      ))}
    </>
  );
}

/** `unknown`: shown for null. */
function Cell({ cell, unknown, empty }: { cell: PictureItems | null; unknown: string; empty: string }) {
  if (cell === null || cell.total === 0) return <span class="muted">{cell === null ? unknown : empty}</span>;
  const { items, total } = cell;
  return (
    <>
      <ul class="item-list wrap">
        {items.map(({ name, breaks, undeclared }) => (
          <li key={name}>
            <code>{name}</code>{' '}
            {(undeclared || breaks.length > 0) && (
              <span class="note-tag is-bad">{breaks.join(', ') || 'not declared'}</span>
            )}
          </li>
        ))}
      </ul>
      <Cut shown={items.length} total={total} />
    </>
  );
}

/** The length of a list that is cut. */
export function Cut({ shown, total }: { shown: number; total: number }) {
  return shown < total ? <p class="muted">{`${formatNumber(shown)} of ${formatNumber(total)}`}</p> : null;
}
