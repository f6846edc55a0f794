// The random actions of the churn test on workloads and on the product, one at a time.
import { oneOf } from '../../testing/random/dice.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { canKill } from '../container-killer.ts';
import type { Kubectl } from '../kubectl.ts';
import { SYSTEM_NAMESPACE } from '../product.ts';
import { isScalable, MEMBERS, serviceOf, SHARED_NAMES, TARGETS, workloadOf, type Member } from './members.ts';

export interface ChurnContext {
  cluster: Cluster;
  namespace: string;
  /** For the agents' namespace; `system` is for the product's namespace. */
  kubectl: Kubectl;
  system: Kubectl;
  dice: () => number;
}

type Action = (on: ChurnContext, member: Member) => Promise<string>;

const MOST_REPLICAS = 3;
const PARTS = ['operator', 'operator', 'webhook', 'control-plane'];

const below = (dice: () => number, limit: number): number => Math.floor(dice() * limit);
const pick = <T>(dice: () => number, from: readonly T[]): T => from[below(dice, from.length)]!;
const refOf = ({ kind, name }: Member): string => `${kind.toLowerCase()}/${name}`;

/** Ignores errors about missing objects and about a second restart within one second. */
async function ignoringMissing(work: Promise<string>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!/not found|NotFound|no objects passed|restart has already been triggered/.test(String(error)))
      throw error;
  }
}

async function annotate({ kubectl }: ChurnContext, member: Member, annotations: object): Promise<void> {
  const patch = JSON.stringify({ spec: { template: { metadata: { annotations } } } });
  await ignoringMissing(kubectl.run('patch', refOf(member), '--type=merge', '-p', patch));
}

async function killPods(kubectl: Kubectl, dice: () => number, selector: string): Promise<number> {
  const listed = (await kubectl.run('get', 'pods', '-l', selector, '-o', 'name')).split('\n').filter(Boolean);
  if (listed.length === 0) return 0;
  const some = dice() < 0.7 ? [pick(dice, listed)] : listed;
  await ignoringMissing(
    kubectl.run('delete', ...some, '--grace-period=0', '--force', '--wait=false', '--ignore-not-found'),
  );
  return some.length;
}

/** SIGKILL for the first process of one container of that name. */
async function crash(
  { cluster, dice }: ChurnContext,
  namespace: string,
  container: string,
  app?: string,
): Promise<void> {
  const labels = { 'container.name': container, 'pod.namespace': namespace };
  const filter = Object.entries(labels).map(([label, value]) => `labels."io.kubernetes.${label}"==${value}`);
  // Pod names start with the workload's name; containers have no label for it.
  const ofApp = app === undefined ? '' : `,labels."io.kubernetes.pod.name"~="^${app}-"`;
  // The list includes ended containers, which cannot be killed.
  const script = `set -- $(ctr -n k8s.io containers ls -q "$1")
    [ $# -gt 0 ] || exit 0
    for id in "\${@:1 + $0 % $#}" "$@"; do ctr -n k8s.io tasks kill -s SIGKILL "$id" 2>/dev/null && break; done`;
  await cluster.exec(['bash', '-c', script, String(below(dice, 1_000)), filter.join(',') + ofApp]);
}

interface Deployments {
  items: { spec: { replicas: number }; status: { readyReplicas?: number } }[];
}

/** Takes a part down only if all its replicas are ready, so that the part is not down permanently. */
async function whileUp(
  { system, dice }: ChurnContext,
  takeDown: (part: string) => Promise<string>,
): Promise<string> {
  const part = pick(dice, PARTS);
  const selector = ['-l', `app.kubernetes.io/component=${part}`];
  const { items } = await system.get<Deployments>('deployments', ...selector);
  const isUp = items.every(({ spec, status }) => status.readyReplicas === spec.replicas);
  return isUp ? `${part} ${await takeDown(part)}` : `${part} is down`;
}

const ACTIONS = {
  roll: async ({ kubectl }, member) => {
    await ignoringMissing(kubectl.run('rollout', 'restart', refOf(member)));
    return '';
  },
  scale: async ({ kubectl, dice }, member) => {
    const replicas = below(dice, MOST_REPLICAS + 1);
    if (isScalable(member))
      await ignoringMissing(kubectl.run('scale', refOf(member), `--replicas=${replicas}`));
    return `to ${replicas}`;
  },
  remove: async ({ kubectl }, member) => {
    await kubectl.run('delete', refOf(member), '--wait=false', '--ignore-not-found');
    return '';
  },
  /** Creates the workload, or resets it to its initial state. */
  restore: async ({ cluster, kubectl, dice }, member) => {
    const replicas = 1 + below(dice, MOST_REPLICAS);
    await kubectl.apply([workloadOf(member, cluster.imageRef('example-agents'), replicas)]);
    return `with ${replicas}`;
  },
  rename: async (on, member) => {
    const name = pick(on.dice, [null, `${member.name}-renamed`, ...SHARED_NAMES]);
    await annotate(on, member, { 'platform.io/agent-name': name });
    return `to ${name ?? member.name}`;
  },
  optOut: async (on, member) => {
    await annotate(on, member, { 'platform.io/inject': 'false' });
    return '';
  },
  optIn: async (on, member) => {
    await annotate(on, member, { 'platform.io/inject': 'true' });
    return '';
  },
  crash: async (on, member) => {
    if (canKill) await crash(on, on.namespace, 'agent', member.name);
    return '';
  },
  crashSidecar: async (on, member) => {
    if (canKill) await crash(on, on.namespace, 'platform-sidecar', member.name);
    return '';
  },
  killPods: async ({ kubectl, dice }, { name }) => `${await killPods(kubectl, dice, `app=${name}`)}`,
  route: async ({ kubectl, dice }, member) => {
    const target = pick(dice, [null, ...TARGETS]);
    if (target === null) await kubectl.run('delete', 'service', member.name, '--ignore-not-found');
    else await kubectl.apply([serviceOf(member, target)]);
    return `by ${target}`;
  },
  forget: async ({ kubectl }, { name }) => {
    await kubectl.run('delete', 'agentobservation', name, '--ignore-not-found', '--wait=false');
    return '';
  },
  killPart: (on) =>
    whileUp(
      on,
      async (part) => `${await killPods(on.system, on.dice, `app.kubernetes.io/component=${part}`)}`,
    ),
  crashPart: (on) =>
    whileUp(on, async (part) => {
      if (canKill) await crash(on, SYSTEM_NAMESPACE, part);
      return '';
    }),
} satisfies Record<string, Action>;

const WEIGHTS: Readonly<Record<keyof typeof ACTIONS, number>> = {
  roll: 4,
  scale: 6,
  remove: 3,
  restore: 6,
  rename: 4,
  optOut: 1,
  optIn: 2,
  crash: 4,
  crashSidecar: 2,
  killPods: 4,
  route: 3,
  forget: 1,
  killPart: 2,
  crashPart: 1,
};

/** Performs one random action and returns its description. */
export async function performAction(on: ChurnContext): Promise<string> {
  const action = oneOf(on.dice, WEIGHTS);
  const member = pick(on.dice, MEMBERS);
  const details = await ACTIONS[action](on, member);
  return [action, action.endsWith('Part') ? '' : member.name, details].filter(Boolean).join(' ');
}
