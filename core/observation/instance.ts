import type { CheckStatus } from '../facts/check.ts';
import { UNDECLARED_TOOL } from '../gap/egress-rules.ts';
import { isVerified } from '../gap/gap.ts';
import { EVALUATED, EVALUATED_PROOF } from '../gap/manifest-rules.ts';
import { REPORTER_INVALID } from '../gap/reporter-rules.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { isValid } from '../evidence/proof-expiry.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import { dayOf } from '../usage/day-totals.ts';
import { present } from '../untrusted/present.ts';
import type { BriefInstance, InstanceStatus } from '../shapes/instance.ts';
import { isLive, phaseOf } from './phase.ts';
import { staleRules } from './proofs.ts';
import { stateOfInstance } from './reported-state.ts';

/** Sender of a heartbeat according to its verified credential, never according to the body. */
export interface SenderId {
  /** Pod name, or the instance name of a remote agent. */
  instance: string;
  /** UID of the pod. */
  uid?: string;
}

/** Whether the heartbeat comes from the same process as the last heartbeat of the instance. */
export function isSameProcess(known: BriefInstance, heartbeat: Heartbeat, sender: SenderId): boolean {
  if (known.uid !== sender.uid) return false;
  return heartbeat.startedAt === null || Date.parse(heartbeat.startedAt) === Date.parse(known.startedAt);
}

/**
 * Whether the heartbeat contains nothing new: it is a repeat, it is older than the last merged heartbeat, or its process was
 * replaced by a newer one. The last case applies only while the newer process reports, because a clock may be set back.
 */
export function isOutdated(
  known: BriefInstance | undefined,
  heartbeat: Heartbeat,
  sender: SenderId,
  at: Date,
): boolean {
  if (known === undefined || known.uid !== sender.uid || heartbeat.startedAt === null) return false;
  if (isSameProcess(known, heartbeat, sender)) return heartbeat.seq !== null && heartbeat.seq <= known.seq;
  return Date.parse(heartbeat.startedAt) < Date.parse(known.startedAt) && isLive(known, at);
}

/** Facts of the receiver in addition to the heartbeat and its sender. */
export interface Receipt {
  at: Date;
  /** The agent's stored proofs after the heartbeat. */
  proofs: readonly ProofRecord[];
}

/** The row of the instance after the heartbeat. `known`: its previous row, of this process or of an earlier one. */
export function instanceOf(
  known: BriefInstance | undefined,
  heartbeat: Heartbeat,
  sender: SenderId,
  { at, proofs }: Receipt,
): InstanceStatus {
  const before = known !== undefined && isSameProcess(known, heartbeat, sender) ? known : undefined;
  const issues = heartbeat.gap.issues.filter(isVerified);
  const denials = issues.filter((issue) => issue.source === 'policy').map((issue) => issue.property);
  // The gap has only the denials of the newest request.
  const denied = heartbeat.denials?.map((reason) => `policy.${reason}`) ?? [];
  return present({
    name: sender.instance,
    uid: sender.uid,
    startedAt: heartbeat.startedAt ?? before?.startedAt ?? at.toISOString(),
    seq: heartbeat.seq ?? (before === undefined ? 0 : before.seq + 1),
    phase: phaseOf(heartbeat.health.status),
    score: heartbeat.gap.score,
    ...withoutLocalProofs(heartbeat, { at, proofs }),
    lastHeartbeat: at.toISOString(),
    intervalSeconds: heartbeat.intervalSeconds,
    sidecarVersion: heartbeat.sidecarVersion,
    manifestHash: heartbeat.manifestHash,
    ...dayTotals(before, heartbeat, at),
    violations: new Set([...denials, ...denied]).size,
    criticalIssues: issues.filter((issue) => issue.severity === 'critical').length,
    ...stateOfInstance(heartbeat),
    nothingDeclared: isNothingDeclared(heartbeat, { at, proofs }) || undefined,
    reporterInvalid: issues.some(({ property }) => property === REPORTER_INVALID) || undefined,
    staleProofs: staleProofsOf(heartbeat),
    agentReachable: agentReachable(heartbeat),
    modelStatus: modelCheck(heartbeat)?.status,
    policyState: heartbeat.policyState,
    outcomes: heartbeat.outcomes,
    stop: stopOf(heartbeat),
    deniedInWindow: Math.max(0, (heartbeat.outcomes?.deny ?? 0) - (before?.outcomes?.deny ?? 0)),
  });
}

