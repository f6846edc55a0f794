import type { ComponentChildren, ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import { useResource } from '../api/resource.ts';
import { withLocalTimes } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { announce } from '../parts/announce.ts';
import { ConditionBadge } from '../parts/condition-badge.tsx';
import { Empty } from '../parts/empty.tsx';
import { GradeBadge } from '../parts/grade-badge.tsx';
import { PhaseBadge } from '../parts/phase-badge.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { useChange } from '../parts/use-change.ts';
import { hrefOf, type Route } from '../route.ts';
import { me } from '../session.ts';
import { StopAgent, StopBanner, type PendingStop } from '../stops/stop-banner.tsx';
import { stateOf } from '../stops/stop-text.ts';
import { agentPath } from './agent-path.ts';
import { ChecksTab } from './checks-tab.tsx';
import { DeleteAgent } from './delete-agent.tsx';
import { EgressTab } from './egress-tab.tsx';
import { EventsTab } from './events-tab.tsx';
import { EvidenceTab } from './evidence-tab.tsx';
import { HistoryTab } from './history-tab.tsx';
import { InstancesTab } from './instances-tab.tsx';
import { Loaded } from './loaded.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { PolicyTab } from './policy-tab.tsx';
import { ProofsTab } from './proofs-tab.tsx';
import { RawTab } from './raw-tab.tsx';
import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import { REFRESH_MS, type TabProps } from './types.ts';
import { useAgentChanges } from './use-live.ts';

type AgentRoute = Extract<Route, { page: 'agent' }>;

const TABS: readonly { id: string; title: string; tab: ComponentType<TabProps> }[] = [
  { id: 'overview', title: 'Overview', tab: OverviewTab },
  { id: 'evidence', title: 'Evidence', tab: EvidenceTab },
  { id: 'egress', title: 'Egress', tab: EgressTab },
  { id: 'events', title: 'Events', tab: EventsTab },
  { id: 'history', title: 'History', tab: HistoryTab },
  { id: 'checks', title: 'Checks', tab: ChecksTab },
  { id: 'proofs', title: 'Proofs', tab: ProofsTab },
  { id: 'instances', title: 'Instances', tab: InstancesTab },
  { id: 'policy', title: 'Policy', tab: PolicyTab },
  { id: 'raw', title: 'Raw', tab: RawTab },
];

/** Everything about one agent. The shell mounts a new page for another agent, so that no state of the previous one stays. */
export function AgentPage({ route }: { route: AgentRoute }) {
  const { namespace, name } = route;
  const agent = { namespace, agentName: name };
  const resource = useResource<AgentDetail>(agentPath(agent), { refreshMs: REFRESH_MS });
  useAgentChanges(agent, resource.reload);
  useChange(resource.data && stateText(resource.data), (before) => {
    if (before !== null && resource.data !== null) announce(stateText(resource.data));
  });
  // What the reader has just requested, until the status of the agent shows it.
  const [pending, setPending] = useState<PendingStop>(null);
  useChange(resource.data?.status.stop?.id, () => setPending(null));
  const request = (change: PendingStop): void => {
    setPending(change);
    resource.reload();
  };
  const current = TABS.find(({ id }) => id === route.tab) ?? TABS[0];
  const tabs = TABS.map(({ id, title }) => ({
    ...{ id, title },
    href: hrefOf({ ...route, tab: id === 'overview' ? null : id }),
  }));
  const Tab = current?.tab ?? OverviewTab;
  if (resource.error?.kind === 'not-found') return <Gone {...{ namespace, name }} />;
  return (
    <div class="detail-page">
      <Heading route={route} detail={resource.data}>
        {resource.data !== null && pending === null && (
          <StopAgent detail={resource.data} onStopped={request} />
        )}
      </Heading>
      {resource.data !== null && (
        <StopBanner detail={resource.data} pending={pending} onResumed={() => request('resume')} />
      )}
      <Compliant route={route} detail={resource.data} />
      <Tabs label={`Parts of ${name}`} tabs={tabs} current={current?.id ?? 'overview'} />
      <Loaded resource={resource} what={`data of ${name}`}>
        {(detail) => <Tab detail={detail} reload={resource.reload} />}
      </Loaded>
    </div>
  );
}

function stateText({ agentName, status }: AgentDetail): string {
  const { grade, phase } = status;
  return [
    `${agentName}: ${grade === undefined ? 'no grade' : `grade ${grade}`}`,
    phase,
    stateOf(status) ?? [],
  ]
    .flat()
    .join(', ');
}

interface HeadingProps {
  route: AgentRoute;
  detail: AgentDetail | null;
  children: ComponentChildren;
}

function Heading({ route: { namespace, name }, detail, children }: HeadingProps) {
  return (
    <header class="agent-heading wrap">
      <div>
        <p class="agent-namespace">
          Namespace{' '}
          <a href={hrefOf({ page: 'fleet', query: new URLSearchParams({ namespace }) })}>{namespace}</a>
        </p>
        <h1>{name}</h1>
      </div>
      {detail !== null && (
        <p class="agent-state">
          <GradeBadge grade={detail.status.grade ?? null} isOld={detail.status.oldGrade !== undefined} />
          <PhaseBadge phase={detail.status.phase} />
          <span>
            Last heartbeat: <Ago time={detail.lastSeen} />
          </span>
        </p>
      )}
      {children}
      {detail?.source === 'remote' && me.value?.can.admin === true && (
        <DeleteAgent namespace={namespace} agentName={name} />
      )}
    </header>
  );
}

/** The tab with the next step for each reason of the verdict; other reasons are explained by the lost points. */
const NEXT_STEPS: Readonly<Record<string, [tab: string, step: string]>> = {
  Compliant: ['evidence', 'see its evidence'],
  NotAllowed: ['overview', 'see the organisation rules below'],
  PolicyDenied: ['policy', 'see what the policy denied'],
  Stopped: ['overview', 'see the stop above'],
  NotShown: ['evidence', 'see what has no evidence'],
  NotReporting: ['instances', 'see which instances report'],
};

/** The verdict in one sentence, with the next step. */
function Compliant({ route, detail }: { route: AgentRoute; detail: AgentDetail | null }) {
  const found = detail?.status.conditions?.find(({ type }) => type === 'Compliant');
  if (found === undefined) return null;
  const [tab, step] = NEXT_STEPS[found.reason] ?? [null, 'fix what costs points'];
  return (
    <p class={`verdict verdict-${found.status.toLowerCase()}`}>
      <strong>
        Compliant: <ConditionBadge {...found} />
      </strong>
      , {withLocalTimes(found.message)}. Next step: <a href={hrefOf({ ...route, tab })}>{step}</a>.
    </p>
  );
}

function Gone({ namespace, name }: { namespace: string; name: string }) {
  return (
    <div class="detail-page">
      <h1>{name}</h1>
      <Empty title={`There is no agent ${name} in namespace ${namespace}`}>
        <p>
          The agent was deleted, its workload was removed, it has not sent its first heartbeat, or you may not
          read its namespace. The page loads the agent as soon as it exists.
        </p>
        <p>
          <a href={hrefOf({ page: 'fleet', query: new URLSearchParams() })}>All agents</a>
        </p>
      </Empty>
    </div>
  );
}
