import { yamlText } from './yaml-text.ts';
import { NAME_LABEL } from '../../core/injection/names.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { fenceTargetsOf, type FenceTarget } from './fence-targets.ts';

/** `NetworkPolicy` of Kubernetes knows addresses only; `CiliumNetworkPolicy` also knows names. */
export type FenceKind = 'NetworkPolicy' | 'CiliumNetworkPolicy';

export interface FenceOptions {
  /** The namespace of the agent; absent: that of the kubectl command. */
  namespace?: string;
  /** The namespace of the control plane, to which the sidecar sends heartbeats; null: there is none. */
  controlPlaneNamespace: string | null;
}

export interface Fence {
  object: Record<string, unknown>;
  /** What the policy does not contain, or allows in addition. One sentence each. */
  notes: string[];
}

const NAMESPACE_LABEL = 'kubernetes.io/metadata.name';
const CILIUM_NAMESPACE_LABEL = 'k8s:io.kubernetes.pod.namespace';
const DNS = { namespace: 'kube-system', label: 'k8s-app', value: 'kube-dns', port: 53 } as const;
/** Networks that are not part of the internet. Names of the internet do not resolve to them, and clusters use them. */
const PRIVATE_NETWORKS = ['10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];
const PRIVATE_IPV6_NETWORKS = ['fc00::/7', 'fe80::/10'];

/** A policy that restricts the connections of an agent's pods, the sidecar included, to what the manifest declares. */
export function fenceOf(kind: FenceKind, manifest: Manifest, options: FenceOptions): Fence {
  const { targets, unresolved } = fenceTargetsOf(manifest);
  const { controlPlaneNamespace } = options;
  const all: FenceTarget[] =
    controlPlaneNamespace === null
      ? targets
      : [
          ...withoutService(targets, controlPlaneNamespace),
          { kind: 'service', namespace: controlPlaneNamespace },
        ];
  const build = kind === 'NetworkPolicy' ? networkPolicyRules : ciliumRules;
  const { name } = manifest.metadata;
  const { rules, notes } = build(all);
  return {
    object: {
      ...(kind === 'NetworkPolicy'
        ? { apiVersion: 'networking.k8s.io/v1', kind }
        : { apiVersion: 'cilium.io/v2', kind }),
      metadata: {
        name: `${name}-egress`,
        ...(options.namespace !== undefined && { namespace: options.namespace }),
        labels: { [NAME_LABEL]: name },
      },
      spec:
        kind === 'NetworkPolicy'
          ? { podSelector: agentPods(name), policyTypes: ['Egress'], egress: rules }
          : { endpointSelector: agentPods(name), egress: rules },
    },
    notes: [
      ...notes,
      ...unresolved.map(
        (path) => `The address of ${path} is not in the manifest: add it if the agent connects to it.`,
      ),
    ],
  };
}

/** The policy as YAML. The notes are comments above it. */
export function fenceText(kind: FenceKind, manifest: Manifest, options: FenceOptions): string {
  const { object, notes } = fenceOf(kind, manifest, options);
  const intro = `Egress of the agent ${manifest.metadata.name}, from its manifest.\nSelects pods with the label ${NAME_LABEL}, which the injector and "platform generate" set.`;
  return yamlText(object, { heading: [intro, ...notes].join('\n') });
}

const agentPods = (name: string): object => ({ matchLabels: { [NAME_LABEL]: name } });

function withoutService(targets: readonly FenceTarget[], namespace: string): FenceTarget[] {
  return targets.filter((target) => target.kind !== 'service' || target.namespace !== namespace);
}

interface Rules {
  rules: object[];
  notes: string[];
}

function networkPolicyRules(targets: readonly FenceTarget[]): Rules {
  const dns = {
    to: [
      {
        namespaceSelector: { matchLabels: { [NAMESPACE_LABEL]: DNS.namespace } },
        podSelector: { matchLabels: { [DNS.label]: DNS.value } },
      },
    ],
    ports: ['UDP', 'TCP'].map((protocol) => ({ protocol, port: DNS.port })),
  };
  const names = targets.flatMap((target) => (target.kind === 'name' ? target : []));
  const ports = [...new Set(names.flatMap((target) => target.ports))].sort((a, b) => a - b);
  const internet = {
    to: [
      { ipBlock: { cidr: '0.0.0.0/0', except: PRIVATE_NETWORKS } },
      { ipBlock: { cidr: '::/0', except: PRIVATE_IPV6_NETWORKS } },
    ],
    ports: tcp(ports),
  };
  const others = targets.flatMap((target): object[] => {
    if (target.kind === 'service') return [{ to: [inNamespace(target.namespace)] }];
    if (target.kind === 'cidr')
      return [{ to: [{ ipBlock: { cidr: target.cidr } }], ports: tcp(target.ports) }];
    return [];
  });
  const hosts = names.map(({ name }) => name).join(', ');
  return {
    rules: [dns, ...others, ...(names.length > 0 ? [internet] : [])],
    notes:
      names.length === 0
        ? []
        : [
            `Allows every public address on port ${ports.join(', ')}: a NetworkPolicy has no names. Needed for ${hosts}.`,
          ],
  };
}

function inNamespace(namespace: string | null): object {
  if (namespace === null) return { podSelector: {} };
  return { namespaceSelector: { matchLabels: { [NAMESPACE_LABEL]: namespace } } };
}

const tcp = (ports: readonly number[]): object[] => ports.map((port) => ({ protocol: 'TCP', port }));

function ciliumRules(targets: readonly FenceTarget[]): Rules {
  // Cilium learns the addresses of names from the responses of this DNS server.
  const dns = {
    toEndpoints: [
      {
        matchLabels: { [CILIUM_NAMESPACE_LABEL]: DNS.namespace, [`k8s:${DNS.label}`]: DNS.value },
      },
    ],
    toPorts: [
      { ports: [{ port: String(DNS.port), protocol: 'ANY' }], rules: { dns: [{ matchPattern: '*' }] } },
    ],
  };
  const others = targets.map((target): object => {
    if (target.kind === 'service')
      return {
        toEndpoints: [
          target.namespace === null ? {} : { matchLabels: { [CILIUM_NAMESPACE_LABEL]: target.namespace } },
        ],
      };
    const toPorts = [{ ports: target.ports.map((port) => ({ port: String(port), protocol: 'TCP' })) }];
    if (target.kind === 'cidr') return { toCIDR: [target.cidr], toPorts };
    return {
      toFQDNs: [target.name.startsWith('*.') ? { matchPattern: target.name } : { matchName: target.name }],
      toPorts,
    };
  });
  const wildcards = targets.flatMap((each) =>
    each.kind === 'name' && each.name.startsWith('*.') ? each.name : [],
  );
  return {
    rules: [dns, ...others],
    notes: wildcards.map((name) => `${name} matches one label in place of the asterisk only.`),
  };
}
