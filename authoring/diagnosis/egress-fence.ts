import { isRecord, own } from '../../core/untrusted/fields.ts';
import type { PodFacts } from './facts.ts';

/** A network policy that limits the outgoing connections of some pods. */
export interface EgressFence {
  /** `NetworkPolicy` or `CiliumNetworkPolicy`. */
  kind: string;
  namespace: string;
  name: string;
  selector: LabelSelector;
  /** false: one of its rules allows every address, so it limits nothing. */
  isLimit: boolean;
}

type FenceIdentity = Pick<EgressFence, 'namespace' | 'name'>;

export interface LabelSelector {
  matchLabels: Readonly<Record<string, string>>;
  matchExpressions: readonly { key: string; operator: string; values: readonly string[] }[];
}

/** The fence of a NetworkPolicy; null: it does not concern outgoing connections. */
export function fenceOfNetworkPolicy(identity: FenceIdentity, spec: unknown): EgressFence | null {
  if (!isRecord(spec)) return null;
  const rules = own(spec, 'egress');
  const types = own(spec, 'policyTypes');
  // Without policyTypes, a policy with rules for outgoing connections concerns them.
  const isEgress = Array.isArray(types) ? types.includes('Egress') : Array.isArray(rules);
  if (!isEgress) return null;
  const isOpen = recordsIn(rules).some((rule) => recordsIn(own(rule, 'to')).length === 0);
  return {
    kind: 'NetworkPolicy',
    ...identity,
    selector: selectorOf(own(spec, 'podSelector')),
    isLimit: !isOpen,
  };
}

/** Entities of Cilium that contain addresses outside the cluster. */
const OPEN_ENTITIES = ['all', 'world', 'world-ipv4', 'world-ipv6'];

/** The fence of a CiliumNetworkPolicy; null: it does not concern outgoing connections. */
export function fenceOfCiliumPolicy(identity: FenceIdentity, spec: unknown): EgressFence | null {
  const rules = isRecord(spec) ? own(spec, 'egress') : undefined;
  if (!isRecord(spec) || !Array.isArray(rules)) return null;
  const isOpen = recordsIn(rules).some((rule) => {
    const entities = own(rule, 'toEntities');
    if (Array.isArray(entities)) return entities.some((entity) => OPEN_ENTITIES.includes(String(entity)));
    return (
      !Object.keys(rule).some((key) => key.startsWith('to') && key !== 'toPorts') &&
      Object.hasOwn(rule, 'toPorts')
    );
  });
  return {
    kind: 'CiliumNetworkPolicy',
    ...identity,
    selector: selectorOf(own(spec, 'endpointSelector')),
    isLimit: !isOpen,
  };
}

/** Whether a fence selects the pod, and no policy that selects it allows every address: policies add up. */
export function isFenced(
  pod: Pick<PodFacts, 'namespace' | 'labels'>,
  fences: readonly EgressFence[],
): boolean {
  const selecting = fences.filter((fence) => isSelected(pod, fence));
  return selecting.length > 0 && selecting.every(({ isLimit }) => isLimit);
}

/** Whether the fence applies to the pod. */
export const isSelected = (
  { namespace, labels }: Pick<PodFacts, 'namespace' | 'labels'>,
  fence: EgressFence,
): boolean => fence.namespace === namespace && selects(fence.selector, labels);

function selects({ matchLabels, matchExpressions }: LabelSelector, labels: PodFacts['labels']): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => own(labels, key) === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      const value = own(labels, key);
      const isListed = typeof value === 'string' && values.includes(value);
      switch (operator) {
        case 'In':
          return isListed;
        case 'NotIn':
          return !isListed;
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          return false;
      }
    })
  );
}

function selectorOf(value: unknown): LabelSelector {
  const selector = isRecord(value) ? value : {};
  const labels = own(selector, 'matchLabels');
  return {
    matchLabels: Object.fromEntries(
      Object.entries(isRecord(labels) ? labels : {}).map(([key, label]) => [plainKey(key), String(label)]),
    ),
    matchExpressions: recordsIn(own(selector, 'matchExpressions')).map((expression) => {
      const values = own(expression, 'values');
      return {
        key: plainKey(String(own(expression, 'key'))),
        operator: String(own(expression, 'operator')),
        values: Array.isArray(values) ? values.map(String) : [],
      };
    }),
  };
}

/** Cilium marks labels of Kubernetes with a prefix. */
const plainKey = (key: string): string => key.replace(/^k8s[:.]/, '');

const recordsIn = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isRecord) : [];
