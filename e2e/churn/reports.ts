// What every sidecar answers when it is asked itself, and what its agent's observation should say then.
import { agentsOf, differences, type World } from '../../testing/cluster-snapshot.ts';
import type { Kubectl } from '../kubectl.ts';

interface Report {
  score: number;
  grade: string;
  status: 'ready' | 'degraded' | 'not-ready';
}

const PHASES = { ready: 'Healthy', degraded: 'Degraded', 'not-ready': 'Unhealthy' } as const;
const WORST_LAST = ['Healthy', 'Degraded', 'Unhealthy'];
/** Pods that are asked at the same time. */
const AT_ONCE = 4;

const ASK = `
const json = (path) => fetch('http://127.0.0.1:4001' + path).then((answer) => answer.json());
Promise.all([json('/gap'), json('/health/ready')]).then(([{ score, grade }, { status }]) => console.log(JSON.stringify({ score, grade, status })));`;

/** By pod. */
export async function askSidecars(kubectl: Kubectl, world: World): Promise<Map<string, Report>> {
  const pods = [...agentsOf(world).values()].flat().map(({ metadata }) => metadata.name);
  const reports = new Map<string, Report>();
  const ask = async (): Promise<void> => {
    for (let pod = pods.pop(); pod !== undefined; pod = pods.pop())
      reports.set(pod, JSON.parse(await kubectl.script(pod, 'platform-sidecar', ASK)) as Report);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return reports;
}

/** Where phase, score or grade are not those of the agent's worst instance. */
export function misjudged(world: World, reports: ReadonlyMap<string, Report>): string[] {
  return [...agentsOf(world)].flatMap(([name, pods]) => {
    const said = pods
      .map(({ metadata }) => reports.get(metadata.name))
      .filter((report) => report !== undefined);
    const phases = said.map(({ status }) => PHASES[status] as string);
    const lowest = said.reduce((a, b) => (b.score < a.score ? b : a));
    const { status } = world.observations.find(({ metadata }) => metadata.name === name) ?? {};
    return differences(name, [
      ['phase', status?.phase, phases.sort((a, b) => WORST_LAST.indexOf(b) - WORST_LAST.indexOf(a))[0]],
      ['score', status?.score, lowest.score],
      ['grade', status?.grade, lowest.grade],
    ]);
  });
}
