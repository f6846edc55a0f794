import { RULE_IDS } from '../audit/rules.ts';
import type { EvaluatedSuppression } from '../shapes/audit.ts';
import type { OutcomeCounts } from '../shapes/outcomes.ts';
import { itemText } from '../evidence/evidence.ts';
import type { PolicyFacts } from '../facts/facts.ts';
import { isVerified } from '../gap/gap.ts';
import type { Issue } from '../shapes/gap.ts';
import { REPORTER_INVALID } from '../gap/reporter-rules.ts';
import type { BriefInstance, InstanceStatus } from '../shapes/instance.ts';
import type { Condition, ConditionType } from '../shapes/condition.ts';
import type { Drift } from '../shapes/drift.ts';
import type { ObservationSpec, ObservationStatus } from '../shapes/observation.ts';
import { allInstances, lastSeenOf } from '../observation/all-instances.ts';
import { staleLimitMs } from '../observation/phase.ts';
import type { PolicyMode, ReportSource } from '../shapes/values.ts';
import { present } from '../untrusted/present.ts';
import { gapRuleOf } from './rule-texts.ts';

/** An agent as every store returns it. */
export interface ObservedAgent {
  namespace: string;
  name: string;
  source: ObservationSpec['source'];
  status: ObservationStatus;
}

/** The part of the egress summary about what is not seen. */
export interface ExcerptEgress {
  hasLanes: boolean;
  /** Number of calls on lanes that passed without a decision of the policy engine. */
  failedOpen: number;
  /** Number of addresses that nothing explains; null: no census. */
  unseen: number | null;
  /** Number of connections whose address was not seen; null: no census. */
  unexplained: number | null;
  /** The issue about them, with the first addresses. */
  issue: Pick<Issue, 'description' | 'recommendation'> | null;
}

/** Which organisation rules an agent breaks. */
export interface ExcerptOrganisation {
  /** A rule with several findings is in it several times. */
  broken: readonly { policy: string; rule: string; since: string }[];
  /** Policies with a rule that could not be applied. */
  notJudged: readonly string[];
}

type ReadCondition = Extract<ConditionType, 'Reporting' | 'Injected' | 'Routed' | 'PolicyLoaded'>;

/**
 * The part of an agent that coverage and rules are computed from. It is small, because the control plane keeps one for each
 * agent of the fleet.
 */
export interface AgentExcerpt {
  namespace: string;
  agentName: string;
  source: ObservationSpec['source'];
  /** Conditions that are not True. A condition that is True or was never computed is absent. */
  conditions: Partial<Record<ReadCondition, Omit<Condition, 'type' | 'observedGeneration'>>>;
  /** Live pods without a sidecar, by reason. */
  podsWithoutSidecar: readonly Drift[];
  /** ISO 8601; null: no heartbeat yet. */
  lastHeartbeat: string | null;
  /** ISO 8601; since when an agent that does not report is expected to; null: it reports, is idle or has not started. */
  awaitedSince: string | null;
  /** Until this time (ms) at least one instance counts as reporting; null: no instance is known. */
  liveUntilMs: number | null;
  reportSource: ReportSource | null;
  /** The issue about an invalid report of the agent. */
  invalidReport: Pick<Issue, 'description' | 'recommendation'> | null;
  /** Declared items without evidence: their number and the first names; null: not reported. */
  unseen: { declared: number; count: number; names: readonly string[] } | null;
  policyMode: PolicyMode | null;
  policyStates: readonly PolicyFacts['state'][];
  outcomes: OutcomeCounts | null;
  /** Since when `outcomes` counts, ISO 8601: the start of the oldest process. */
  countedSince: string | null;
  /** What the lanes and the census of `reportedBy` observe; null: it has neither. */
  egress: ExcerptEgress | null;
  /** Ids of the gap rules with an issue. */
  gapRules: readonly string[];
  /** Ids of the violated compliance rules. */
  failedRules: readonly string[];
  suppressions: readonly EvaluatedSuppression[];
  /** The result of the organisation rules; null: no policy was applied. */
  organisation: ExcerptOrganisation | null;
}

const READ: readonly ReadCondition[] = ['Reporting', 'Injected', 'Routed', 'PolicyLoaded'];
/** Maximum number of items that a reason names. */
const MAX_NAMES = 3;

export function excerptOf({ namespace, name, source, status }: ObservedAgent): AgentExcerpt {
  const { instances = [], issues = [], drift = [], audit } = status;
  const all = allInstances(status);
  const invalid = issues.find(({ property }) => property === REPORTER_INVALID);
  return {
    ...{ namespace, agentName: name, source },
    conditions: conditionsOf(status),
    podsWithoutSidecar: drift.filter(({ reason }) => BARE.has(reason)),
    lastHeartbeat: lastSeenOf(status),
    awaitedSince: status.awaitedSince ?? null,
    liveUntilMs: all.length === 0 ? null : Math.max(...all.map(liveUntilMs)),
    reportSource: status.source ?? null,
    invalidReport: invalid === undefined ? null : textOf(invalid),
    unseen: unseenOf(status),
    policyMode: status.policyMode ?? null,
    policyStates: statesOf(instances),
    outcomes: status.outcomes ?? null,
    countedSince: firstStartOf(all),
    egress: egressOf(status),
    gapRules: ruleIdsOf(issues),
    failedRules: RULE_IDS.filter((id) => audit?.failed.includes(id)),
    suppressions: audit?.suppressions ?? [],
    organisation: organisationOf(status),
  };
}

