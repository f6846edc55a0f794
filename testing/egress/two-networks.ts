import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Addresses: the pod, a host that the manifest declares, one that it does not declare, and one that only a lane leads to. */
export const [POD, DECLARED_HOST, HIDDEN_HOST, LANE_HOST] = [
  '10.9.0.2',
  '10.9.0.1',
  '10.9.0.3',
  '10.9.0.4',
] as const;

/**
 * Creates a network namespace for other hosts and one for a pod, with a cable between them, and prints their process ids. They
 * exist until the end of standard input. The interface has the name that interfaces of pods have.
 */
const SCRIPT = `
set -e
ip link set lo up
unshare -n sleep infinity &
pod=$!
trap 'kill $pod' EXIT
until [ "$(readlink /proc/$pod/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link add out0 type veth peer name eth0 netns $pod
ip addr add ${DECLARED_HOST}/24 dev out0
ip addr add ${HIDDEN_HOST}/24 dev out0
ip addr add ${LANE_HOST}/24 dev out0
ip link set out0 up
nsenter -t $pod -n sh -c 'ip link set lo up; ip addr add ${POD}/24 dev eth0; ip link set eth0 up'
echo "$$ $pod"
cat
`;

/** Two networks of this machine: a pod, and everything outside of it. */
export interface TwoNetworks {
  /** Starts a Node.js program in the network of the pod, or outside. */
  start(where: 'pod' | 'outside', args: readonly string[], env?: Record<string, string>): ChildProcess;
  close(): Promise<void>;
}

/** Why this machine cannot have them; undefined: it can. */
export function whyNoNetworks(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces require Linux';
  if (process.getuid?.() !== 0) return 'network namespaces require root';
  const { status } = spawnSync('unshare', ['-n', 'sh', '-c', 'ip link add out0 type veth peer name in0']);
  return status === 0 ? undefined : 'unshare, ip and veth interfaces are required';
}

export async function openTwoNetworks(): Promise<TwoNetworks> {
  const keeper = spawn('unshare', ['-n', 'sh', '-c', SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(keeper, 'exit');
  const first = await Promise.race([once(createInterface({ input: keeper.stdout }), 'line'), ended]);
  const [outside = '', pod] = String(first[0]).split(' ');
  if (pod === undefined) throw new Error('the network namespaces were not created');
  const started = new Set<ChildProcess>();
  return {
    start(where, args, env = {}) {
      const command = ['-t', where === 'pod' ? pod : outside, '-n', process.execPath, ...args];
      const child = spawn('nsenter', command, {
        env: { PATH: process.env['PATH'], ...env },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      started.add(child);
      child.once('exit', () => started.delete(child));
      return child;
    },
    async close() {
      const ends = [...started].map((child) => once(child, 'exit'));
      for (const child of started) child.kill('SIGKILL');
      await Promise.all(ends);
      keeper.stdin.end();
      await ended;
    },
  };
}
