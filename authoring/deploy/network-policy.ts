import { yamlText } from './yaml-text.ts';
import { NAME_LABEL } from '../../core/injection/names.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { present } from '../../core/untrusted/present.ts';
import { fenceTargetsOf, type FenceTarget } from './fence-targets.ts';

/** `NetworkPolicy` of Kubernetes knows addresses only; `CiliumNetworkPolicy` also knows names. */
export type FenceKind = 'NetworkPolicy' | 'CiliumNetworkPolicy';

export interface FenceOptions {
  /** The namespace of the agent; absent: that of the kubectl command. */
  namespace?: string;
  /** The namespace of the control plane, to which the sidecar sends heartbeats; null: there is none. */
  controlPlaneNamespace: string | null;
}

interface Fence {
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
  const { namespace, controlPlaneNamespace } = options;
  const all = controlPlaneNamespace === null ? targets : withService(targets, controlPlaneNamespace);
  const { name } = manifest.metadata;
  const labels = { [NAME_LABEL]: name };
  const metadata = { name: `${name}-egress`, ...present({ namespace }), labels };
  const pods = { matchLabels: labels };
  const isPlain = kind === 'NetworkPolicy';
  const { rules: egress, notes } = isPlain ? networkPolicyRules(all) : ciliumRules(all);
  return {
    object: {
      apiVersion: isPlain ? 'networking.k8s.io/v1' : 'cilium.io/v2',
      ...{ kind, metadata },
      spec: isPlain
        ? { podSelector: pods, policyTypes: ['Egress'], egress }
        : { endpointSelector: pods, egress },
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

function withService(targets: readonly FenceTarget[], namespace: string): FenceTarget[] {
  const others = targets.filter((target) => target.kind !== 'service' || target.namespace !== namespace);
  return [...others, { kind: 'service', namespace }];
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
  if (names.length === 0) return { rules: [dns, ...others], notes: [] };
  const hosts = names.map(({ name }) => name).join(', ');
  const note = `Allows every public address on port ${ports.join(', ')}: a NetworkPolicy has no names. Needed for ${hosts}.`;
  return { rules: [dns, ...others, internet], notes: [note] };
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
    if (target.kind === 'service') {
      const { namespace } = target;
      const labels = { matchLabels: { [CILIUM_NAMESPACE_LABEL]: namespace } };
      return { toEndpoints: [namespace === null ? {} : labels] };
    }
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
