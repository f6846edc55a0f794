import { REMEDIATIONS } from './remediations.ts';
import { ANNOTATIONS } from '../injection/annotations.ts';
import { DRIFT_SUMMARIES } from '../injection/drift.ts';
import { AGENT_LABEL, SIDECAR_CONTAINER } from '../injection/names.ts';
import { MIRRORED_REASON } from '../observation/mirrored.ts';
import { staleLimitMs } from '../observation/phase.ts';
import type { CoverageKind } from '../shapes/coverage.ts';
import { isIdle, type AgentExcerpt } from './excerpt.ts';
import { counted, percentText, sentence } from './sentence.ts';

/** One way in which a part of an agent stays unseen. */
export interface CoverageRow {
  kind: CoverageKind;
  title: string;
  explanation: string;
  holds: (agent: AgentExcerpt, at: Date) => boolean;
  /** What is not seen, with its numbers and names. Only for an agent for which the row holds, like the next two members. */
  reason: (agent: AgentExcerpt) => string;
  remedy: (agent: AgentExcerpt) => string;
  /** ISO 8601; absent or null: not known. */
  since?: (agent: AgentExcerpt) => string | null;
}

/** How long a new agent may be without a heartbeat: as long as an agent with the default interval may be silent. */
const NEW_AGENT_MS = staleLimitMs(30);

function isSilent(agent: AgentExcerpt, at: Date): boolean {
  const { Reporting: condition } = agent.conditions;
  if (isIdle(agent)) return false;
  if (condition?.reason === 'NeverReported') return true;
  if (agent.lastHeartbeat === null)
    return condition === undefined || at.getTime() - Date.parse(condition.lastTransitionTime) > NEW_AGENT_MS;
  // All pods were replaced. Their successors have the stale time to report.
  if (condition?.reason === 'NoHeartbeat') return false;
  if (condition?.status === 'False') return true;
  // The writer of the condition may be unavailable.
  return agent.liveUntilMs !== null && at.getTime() > agent.liveUntilMs;
}

/** The last report is current. A silent agent is listed as silent, and not for values that may no longer be true. */
const isReporting = (agent: AgentExcerpt, at: Date): boolean =>
  agent.lastHeartbeat !== null && agent.conditions.Reporting?.status !== 'False' && !isSilent(agent, at);

const isMirrored = ({ conditions: { PolicyLoaded } }: AgentExcerpt): boolean =>
  PolicyLoaded?.reason === MIRRORED_REASON;

const isWorkload = ({ source }: AgentExcerpt): boolean => source === 'sidecar';

const turnOnMode = (agent: AgentExcerpt): string =>
  isWorkload(agent)
    ? `Set the annotation ${ANNOTATIONS.mode.name} of the pods of ${agent.agentName} to "track" or "enforce".`
    : `Set POLICY_PROXY_MODE of the sidecar of ${agent.agentName} to track or enforce.`;

const addEngine = (agent: AgentExcerpt): string =>
  isWorkload(agent)
    ? `Set the chart value policy.engine to builtin, and restart the workload of ${agent.agentName}.`
    : `Set POLICY_ENGINE=builtin for the sidecar of ${agent.agentName}.`;

const loadRules = ({ agentName }: AgentExcerpt): string =>
  `${sentence(REMEDIATIONS['agent-policy-not-loaded'])} If the engine is not part of the pod, load the rules of ${agentName} again with platform generate-policy.`;

const reportEngine = ({ agentName }: AgentExcerpt): string =>
  `Run ${agentName} behind a sidecar with a policy engine, or update its sidecar. Reporters and sidecars of 0.1.0 do not send the state of an engine.`;

const reachEngine = ({ agentName }: AgentExcerpt): string =>
  `Check that the policy engine of ${agentName} runs and that its sidecar reaches it (POLICY_URL, POLICY_TIMEOUT_MS).`;

