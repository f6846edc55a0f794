// Compares the report of every sidecar with the observation of its agent.
import { agentsOf, differences, type World } from '../../testing/cluster/cluster-snapshot.ts';
import type { Kubectl } from '../kubectl.ts';

interface Report {
  score: number;
  grade: string;
  status: 'ready' | 'degraded' | 'not-ready';
}

const PHASES = { ready: 'Healthy', degraded: 'Degraded', 'not-ready': 'Unhealthy' } as const;
const WORST_LAST = ['Healthy', 'Degraded', 'Unhealthy'];
/** Number of pods queried concurrently. */
const CONCURRENCY = 4;

const QUERY = `
const json = (path) => fetch('http://127.0.0.1:4001' + path).then((response) => response.json());
Promise.all([json('/gap'), json('/health/ready')]).then(([{ score, grade }, { status }]) => console.log(JSON.stringify({ score, grade, status })));`;

/** Queries every sidecar; returns the reports by pod. */
export async function querySidecars(kubectl: Kubectl, world: World): Promise<Map<string, Report>> {
  const pods = [...agentsOf(world).values()].flat().map(({ metadata }) => metadata.name);
  const reports = new Map<string, Report>();
  const worker = async (): Promise<void> => {
    for (let pod = pods.pop(); pod !== undefined; pod = pods.pop())
      reports.set(pod, JSON.parse(await kubectl.script(pod, 'platform-sidecar', QUERY)) as Report);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return reports;
}

/** Observations whose phase, score or grade differs from the agent's worst instance. */
export function misjudged(world: World, reports: ReadonlyMap<string, Report>): string[] {
  return [...agentsOf(world)].flatMap(([name, pods]) => {
    const own = pods
      .map(({ metadata }) => reports.get(metadata.name))
      .filter((report) => report !== undefined);
    const phases = own.map(({ status }) => PHASES[status] as string);
    const lowest = own.reduce((a, b) => (b.score < a.score ? b : a));
    const { status } = world.observations.find(({ metadata }) => metadata.name === name) ?? {};
    return differences(name, [
      ['phase', status?.phase, phases.sort((a, b) => WORST_LAST.indexOf(b) - WORST_LAST.indexOf(a))[0]],
      ['score', status?.score, lowest.score],
      ['grade', status?.grade, lowest.grade],
    ]);
  });
}