function staleProofsOf({ proof }: Heartbeat): string[] | undefined {
  const stale = staleRules(proof);
  return stale.length === 0 ? undefined : stale;
}

/** Without the counter, which changes. */
function stopOf({ stop }: Heartbeat): InstanceStatus['stop'] {
  return stop === null ? undefined : { id: stop.id, since: stop.since, lanes: stop.lanes };
}

/** Whether requests use tools, and the manifest has nothing to compare them with. An agent can add local proofs itself. */
function isNothingDeclared({ evidence, gap }: Heartbeat, { at, proofs }: Receipt): boolean {
  const declared = evidence?.items.some(({ kind }) => kind === 'tool' || kind === 'guardrail') ?? true;
  const proved = proofs.some((proof) => proof.origin === 'control-plane' && isValid(proof, at));
  if (declared || proved) return false;
  return gap.issues.some((issue) => isVerified(issue) && issue.property.startsWith(UNDECLARED_TOOL));
}

/** The check of the model that the heartbeat declares, or the first model check if no model is declared. */
export function modelCheck(heartbeat: Heartbeat): { status: CheckStatus; latencyMs?: number } | undefined {
  const { model, health } = heartbeat;
  const wanted = model === null ? null : `model:${model.provider}/${model.id}`;
  return health.checks.find((check) => (wanted === null ? check.category === 'model' : check.id === wanted));
}

/** undefined: unknown. Without a sidecar probe, an agent that reports about itself counts as reachable. */
function agentReachable(heartbeat: Heartbeat): boolean | undefined {
  const upstream = heartbeat.health.checks.find((check) => check.id === 'agent:upstream');
  if (upstream === undefined) return heartbeat.source === 'agent-sdk' ? true : undefined;
  return upstream.status === 'skip' ? undefined : upstream.status === 'pass';
}

type LocalProofs = Pick<InstanceStatus, 'scoreWithoutLocalProofs' | 'localProofsUnknown'>;

/**
 * A sidecar 0.1.0 does not report how much local proofs add to its score. Its list of proofs does not help, because the agent
 * can remove a proof after the score was computed. So `localProofsUnknown` is set unless no local proof can count.
 */
function withoutLocalProofs(heartbeat: Heartbeat, { at, proofs }: Receipt): LocalProofs {
  const { scoreWithoutLocalProofs: reported, gap, sidecarVersion } = heartbeat;
  if (reported !== null) return reported === gap.score ? {} : { scoreWithoutLocalProofs: reported };
  const isProved = proofs.some(
    (proof) => proof.ruleId === EVALUATED_PROOF && proof.origin === 'control-plane' && isValid(proof, at),
  );
  const isIssue = gap.issues.some((issue) => issue.property === EVALUATED && isVerified(issue));
  // Without a sidecar the agent computes its score itself.
  return sidecarVersion === null || isProved || isIssue ? {} : { localProofsUnknown: true };
}

/** Maximum difference of the clocks. If it is exceeded, the clock of the receiver decides the day. */
const CLOCK_TOLERANCE_MS = 5 * 60 * 1000;

/** Totals count for the UTC day on which they were sent, even if they arrive after midnight. */
function dayTotals(
  before: BriefInstance | undefined,
  heartbeat: Heartbeat,
  at: Date,
): Pick<InstanceStatus, 'tokensToday' | 'costTodayUsd' | 'day'> {
  const { totals, usage, sentAt } = heartbeat;
  if (totals !== null) {
    const sent = sentAt === null ? at : new Date(sentAt);
    const day = dayOf(Math.abs(sent.getTime() - at.getTime()) <= CLOCK_TOLERANCE_MS ? sent : at);
    return { tokensToday: totals.tokensToday, costTodayUsd: totals.costTodayUsd ?? 0, day };
  }
  const day = dayOf(at);
  const soFar = before?.day === day ? before : { tokensToday: 0, costTodayUsd: 0 };
  return {
    tokensToday: soFar.tokensToday + (usage?.totalTokens ?? 0),
    costTodayUsd: soFar.costTodayUsd,
    day,
  };
}
