import { setTimeout as sleep } from 'node:timers/promises';
import { appliesTo } from '../../core/organisation/stops.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import type { CliContext } from '../context.ts';
import { isPattern, targetsOf, type Scope } from './scope.ts';
import {
  eachOf,
  isForbidden,
  messageOf,
  stopIn,
  type AgentKey,
  type ListedStop,
  type StopRequest,
  type Stops,
} from './stops.ts';

export interface StopWish {
  scope: Scope;
  reason: string;
  /** ISO 8601. */
  until?: string;
  /** Also annotate the pods. */
  direct: boolean;
  /** 0: do not wait for the confirmations. */
  waitMs: number;
}

/** What a stop has done to one agent. */
export interface AgentState extends AgentKey {
  /** `Idle`: no instance runs. `Unknown`: the status cannot be read. */
  state: 'Stopped' | 'IngressOnly' | 'Stopping' | 'Idle' | 'Unknown';
  instances: number;
  /** Number of instances that apply the stop. */
  confirmed: number;
}

export interface StopReport {
  stops: ListedStop[];
  /** Empty if the command does not wait. */
  agents: AgentState[];
  /** Number of annotated pods. */
  pods: number;
  warnings: string[];
  /** null: the command did not wait. */
  confirmed: boolean | null;
}

/** 10 of 160 kubelets updated the file of the annotation only after another change of the pod. */
const REPEAT_MS = 3_000;
const POLL_MS = 500;

const isDone = ({ state }: AgentState): boolean => state !== 'Stopping' && state !== 'Unknown';

/** Creates the stops, and waits until every instance has confirmed them. */
export async function runStop(
  stops: Stops,
  { scope, reason, until, direct, waitMs }: StopWish,
  shown: Pick<CliContext, 'progress' | 'onInterrupt'>,
): Promise<StopReport> {
  const pods = direct ? stops.pods : null;
  const report: StopReport = { stops: [], agents: [], pods: 0, warnings: [], confirmed: null };
  const targets = targetsOf(scope, await knownAgents(stops, scope, direct));
  const applied: ((agent: AgentKey) => boolean)[] = [];
  for (const target of targets) {
    const request: StopRequest = { ...target, reason, ...(until !== undefined && { until }) };
    let root = scope.rootNamespace;
    try {
      const created = await stops.create(request);
      report.stops.push(created);
      shown.progress?.(`created ${created.id}`);
      // Only the control plane knows the namespace of its release.
      if (target.namespace === undefined) root = created.namespace;
    } catch (error) {
      // With --direct the right to annotate pods is enough.
      if (pods === null && report.stops.length === 0) throw error;
      report.warnings.push(messageOf(error));
      if (pods === null) continue;
    }
    const stop = stopIn({ ...request, namespace: target.namespace ?? root, name: '', since: '' });
    applied.push((agent) => appliesTo(stop, agent, root));
  }
  const isMeant = (agent: AgentKey): boolean => applied.some((applies) => applies(agent));
  const spaces = targets.map(({ namespace = null }) => namespace);
  const where = { isMeant, namespaces: spaces.includes(null) ? [null] : spaces };
  const annotate = async (): Promise<void> => {
    if (pods === null) return;
    const { changed, problems } = await annotatePods(pods, where, reason);
    report.pods = changed;
    report.warnings = [...new Set([...report.warnings, ...problems])];
  };
  await annotate();
  if (applied.length < targets.length) report.confirmed = false;
  if (waitMs === 0) return report;
  report.confirmed = false;
  const agents: AgentState[] = [];
  const unread = await eachOf(where.namespaces, async (namespace) => {
    for (const { name, namespace: home } of await stops.agents(namespace))
      if (isMeant({ name, namespace: home })) agents.push(stateOf({ name, namespace: home }, {}));
  });
  report.warnings.push(...unread.map((each) => `the confirmation is unknown: ${each}`));
  report.agents = agents;
  report.warnings.push(...(await confirm(stops, { agents, waitMs, annotate }, shown)));
  report.confirmed = unread.length === 0 && applied.length === targets.length && report.agents.every(isDone);
  return report;
}

