import { GRADES, PHASES } from '../../core/shapes/values.ts';
import { compliantOf } from '../../core/observation/compliant-of.ts';
import { conditionOf } from '../../core/observation/condition-of.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import type { Labels, Metrics, Scrape } from '../../runtime/metrics.ts';

/** Agents with their own samples. Without a limit, the agents would determine the memory of Prometheus and of a scrape. */
export const MAX_AGENTS = 5_000;

/** The conditions that the alerts of the chart read. */
const CONDITIONS = [
  'Ready',
  'Reporting',
  'Injected',
  'Routed',
  'PolicyLoaded',
  'ManifestValid',
  'Allowed',
  'SidecarFits',
] as const;

type Status = Partial<ObservationStatus>;

/**
 * A sample without a value is left out. Only the present state of a condition has a sample. With a sample for each state there would
 * be twice as many.
 */
const AGENT_METRICS: {
  name: string;
  help: string;
  read: (
    agentStatus: Status,
    namespace: string,
    agent: string,
  ) => { labels: Labels; value: number | undefined }[];
}[] = [
  {
    name: 'platform_agent_compliant',
    help: '1 for the present status and reason of the condition Compliant; other states have no sample.',
    read: (agentStatus, namespace, agent) => {
      const { status, reason } = compliantOf(agentStatus);
      return [{ labels: { namespace, agent, status, reason }, value: 1 }];
    },
  },
  {
    name: 'platform_agent_condition',
    help: '1 for the present status and reason of each condition that an alert reads; other states have no sample.',
    read: (agentStatus, namespace, agent) =>
      CONDITIONS.flatMap((condition) => {
        const { status, reason } = conditionOf(agentStatus, condition) ?? {};
        return status && reason
          ? [{ labels: { namespace, agent, condition, status, reason }, value: 1 }]
          : [];
      }),
  },
  {
    name: 'platform_agent_stopped',
    help: '1 while a stop applies to the agent, with the reason of the condition Stopped; other agents have no sample.',
    read: (agentStatus, namespace, agent) => {
      const { reason } = conditionOf(agentStatus, 'Stopped') ?? {};
      return reason === undefined || agentStatus.stop === undefined
        ? []
        : [{ labels: { namespace, agent, reason }, value: 1 }];
    },
  },
  {
    name: 'platform_agent_score',
    help: 'Score of the worst instance of the agent, 0 to 100. A silent agent keeps its last score.',
    read: ({ score }, namespace, agent) => [{ labels: { namespace, agent }, value: score }],
  },
  {
    name: 'platform_agent_evidence_ratio',
    help: 'Share of the declared items with evidence, 0 to 1, of the instance with the least evidence.',
    read: ({ evidence }, namespace, agent) => [
      { labels: { namespace, agent }, value: evidence === undefined ? undefined : evidence.percent / 100 },
    ],
  },
  {
    name: 'platform_agent_violations',
    help: 'Distinct reasons of policy denials of the worst instance, as in the column VIOLATIONS.',
    read: ({ violations }, namespace, agent) => [{ labels: { namespace, agent }, value: violations }],
  },
  {
    name: 'platform_agent_denied_requests',
    help: 'Requests that the policy denied, blocked or only tracked, since the instances that report started.',
    read: ({ outcomes }, namespace, agent) => [{ labels: { namespace, agent }, value: outcomes?.deny }],
  },
  {
    name: 'platform_agent_undeclared_items',
    help: 'Observed models, tools, MCP servers and hosts that the manifest does not declare.',
    read: ({ egress }, namespace, agent) => [{ labels: { namespace, agent }, value: egress?.undeclared }],
  },
  {
    name: 'platform_agent_failed_open_requests',
    help: 'Requests that passed unevaluated because the policy engine was unreachable, since the instances that report started.',
    read: ({ outcomes }, namespace, agent) => [{ labels: { namespace, agent }, value: outcomes?.failOpen }],
  },
];

/**
 * Gauges over the observations that `list` returns. Every phase and grade has a sample, also with value 0, so that alert
 * rules can compare it. Each replica counts all observations: aggregate with max, not sum.
 */
export function addFleetMetrics(metrics: Metrics, list: () => readonly AgentObservation[]): void {
  const fleets = new WeakMap<Scrape, Fleet>();
  const fleetOf = (scrape: Scrape): Fleet => {
    let fleet = fleets.get(scrape);
    if (fleet === undefined) {
      const all = list();
      fleet = { all, shown: withMetrics(all) };
      fleets.set(scrape, fleet);
    }
    return fleet;
  };
  metrics.gauge('platform_operator_agents', 'AgentObservations by phase.', (scrape) =>
    countBy(PHASES, fleetOf(scrape).all, ({ status }) => status?.phase ?? 'Pending').map(
      ([phase, value]) => ({
        labels: { phase },
        value,
      }),
    ),
  );
  metrics.gauge(
    'platform_operator_agent_grades',
    'AgentObservations by grade, without those that have no grade.',
    (scrape) =>
      countBy(GRADES, fleetOf(scrape).all, ({ status }) => status?.grade).map(([grade, value]) => ({
        labels: { grade },
        value,
      })),
  );
  addAgentMetrics(metrics, fleetOf);
}

/** The observations of one scrape. */
interface Fleet {
  all: readonly AgentObservation[];
  /** Those with their own samples. */
  shown: readonly AgentObservation[];
}

/** The first agents of each namespace, as many as possible of each, so that no namespace takes the metrics and alerts of others. */
function withMetrics(observations: readonly AgentObservation[]): readonly AgentObservation[] {
  if (observations.length <= MAX_AGENTS) return observations;
  const before = new Map<string, number>();
  const ranked = observations.map((observation) => {
    const { namespace } = observation.metadata;
    const rank = before.get(namespace) ?? 0;
    before.set(namespace, rank + 1);
    return { observation, rank };
  });
  ranked.sort((a, b) => a.rank - b.rank);
  return ranked.slice(0, MAX_AGENTS).map(({ observation }) => observation);
}

/** Gauges with the labels `namespace` and `agent`, for at most MAX_AGENTS agents. */
function addAgentMetrics(metrics: Metrics, fleetOf: (scrape: Scrape) => Fleet): void {
  for (const { name, help, read } of AGENT_METRICS)
    metrics.gauge(name, help, (scrape) =>
      fleetOf(scrape)
        .shown.flatMap(({ metadata, status }) => read(status ?? {}, metadata.namespace, metadata.name))
        .flatMap(({ labels, value }) => (value === undefined ? [] : [{ labels, value }])),
    );
  metrics.gauge(
    'platform_operator_agents_without_metrics',
    'AgentObservations above the limit of 5,000, which have no platform_agent metrics and no alerts.',
    (scrape) => [{ value: Math.max(0, fleetOf(scrape).all.length - MAX_AGENTS) }],
  );
}

function countBy<T extends string>(
  values: readonly T[],
  observations: readonly AgentObservation[],
  valueOf: (observation: AgentObservation) => T | undefined,
): [value: T, count: number][] {
  const byValue = Map.groupBy(observations, valueOf);
  return values.map((value) => [value, byValue.get(value)?.length ?? 0]);
}
