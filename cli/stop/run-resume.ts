import { matchesAny } from '../../core/organisation/pattern.ts';
import { appliesTo } from '../../core/organisation/stops.ts';
import { annotatePods } from './run-stop.ts';
import { didYouMean, isPattern, planResume, type Scope } from './scope.ts';
import { eachOf, stopIn, type AgentKey, type ListedStop, type Stops } from './stops.ts';

export interface ResumeReport {
  resumed: ListedStop[];
  /** Number of pods whose annotation was removed. */
  pods: number;
  /** Stops that still apply, because they also concern other agents. */
  remaining: ListedStop[];
  /** What was not resumed, and why. */
  problems: string[];
}

/** Deletes stops by id and those of the selected agents, and removes the annotation from the pods of these agents. */
export async function runResume(stops: Stops, scope: Scope, ids: readonly string[]): Promise<ResumeReport> {
  const { agents, namespaces, all, rootNamespace } = scope;
  const isByAgent = all || agents.length + namespaces.length > 0;
  const isAnywhere = isByAgent && (namespaces.length === 0 || namespaces.some(isPattern));
  const spaces = [...namespaces, ...ids.map((id) => id.slice(0, id.indexOf('/')))];
  const listed = await stops.list(isAnywhere ? null : [...new Set(spaces)]);
  const byId = listed.filter(({ id }) => ids.includes(id));
  const { chosen, wider } = isByAgent ? planResume(scope, listed) : { chosen: [], wider: [] };
  const homes = new Set(chosen.map(({ namespace }) => namespace));
  if (!all && namespaces.length === 0 && homes.size > 1)
    throw new Error(`agents of several namespaces are meant: ${[...homes].join(', ')}; pass --namespace`);
  const report: ResumeReport = { resumed: [], pods: 0, remaining: wider, problems: [] };
  for (const id of ids.filter((each) => !byId.some((stop) => stop.id === each)))
    report.problems.push(
      `there is no stop ${id}${didYouMean(
        id,
        listed.map((stop) => stop.id),
      )}`,
    );
  const failures = await eachOf([...new Set([...byId, ...chosen])], async (stop) => {
    await stops.remove(stop);
    report.resumed.push(stop);
  });
  report.problems.push(...failures);
  // The namespace of an agent that only an annotation stops must be named: another team may have an agent of this name.
  const known = namespaces.length > 0 ? namespaces : [...homes];
  const isMeant = (agent: AgentKey): boolean =>
    all ||
    (matchesAny(known, agent.namespace) && (agents.length === 0 || matchesAny(agents, agent.name))) ||
    report.resumed.some((stop) => appliesTo(stopIn(stop), agent, rootNamespace));
  const touched = [...known, ...report.resumed.map(({ namespace }) => namespace)];
  const isBroad = all || touched.some((each) => isPattern(each) || each === rootNamespace);
  if (stops.pods !== null) {
    const where = { isMeant, namespaces: isBroad ? [null] : [...new Set(touched)] };
    const lifted = await annotatePods(stops.pods, where, null);
    report.pods = lifted.changed;
    report.problems.push(...lifted.problems.map((each) => `the annotation of pods may remain: ${each}`));
  }
  if (report.resumed.length + report.pods + report.problems.length + wider.length === 0)
    throw new Error(nothingText(scope, listed, stops.pods !== null));
  return report;
}

function nothingText(
  { agents: [name = ''], namespaces }: Scope,
  listed: readonly ListedStop[],
  hasPods: boolean,
): string {
  const meant = didYouMean(
    name,
    listed.flatMap((stop) => stop.agents ?? []),
  );
  const advice = hasPods
    ? namespaces.length === 0 && '; pass --namespace if the pods have the annotation platform.io/stop'
    : '; only a kubeconfig reaches the annotation platform.io/stop of pods';
  return `nothing to resume: no stop applies${meant}${advice || ''}; platform stop --list shows all stops`;
}