/** null: names are not compared with agents, because patterns select namespaces or the caller may not list agents. */
async function knownAgents(
  stops: Stops,
  { agents, namespaces, all }: Scope,
  direct: boolean,
): Promise<AgentKey[] | null> {
  const [namespace = null, ...others] = namespaces;
  if (all || others.length > 0 || agents.length === 0 || isPattern(namespace ?? '')) return null;
  try {
    const known = await stops.agents(namespace);
    // Without an operator, an agent may have no AgentObservation yet.
    const pods = direct ? await stops.pods?.list(namespace) : undefined;
    return [...known, ...(pods ?? []).map(({ agent }) => agent)];
  } catch (error) {
    if (namespace === null || !isForbidden(error)) throw error;
    return null;
  }
}

/** Sets the annotation, or removes it if `reason` is null. `changed`: number of pods. */
export async function annotatePods(
  pods: NonNullable<Stops['pods']>,
  where: { isMeant: (agent: AgentKey) => boolean; namespaces: readonly (string | null)[] },
  reason: string | null,
): Promise<{ changed: number; problems: string[] }> {
  let changed = 0;
  const problems = await eachOf(where.namespaces, async (namespace) => {
    const found = await pods.list(namespace);
    const meant = found.filter((pod) => where.isMeant(pod.agent) && (reason !== null || pod.isAnnotated));
    const failures = await eachOf(meant, async (pod) => {
      await pods.annotate(pod, reason);
      changed += 1;
    });
    if (failures.length > 0) throw new Error(failures.join('; '));
  });
  return { changed, problems };
}

/** Updates the states of the agents until all have confirmed. Returns why states could not be read. */
async function confirm(
  stops: Stops,
  { agents, waitMs, annotate }: { agents: AgentState[]; waitMs: number; annotate: () => Promise<void> },
  { progress, onInterrupt }: Pick<CliContext, 'progress' | 'onInterrupt'>,
): Promise<string[]> {
  const signal = onInterrupt?.();
  const startMs = performance.now();
  let isRepeated = false;
  let shown = '';
  for (;;) {
    const open = agents.filter((agent) => !isDone(agent));
    const problems = await eachOf(open, async (agent) => {
      Object.assign(agent, stateOf(agent, await stops.status(agent)));
    });
    const passedMs = performance.now() - startMs;
    if (agents.every(isDone)) return problems;
    if (passedMs >= REPEAT_MS && !isRepeated) {
      isRepeated = true;
      await annotate();
    }
    if (passedMs >= waitMs || signal?.aborted) return problems;
    const text = progressText(agents);
    if (text !== shown) progress?.(text);
    shown = text;
    const pauseMs = Math.min(POLL_MS, waitMs - passedMs);
    await sleep(pauseMs, undefined, { ...(signal && { signal }) }).catch(() => undefined);
  }
}

/** @param status null: the agent was deleted; empty: not known */
export function stateOf(
  { namespace, name }: AgentKey,
  status: Partial<ObservationStatus> | null,
): AgentState {
  const condition = status?.conditions?.find(({ type }) => type === 'Stopped');
  const { instances = status?.instanceCount ?? 0, confirmed = 0 } = status?.stop ?? {};
  const state = ((): AgentState['state'] => {
    if (condition?.status === 'True') return condition.reason === 'IngressOnly' ? 'IngressOnly' : 'Stopped';
    if (status?.phase === undefined) return status === null ? 'Idle' : 'Unknown';
    // Without a report that is awaited, the agent may run and not be stopped.
    return status.phase === 'Pending' && status.awaitedSince === undefined && instances === 0
      ? 'Idle'
      : 'Stopping';
  })();
  return { namespace, name, state, instances, confirmed };
}

/** For example `Stopping (3 of 5 instances)`. */
export function progressText(agents: readonly AgentState[]): string {
  const sum = (member: 'instances' | 'confirmed') => agents.reduce((total, each) => total + each[member], 0);
  const isOpen = agents.some(({ state }) => state === 'IngressOnly');
  const done = isOpen ? 'Requests rejected' : 'Stopped';
  return `${agents.every(isDone) ? done : 'Stopping'} (${sum('confirmed')} of ${sum('instances')} instances)`;
}