const BARE: ReadonlySet<Drift['reason']> = new Set(['sidecar-missing', 'not-opted-in']);

const textOf = ({ description, recommendation }: Issue): Pick<Issue, 'description' | 'recommendation'> => ({
  description,
  recommendation,
});

function conditionsOf({ conditions = [] }: ObservationStatus): AgentExcerpt['conditions'] {
  const found: AgentExcerpt['conditions'] = {};
  for (const { type, status, reason, message, lastTransitionTime } of conditions) {
    const read = READ.find((each) => each === type);
    if (read !== undefined && status !== 'True')
      found[read] = { status, reason, message, lastTransitionTime };
  }
  return found;
}

const liveUntilMs = ({ lastHeartbeat, intervalSeconds }: BriefInstance): number =>
  Date.parse(lastHeartbeat) + staleLimitMs(intervalSeconds);

/** Only instances with outcomes: a plain reporter that started earlier counts no requests. */
const firstStartOf = (all: readonly BriefInstance[]): string | null =>
  all
    .flatMap(({ outcomes, startedAt }) => (outcomes === undefined ? [] : [startedAt]))
    .sort()
    .at(0) ?? null;

const statesOf = (instances: readonly InstanceStatus[]): PolicyFacts['state'][] => [
  ...new Set(instances.flatMap(({ policyState }) => policyState ?? [])),
];

function unseenOf({ evidence }: ObservationStatus): AgentExcerpt['unseen'] {
  if (evidence === undefined) return null;
  const unseen = evidence.items.filter(({ tier }) => tier === 'none');
  const names = unseen.slice(0, MAX_NAMES).map(itemText);
  return { declared: evidence.declared, count: unseen.length, names };
}

function organisationOf({ organisation }: ObservationStatus): ExcerptOrganisation | null {
  if (organisation === undefined) return null;
  const { broken, notJudged, judgedAt } = organisation;
  return {
    broken: broken.map(({ policy, rule, since = judgedAt }) => ({ policy, rule, since })),
    notJudged: notJudged.map(({ policy }) => policy),
  };
}

const UNSEEN_EGRESS = 'egress.unseen';

function egressOf({ egress, issues = [] }: ObservationStatus): ExcerptEgress | null {
  if (egress === undefined) return null;
  const issue = issues.find(({ property }) => property === UNSEEN_EGRESS);
  return {
    hasLanes: egress.lanes.length > 0,
    failedOpen: egress.failedOpen ?? 0,
    unseen: egress.unseenEgress ?? null,
    unexplained: egress.unexplainedOpens ?? null,
    issue: issue === undefined ? null : textOf(issue),
  };
}

/** Issues of the LLM analysis cost no points and belong to no rule. */
const ruleIdsOf = (issues: readonly Issue[]): string[] => [
  ...new Set(issues.filter(isVerified).flatMap(({ property }) => gapRuleOf(property) ?? [])),
];

export type AgentPlace = Pick<AgentExcerpt, 'namespace' | 'agentName'>;

/** A text that identifies the agent. A namespace has no NUL character, so the texts have the order of all lists. */
export const placeText = ({ namespace, agentName }: AgentPlace): string => `${namespace}\u0000${agentName}`;

/** Reasons of `Reporting` for a workload that intentionally has no pods. Only the operator knows them. */
const IDLE: ReadonlySet<string> = new Set(['ScaledToZero', 'Idle']);

export const isIdle = ({ conditions: { Reporting } }: AgentExcerpt): boolean =>
  Reporting !== undefined && IDLE.has(Reporting.reason);

/**
 * The agents of a database, completed by their AgentObservations. Only these contain what the operator observed, and agents
 * that never reported. The result is ordered.
 */
export function withObserved(
  agents: readonly AgentExcerpt[],
  observed: readonly AgentExcerpt[],
): AgentExcerpt[] {
  const all = new Map(observed.map((each) => [placeText(each), each]));
  for (const agent of agents) {
    const found = all.get(placeText(agent));
    if (found === undefined) {
      all.set(placeText(agent), agent);
      continue;
    }
    const { Reporting } = isIdle(found) ? found.conditions : agent.conditions;
    const { PolicyLoaded } = agent.conditions;
    const { Injected, Routed } = found.conditions;
    const conditions = present({ Reporting, PolicyLoaded, Injected, Routed });
    const { podsWithoutSidecar } = found;
    all.set(placeText(agent), { ...agent, conditions, podsWithoutSidecar });
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, agent]) => agent);
}