/** Why requests are not evaluated; the first row that holds. */
const CAUSES: readonly {
  holds: (agent: AgentExcerpt) => boolean;
  text: string;
  remedy: (agent: AgentExcerpt) => string;
}[] = [
  { holds: ({ policyMode }) => policyMode === 'off', text: 'The policy mode is off.', remedy: turnOnMode },
  {
    holds: ({ policyStates }) => policyStates.includes('none'),
    text: 'No policy engine is configured.',
    remedy: addEngine,
  },
  {
    holds: ({ policyStates }) => policyStates.includes('not-loaded'),
    text: 'The policy engine has not loaded the rules of the agent.',
    remedy: loadRules,
  },
];

const NO_HEADER = {
  text: 'Responses without a behavioral header are not evaluated.',
  remedy: ({ agentName }: AgentExcerpt): string =>
    `Report the behavior of ${agentName} in each response: X-Platform-Guardrails-Invoked, X-Platform-Tools-Called or X-Platform-User-Confirmed. The reporter sets these headers.`,
};

const causeOf = (agent: AgentExcerpt): typeof NO_HEADER =>
  CAUSES.find((each) => each.holds(agent)) ?? NO_HEADER;

/** By the reason of the condition `PolicyLoaded`. Other reasons are not about the engine. */
const POLICY_REMEDIES: ReadonlyMap<string, (agent: AgentExcerpt) => string> = new Map([
  ['PolicyNotLoaded', loadRules],
  ['NoEngine', addEngine],
  ['EngineUnreachable', reachEngine],
  ['NotReported', reportEngine],
]);

const policyRemedyOf = ({ conditions: { PolicyLoaded } }: AgentExcerpt) =>
  POLICY_REMEDIES.get(PolicyLoaded?.reason ?? '');

function unseenText({ unseen }: AgentExcerpt): string {
  if (unseen === null || unseen.count === 0) return '';
  const { count, declared, names } = unseen;
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  const verb = count === 1 ? 'has' : 'have';
  return ` ${count} of ${counted(declared, 'declared item')} ${verb} no evidence: ${names.join(', ')}${more}.`;
}

function requestText(agent: AgentExcerpt, { part, whole }: { part: number; whole: number }): string {
  const since = agent.countedSince === null ? '' : ` since ${agent.countedSince}`;
  return `${part} of ${counted(whole, 'request')} (${percentText(part, whole)})${since}`;
}

function silentRemedy(agent: AgentExcerpt): string {
  const { agentName, namespace } = agent;
  if (isMirrored(agent))
    return `${agentName} reports to another control plane: look for the cause there, and check that the operator reaches it (chart value remote.controlPlane).`;
  if (isWorkload(agent))
    return `${sentence(REMEDIATIONS['agent-silent'])} The logs: kubectl logs -n ${namespace} -l ${AGENT_LABEL}=${agentName} -c ${SIDECAR_CONTAINER}`;
  const register = `platform register --name ${agentName} issues a new key.`;
  if (agent.lastHeartbeat === null)
    return `Start ${agentName} with the address of this control plane in PLATFORM_URL and its key in PLATFORM_KEY. ${register}`;
  return `Check that ${agentName} runs, reaches this control plane and has a valid key. ${register} If ${agentName} does not exist any more, remove it: DELETE /api/v1/agents/${agentName}?namespace=${namespace}`;
}

const FAIL_CLOSED = `With the annotation ${ANNOTATIONS.egressFailMode.name}: "closed" (EGRESS_FAIL_MODE), lanes deny such calls.`;

