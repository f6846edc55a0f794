import { existsSync } from 'node:fs';

/** The kernel has this setting only in the first network namespace, which is the machine's. */
const OF_THE_MACHINE = '/proc/sys/net/core/netdev_max_backlog';

/**
 * Interfaces of a machine that connects containers: bridges, and the machine's ends of the connections to pods. They exist
 * on a node whose own network namespace is not the first one, such as a node of kind.
 */
const OF_A_NODE =
  /^(?:veth|cni|cbr|cali|lxc|cilium_|flannel|docker\d|br-|virbr|kube-|nodelocaldns|weave|antrea|ovn-k8s|azv|eni[0-9a-f]{8})/;

/**
 * Why a census must not run: the socket tables would contain the connections of other processes of the machine. null: the
 * network namespace belongs to a pod, a container or a command of its own.
 */
export function sharedNamespaceReason(
  interfaces: readonly string[],
  settingOfTheMachine = OF_THE_MACHINE,
): string | null {
  if (existsSync(settingOfTheMachine))
    return 'the network namespace is that of the machine (hostNetwork, or a process without a container)';
  const [found] = interfaces.filter((name) => OF_A_NODE.test(name));
  return found === undefined
    ? null
    : `the network namespace is that of a node: it has the interface ${found}`;
}
