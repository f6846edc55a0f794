// Workloads with agents are rolled, scaled, deleted, renamed, opted out and crashed in random order, and the product's own
// processes are killed meanwhile. When it is over, every observation is what the world is, and nothing was told or written
// for nothing on the way. SEED repeats the order of one run, CHURN_SECONDS is for how long.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { diceOf } from '../testing/dice.ts';
import {
  complaints,
  unrest,
  WORLD_KINDS,
  worldOf,
  type World,
  type WorldItem,
} from '../testing/cluster-snapshot.ts';
import {
  falseTransitions,
  historyOf,
  idleWrites,
  toldTooOften,
  type History,
} from '../testing/observation-history.ts';
import { IN_SOAK } from '../testing/real-time.ts';
import { SEED } from '../testing/seed.ts';
import { manifestOfMember, MEMBERS, serviceOf, workloadOf } from './churn/members.ts';
import { askSidecars, misjudged } from './churn/reports.ts';
import { performAction } from './churn/actions.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl } from './kubectl.ts';
import { HEARTBEAT_SECONDS, installProduct, leave, SYSTEM_NAMESPACE } from './product.ts';

jest.setTimeout(TEST_MS);

const NAMESPACE = 'churn';
const CHURN_MS = 1_000 * Number(process.env['CHURN_SECONDS'] ?? 6);
/** Actions: a machine that takes ten seconds for one goes on until then. */
const FEWEST = Math.ceil(CHURN_MS / 10_000);
/** Of a killed container, the kubelet's pauses grow to some minutes; observations follow within two intervals. */
const REST_MS = 900_000;
const TWO_INTERVALS_MS = 2 * HEARTBEAT_SECONDS * 1_000 + 10_000;
const REPLICAS = IN_SOAK ? 2 : 1;

let cluster: Cluster;
let kubectl: Kubectl;
let system: Kubectl;
const actions: string[] = [];

const readWorld = async (): Promise<World> =>
  worldOf((await kubectl.get<{ items: WorldItem[] }>(WORLD_KINDS)).items);

/** What was done, and the seed to do it again. */
const told = () => `SEED=${SEED}\n${actions.join('\n')}`;

beforeAll(async () => {
  cluster = await startCluster();
  kubectl = kubectlOf(cluster, NAMESPACE);
  system = kubectlOf(cluster, SYSTEM_NAMESPACE);
  await kubectl.run('create', 'namespace', NAMESPACE);
  await installProduct(cluster);
});

afterAll(async () => {
  await leave(cluster, NAMESPACE);
});

describe(`agents in turmoil (SEED=${SEED})`, () => {
  test(
    'everything happens to them',
    async () => {
      process.stdout.write(`churn: SEED=${SEED}, ${CHURN_MS / 1_000} s\n`);
      const image = cluster.imageRef('example-agents');
      await kubectl.apply(
        MEMBERS.flatMap((member) => [
          manifestOfMember(member),
          workloadOf(member, image, REPLICAS),
          serviceOf(member),
        ]),
      );
      const dice = diceOf(SEED);
      const until = performance.now() + CHURN_MS;
      while (performance.now() < until || actions.length <= FEWEST)
        actions.push(await performAction({ cluster, namespace: NAMESPACE, kubectl, system, dice }));
      expect(new Set(actions).size).toBeGreaterThan(FEWEST / 2);
    },
    CHURN_MS + TEST_MS,
  );

  test(
    'at the end every observation is what the world is, none is missing and none is left',
    async () => {
      let last = '';
      const rollouts = async () => {
        const open = unrest(await readWorld());
        last = open[0] ?? last;
        return open;
      };
      const rest = await eventually('an end of every rollout', rollouts, isEmpty, REST_MS);
      const look = async (): Promise<World | string[]> => {
        const world = await readWorld();
        const seen = [...unrest(world), ...complaints(world)];
        return seen.length > 0 ? seen : world;
      };
      const follow = await eventually(`the observations (${told()})`, look, (seen) => !Array.isArray(seen));
      const seconds = [rest, follow].map(({ tookMs }) => `${(tookMs / 1_000).toFixed(0)} s`);
      process.stdout.write(
        `churn: ${actions.length} actions, at rest after ${seconds[0]} (${last}), seen as it is after ${seconds[1]} more\n`,
      );
      const judge = async () => {
        const reports = await askSidecars(kubectl, await readWorld());
        const differ = async () => {
          const world = await readWorld();
          return [...complaints(world), ...misjudged(world, reports)];
        };
        // Until what a sidecar says has come to its observation.
        const { answer } = await eventually('phase, score and grade', differ, isEmpty, TWO_INTERVALS_MS);
        return answer;
      };
      // Asked again, for an agent that was slow to answer its sidecar says something else by now.
      await eventually(`phase, score and grade (${told()})`, judge, isEmpty);
    },
    REST_MS + TEST_MS,
  );

  test('no process of the product has ended by itself', async () => {
    const { items } = await system.get<{ items: ProductPod[] }>('pods');
    const ended = items.flatMap(({ metadata, status }) =>
      (status.containerStatuses ?? []).flatMap(({ lastState: { terminated } }) =>
        terminated === undefined || isAsked(terminated) ? [] : [{ pod: metadata.name, terminated }],
      ),
    );
    const logs = ended.map(({ pod }) => system.run('logs', pod, '--previous', '--tail=20'));
    expect({ ended, logs: await Promise.all(logs) }).toEqual({ ended: [], logs: [] });
  });
});

/**
 * Killed by the test, before its program had begun (which the runtime calls an error of the start) or later, or ended well
 * when the kubelet asked for it, as it does when a probe takes too long.
 */
const isAsked = ({ exitCode, reason }: { exitCode: number; reason: string }): boolean =>
  ([0, 137].includes(exitCode) && reason !== 'OOMKilled') || reason === 'StartError';

interface ProductPod {
  metadata: { name: string };
  status: {
    containerStatuses?: {
      lastState: { terminated?: { exitCode: number; reason: string; finishedAt: string } };
    }[];
  };
}

const isEmpty = (list: readonly unknown[]): boolean => list.length === 0;

describe('what was written on the way', () => {
  let history: History;
  const isOwn = (process.env['E2E_KUBECONFIG'] ?? '') === '';
  /** Another cluster's audit log is not ours to read. */
  const logged = isOwn ? test : test.skip;

  beforeAll(() => {
    // Other suites' agents share the cluster.
    const own = cluster.audit?.all().filter(({ objectRef }) => objectRef?.namespace === NAMESPACE);
    history = historyOf(own ?? []);
    const { made, steps, told } = history;
    process.stdout.write(
      `churn: ${made.length} observations, ${steps.length} changes of them, ${told.length} Events\n`,
    );
  });

  logged('is all there', () => {
    expect(history.made.length).toBeGreaterThanOrEqual(MEMBERS.length / 2);
    expect(history.steps.length).toBeGreaterThan(history.made.length);
    expect(history.told.length).toBeGreaterThan(history.made.length);
  });

  logged('no status without a change', () => {
    expect(idleWrites(history)).toEqual([]);
  });

  logged('no lastTransitionTime without a transition', () => {
    expect(falseTransitions(history)).toEqual([]);
  });

  logged('no Event twice', () => {
    expect(toldTooOften(history)).toEqual([]);
  });
});