/** The kinds in the order in which they are shown. */
export const COVERAGE_ROWS: readonly CoverageRow[] = [
  {
    kind: 'no-reporter',
    title: 'No reporter',
    explanation:
      'The agent sends no valid report of its own. Its model, tools, services and environment are checked only from outside, and the rest of the manifest has no evidence.',
    holds: (agent, at) => isReporting(agent, at) && agent.reportSource === 'manifest-static',
    reason: (agent) =>
      sentence(
        agent.invalidReport?.description ??
          `GET /platform/health on ${agent.agentName} returns no report, so only the checks from outside are known`,
      ) + unseenText(agent),
    remedy: ({ agentName, invalidReport }) =>
      sentence(
        invalidReport?.recommendation ??
          `add the reporter to ${agentName}, or serve GET /platform/health in the agent (docs/guide/agent.md)`,
      ),
  },
  {
    kind: 'bypassed-service',
    title: 'Services that bypass the sidecar',
    explanation:
      'A Service sends requests to the own port of the agent, or the sidecar could not take its port. These requests are not counted, and no policy is evaluated for them.',
    holds: ({ conditions: { Routed } }) => Routed?.status === 'False',
    reason: ({ conditions: { Routed } }) => sentence(Routed?.message ?? ''),
    remedy: ({ conditions: { Routed }, agentName, namespace }) => {
      const code = Routed?.reason === 'PortTaken' ? 'agent-port-taken' : 'agent-bypassed';
      return `${sentence(REMEDIATIONS[code])} The condition Routed shows the result: kubectl describe agentobservation ${agentName} -n ${namespace}`;
    },
    since: ({ conditions: { Routed } }) => Routed?.lastTransitionTime ?? null,
  },
  {
    kind: 'not-evaluated',
    title: 'Requests without a policy decision',
    explanation:
      'No policy engine was queried for these requests: the mode is off, there is no engine with the rules, or the response reported no behavior.',
    holds: (agent, at) => isReporting(agent, at) && (agent.outcomes?.notEvaluated ?? 0) > 0,
    reason: (agent) => {
      const { allow = 0, deny = 0, failOpen = 0, notEvaluated = 0 } = agent.outcomes ?? {};
      const share = { part: notEvaluated, whole: allow + deny + failOpen + notEvaluated };
      return `${requestText(agent, share)} were not evaluated. ${causeOf(agent).text}`;
    },
    remedy: (agent) => causeOf(agent).remedy(agent),
    since: ({ countedSince }) => countedSince,
  },
  {
    kind: 'failed-open',
    title: 'Requests that passed without the engine',
    explanation:
      'The policy engine did not respond in time, so the proxy or an egress lane forwarded these requests without a decision.',
    holds: (agent, at) =>
      isReporting(agent, at) && ((agent.outcomes?.failOpen ?? 0) > 0 || (agent.egress?.failedOpen ?? 0) > 0),
    reason: (agent) => {
      const { allow = 0, deny = 0, failOpen = 0 } = agent.outcomes ?? {};
      const share = { part: failOpen, whole: allow + deny + failOpen };
      const now = agent.policyStates.includes('unreachable') ? ' The engine is unreachable now.' : '';
      const failedOpen = agent.egress?.failedOpen ?? 0;
      const requests = `${requestText(agent, share)} passed because the policy engine did not respond.`;
      const calls = `${counted(failedOpen, 'call')} on egress lanes passed because the policy engine could not evaluate them.`;
      return [failOpen > 0 ? requests : [], failedOpen > 0 ? calls : []].flat().join(' ') + now;
    },
    remedy: (agent) =>
      `${reachEngine(agent)} The engine builtin runs inside the sidecar and cannot be unreachable.${
        (agent.egress?.failedOpen ?? 0) > 0 ? ` ${FAIL_CLOSED}` : ''
      }`,
    since: ({ countedSince }) => countedSince,
  },
  {
    kind: 'no-policy-rules',
    title: 'No policy rules in effect',
    explanation:
      'It is not known that a policy engine has the rules of this agent: there is no engine, it is unreachable, it has other rules, or its state is not reported.',
    holds: (agent, at) => isReporting(agent, at) && policyRemedyOf(agent) !== undefined,
    reason: ({ conditions: { PolicyLoaded } }) => sentence(PolicyLoaded?.message ?? ''),
    remedy: (agent) => policyRemedyOf(agent)?.(agent) ?? '',
    since: ({ conditions: { PolicyLoaded } }) => PolicyLoaded?.lastTransitionTime ?? null,
  },
  {
    kind: 'no-sidecar',
    title: 'Pods without a sidecar',
    explanation: 'These pods of the agent run without a sidecar, so nothing about them is reported.',
    holds: ({ podsWithoutSidecar, conditions: { Injected } }) =>
      podsWithoutSidecar.length > 0 || Injected?.status === 'False',
    reason: ({ podsWithoutSidecar, conditions: { Injected } }) =>
      podsWithoutSidecar.length === 0
        ? sentence(Injected?.message ?? '')
        : podsWithoutSidecar
            .map(({ reason, pods, example }) =>
              sentence(
                `${counted(pods, 'pod')} without a sidecar, such as ${example}: ${DRIFT_SUMMARIES[reason]}`,
              ),
            )
            .join(' '),
    remedy: ({ podsWithoutSidecar, agentName, namespace }) => {
      const restart = `Restart the workload of ${agentName} in ${namespace}, for example with kubectl rollout restart.`;
      if (!podsWithoutSidecar.some(({ reason }) => reason === 'not-opted-in')) return restart;
      const optIn = `Set the annotation ${ANNOTATIONS.inject.name}: "true" on the pods of ${agentName}, or remove their label ${AGENT_LABEL}.`;
      return podsWithoutSidecar.length > 1 ? `${optIn} ${restart}` : optIn;
    },
    since: ({ conditions: { Injected } }) => Injected?.lastTransitionTime ?? null,
  },
  {
    kind: 'no-lanes',
    title: 'No egress lanes',
    explanation:
      'The calls of the agent to models and tools do not pass its sidecar. What it calls is known only from its own reports.',
    holds: (agent, at) => isReporting(agent, at) && !isMirrored(agent) && agent.egress?.hasLanes !== true,
    reason: (agent) =>
      `The sidecar of ${agent.agentName} has no egress lane. ${
        agent.egress === null ? 'It has no census either.' : 'Its census sees addresses only.'
      }`,
    remedy: (agent) =>
      isWorkload(agent)
        ? `Set the annotation ${ANNOTATIONS.egressLanes.name} of the pods of ${agent.agentName} to the vendors of its models, for example "openai".`
        : `Start ${agent.agentName} with platform run, or set EGRESS_LANES of its sidecar and the base URLs of the agent.`,
  },
  {
    kind: 'unseen-egress',
    title: 'Connections that nothing explains',
    explanation:
      'The agent has connections that no lane, no declared host and no socket of the sidecar explains. What they transfer is not seen.',
    holds: (agent, at) => isReporting(agent, at) && (agent.egress?.unseen ?? 0) > 0,
    reason: ({ agentName, egress }) => {
      const { unseen, unexplained, issue } = egress ?? {};
      const more =
        (unexplained ?? 0) > 0
          ? ` ${counted(unexplained ?? 0, 'further connection')} ended before the address was seen.`
          : '';
      const addresses = `the agent ${agentName} has connections to ${unseen ?? 0} ${unseen === 1 ? 'address' : 'addresses'} that nothing explains`;
      return sentence(issue?.description ?? addresses) + more;
    },
    remedy: ({ egress }) =>
      sentence(
        egress?.issue?.recommendation ??
          'declare the hosts in spec.egress.hosts, or send the calls through an egress lane',
      ),
  },
  {
    kind: 'silent',
    title: 'Silent agents',
    explanation:
      'No instance of the agent has sent a heartbeat in time. Score, grade and issues are from its last report and may no longer be true.',
    holds: isSilent,
    reason: ({ agentName, lastHeartbeat, conditions: { Reporting } }) => {
      if (Reporting?.reason === 'ControlPlaneUnreachable') return sentence(Reporting.message);
      return lastHeartbeat === null
        ? `No heartbeat of ${agentName} has been received yet.`
        : `No heartbeat of ${agentName} since ${lastHeartbeat}.`;
    },
    remedy: silentRemedy,
    since: ({ lastHeartbeat, awaitedSince, conditions: { Reporting } }) =>
      lastHeartbeat ?? awaitedSince ?? Reporting?.lastTransitionTime ?? null,
  },
];
