import type { EgressReport, EgressSummary } from '../../core/shapes/egress.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import type { StoredEgress } from '../../core/shapes/stored.ts';
import { useResource } from '../api/resource.ts';
import { countText, formatNumber, NO_VALUE } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { Empty } from '../parts/empty.tsx';
import { Facts, type Fact } from '../parts/facts.tsx';
import { agentPath } from './agent-path.ts';
import { CensusCard } from './census-card.tsx';
import { DifferencesTable } from './differences-table.tsx';
import { Loaded } from './loaded.tsx';
import { matrixRows } from './matrix-rows.ts';
import { MatrixTable } from './matrix-table.tsx';
import { NotRewrittenCard } from './not-rewritten-card.tsx';
import { sidecarCommand } from './sidecar-command.ts';
import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import { REFRESH_MS, type TabProps } from './types.ts';

const READ = `curl -s 'localhost:4001/explore?view=matrix' | jq '.rows[]'`;

/** What the agent calls, as the lanes and the census of one instance observed it, next to manifest and report. */
export function EgressTab({ detail }: TabProps) {
  // Without a heartbeat there is no report, and a request for it would fail.
  const path = detail.lastSeen === null ? null : agentPath(detail, '/egress');
  const report = useResource<StoredEgress>(path, { refreshMs: REFRESH_MS });
  if (path === null)
    return (
      <Empty title="There is no report yet">
        <p>The outgoing calls come with the heartbeats of the agent.</p>
      </Empty>
    );
  return (
    <Loaded resource={report} what="outgoing calls">
      {(data) => <Report detail={detail} data={data} />}
    </Loaded>
  );
}

function Report({ detail, data }: { detail: AgentDetail; data: StoredEgress }) {
  const { egress, instance, receivedAt } = data;
  if (egress === null) return <NotObserved />;
  const { rows, lanes, notRewritten = [], census } = egress;
  // Neither a lane nor a census that runs.
  if (rows === undefined && census !== undefined)
    return (
      <>
        <NotObserved />
        <CensusCard egress={egress} />
      </>
    );
  return (
    <>
      <p class="intro">
        Observed in the last 24 hours by the sidecar of instance <code>{instance}</code>, reported{' '}
        <Ago time={receivedAt} />.
      </p>
      {lanes.length === 0 && <NoLanes />}
      {rows === undefined ? (
        <WithoutRows detail={detail} egress={egress} instance={instance} />
      ) : (
        <Matrix egress={{ ...egress, rows }} issues={detail.status.issues ?? []} />
      )}
      {lanes.length > 0 && (
        <Card title="Outgoing calls">
          <Facts items={callsOf(egress)} />
        </Card>
      )}
      <CensusCard egress={egress} />
      {notRewritten.length > 0 && <NotRewrittenCard list={notRewritten} />}
    </>
  );
}

function NotObserved() {
  return (
    <Empty title="The outgoing calls of this agent are not observed">
      <p>
        Its sidecar has neither an egress lane nor a census. Name the vendors of its models in the pod
        annotation <code>platform.io/egress-lanes</code>, or start the agent with <code>platform run</code>.
      </p>
    </Empty>
  );
}

function NoLanes() {
  return (
    <Empty title="The sidecar has no egress lane">
      <p>
        Models, tools and tokens are known only from the reports of the agent. Name the vendors of its models
        in the pod annotation <code>platform.io/egress-lanes</code>.
      </p>
    </Empty>
  );
}

type WithRows = EgressReport & Required<Pick<EgressReport, 'rows'>>;

function Matrix({ egress, issues }: { egress: WithRows; issues: readonly Issue[] }) {
  const { rows, rowsTotal = rows.length } = egress;
  const contradictions = rows.filter(({ verdict }) => CONTRADICTIONS.has(verdict)).length;
  return (
    <Card
      title="Declared, reported, observed"
      actions={
        <span class={`note-tag ${contradictions > 0 ? 'is-bad' : 'is-good'}`}>
          {contradictions === 0 ? 'no contradiction' : countText(contradictions, 'contradiction')}
        </span>
      }
    >
      <MatrixTable rows={matrixRows(rows, issues)} />
      {rows.length < rowsTotal && (
        <p class="muted">
          {formatNumber(rows.length)} of {formatNumber(rowsTotal)} items are listed, contradictions first.
        </p>
      )}
    </Card>
  );
}

const CONTRADICTIONS: ReadonlySet<string> = new Set(['undeclared', 'misreported', 'unreported']);

interface WithoutRowsProps {
  detail: AgentDetail;
  egress: EgressSummary;
  instance: string;
}

/** The numbers, for a report without the rows of the matrix. */
function WithoutRows({ detail, egress, instance }: WithoutRowsProps) {
  const { source, namespace, status } = detail;
  return (
    <Card title="Declared, reported, observed">
      <Facts
        items={[
          ['Undeclared', formatNumber(egress.undeclared), 'observed, not declared'],
          ['Never seen', formatNumber(egress.neverSeen), 'declared, not observed'],
          ['Misreported', formatNumber(egress.misreported), 'reported differently than observed'],
        ]}
      />
      <DifferencesTable egress={egress} issues={status.issues ?? []} />
      <p>
        The control plane does not have all items: the sidecar is of an earlier version, or the control plane
        has not received its heartbeat since it started. The sidecar has them:
      </p>
      <CodeBlock
        text={sidecarCommand({ source, namespace, pod: instance }, READ)}
        label="Command to read the matrix"
      />
    </Card>
  );
}

const callsOf = ({ lanes, calls, models, tools }: EgressSummary): Fact[] => [
  ['Lanes', namesOf(lanes)],
  ['Calls of models', formatNumber(calls)],
  ['Models', namesOf(models), 'most calls first'],
  ['Tools called', namesOf(tools), 'most calls first'],
];

const namesOf = (names: readonly string[]): string => (names.length === 0 ? NO_VALUE : names.join(', '));
