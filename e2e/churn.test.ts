// Rolls, scales, deletes, renames, opts out and crashes workloads with agents in random order, and kills processes of the
// product. At the end every observation must match the cluster, without superfluous Events or writes. SEED repeats the order of
// a run, CHURN_SECONDS is the duration.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { diceOf } from '../testing/random/dice.ts';
import {
  complaints,
  unrest,
  WORLD_KINDS,
  worldOf,
  type World,
  type WorldItem,
} from '../testing/cluster/cluster-snapshot.ts';
import {
  falseTransitions,
  historyOf,
  idleWrites,
  duplicateEvents,
  type History,
} from '../testing/fleet/observation-history.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { SEED } from '../testing/random/seed.ts';
import { manifestOfMember, MEMBERS, serviceOf, workloadOf } from './churn/members.ts';
import { querySidecars, misjudged } from './churn/reports.ts';
import { performAction } from './churn/actions.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl } from './kubectl.ts';
import { HEARTBEAT_SECONDS, installProduct, leave, SYSTEM_NAMESPACE } from './product.ts';

jest.setTimeout(TEST_MS);

const NAMESPACE = 'churn';
const CHURN_MS = 1_000 * Number(process.env['CHURN_SECONDS'] ?? 6);
/** Minimum number of actions, for machines that need up to ten seconds for one. */
const MIN_ACTIONS = Math.ceil(CHURN_MS / 10_000);
/** The kubelet's back-off for killed containers grows to several minutes; observations follow within two intervals. */
const SETTLE_MS = 900_000;
const TWO_INTERVALS_MS = 2 * HEARTBEAT_SECONDS * 1_000 + 10_000;
const REPLICAS = IN_SOAK ? 2 : 1;

let cluster: Cluster;
let kubectl: Kubectl;
let system: Kubectl;
const actions: string[] = [];

const readWorld = async (): Promise<World> =>
  worldOf((await kubectl.get<{ items: WorldItem[] }>(WORLD_KINDS)).items);

/** The actions so far, and the seed to repeat them. */
const log = () => `SEED=${SEED}\n${actions.join('\n')}`;

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

describe(`agents under churn (SEED=${SEED})`, () => {
  test(
    'all random actions succeed',
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
      while (performance.now() < until || actions.length <= MIN_ACTIONS)
        actions.push(await performAction({ cluster, namespace: NAMESPACE, kubectl, system, dice }));
      expect(new Set(actions).size).toBeGreaterThan(MIN_ACTIONS / 2);
    },
    CHURN_MS + TEST_MS,
  );

  test(
    'at the end every observation matches the cluster, none is missing and none is left over',
    async () => {
      let last = '';
      const rollouts = async () => {
        const open = unrest(await readWorld());
        last = open[0] ?? last;
        return open;
      };
      const settled = await eventually('the end of every rollout', rollouts, isEmpty, SETTLE_MS);
      const compare = async (): Promise<World | string[]> => {
        const world = await readWorld();
        const seen = [...unrest(world), ...complaints(world)];
        return seen.length > 0 ? seen : world;
      };
      const follow = await eventually(`the observations (${log()})`, compare, (seen) => !Array.isArray(seen));
      const seconds = [settled, follow].map(({ tookMs }) => `${(tookMs / 1_000).toFixed(0)} s`);
      process.stdout.write(
        `churn: ${actions.length} actions, settled after ${seconds[0]} (${last}), observations correct after another ${seconds[1]}\n`,
      );
      const judge = async () => {
        const reports = await querySidecars(kubectl, await readWorld());
        const differ = async () => {
          const world = await readWorld();
          return [...complaints(world), ...misjudged(world, reports)];
        };
        // Wait until the sidecars' reports are in the observations.
        const { result } = await eventually('phase, score and grade', differ, isEmpty, TWO_INTERVALS_MS);
        return result;
      };
      // Repeated, because the report changes after a slow response of an agent.
      await eventually(`phase, score and grade (${log()})`, judge, isEmpty);
    },
    SETTLE_MS + TEST_MS,
  );

  test('no process of the product has exited unexpectedly', async () => {
    const { items } = await system.get<{ items: ProductPod[] }>('pods');
    const ended = items.flatMap(({ metadata, status }) =>
      (status.containerStatuses ?? []).flatMap(({ lastState: { terminated } }) =>
        terminated === undefined || isExpectedEnd(terminated) ? [] : [{ pod: metadata.name, terminated }],
      ),
    );
    const logs = ended.map(({ pod }) => system.run('logs', pod, '--previous', '--tail=20'));
    expect({ ended, logs: await Promise.all(logs) }).toEqual({ ended: [], logs: [] });
  });
});

/**
 * Killed by the test, possibly before the program started (StartError), or a clean exit on the kubelet's request, such as after a
 * slow probe.
 */
const isExpectedEnd = ({ exitCode, reason }: { exitCode: number; reason: string }): boolean =>
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

describe('the writes during the churn', () => {
  let history: History;
  const isOwn = (process.env['E2E_KUBECONFIG'] ?? '') === '';
  /** The audit log of an external cluster is not accessible. */
  const logged = isOwn ? test : test.skip;

  beforeAll(() => {
    // The cluster is shared with agents of other suites.
    const own = cluster.audit?.all().filter(({ objectRef }) => objectRef?.namespace === NAMESPACE);
    history = historyOf(own ?? []);
    const { made, steps, events } = history;
    process.stdout.write(
      `churn: ${made.length} observations, ${steps.length} changes of them, ${events.length} Events\n`,
    );
  });

  logged('are in the audit log', () => {
    expect(history.made.length).toBeGreaterThanOrEqual(MEMBERS.length / 2);
    expect(history.steps.length).toBeGreaterThan(history.made.length);
    expect(history.events.length).toBeGreaterThan(history.made.length);
  });

  logged('contain no status write without a change', () => {
    expect(idleWrites(history)).toEqual([]);
  });

  logged('contain no lastTransitionTime change without a transition', () => {
    expect(falseTransitions(history)).toEqual([]);
  });

  logged('contain no duplicate Event', () => {
    expect(duplicateEvents(history)).toEqual([]);
  });
});
