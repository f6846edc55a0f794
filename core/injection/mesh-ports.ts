import type { InjectionPlan } from './build-sidecar.ts';
import { ENGINE_HEALTH_PORT, ENGINE_PORT } from './names.ts';
import { CONTROL_PORT, EGRESS_CONNECT_PORT, EGRESS_PORT, OTLP_PORT } from '../egress/ports.ts';
import type { Pod } from './pod.ts';
import type { InjectionSettings } from './settings.ts';

type Annotations = Readonly<Record<string, string>>;

/**
 * The annotation by which a service mesh excludes ports from the redirection of incoming connections to its proxy, and the init
 * container of the mesh. The annotations are set on every pod: namespaces select pods for a mesh by labels, which the injector does not see.
 */
const MESHES = [
  { annotation: 'traffic.sidecar.istio.io/excludeInboundPorts', initContainer: 'istio-init' },
  { annotation: 'config.linkerd.io/skip-inbound-ports', initContainer: 'linkerd-init' },
  { annotation: 'traffic.kuma.io/exclude-inbound-ports', initContainer: 'kuma-init' },
  {
    annotation: 'consul.hashicorp.com/transparent-proxy-exclude-inbound-ports',
    initContainer: 'consul-connect-inject-init',
  },
] as const;

/**
 * Maximum length of a list of ports. A longer one is not changed: the webhook has no memory for its items, which may be a million, and
 * with the record of the injection the annotations would soon be larger than the API server allows.
 */
const MAX_LIST = 65_536;
const isTooLong = (list = ''): boolean => list.length > MAX_LIST;

/** All ports that an injection may exclude, as an annotation has them. */
const OWN_PORTS: ReadonlySet<string> = new Set(
  [CONTROL_PORT, EGRESS_PORT, EGRESS_CONNECT_PORT, OTLP_PORT, ENGINE_PORT, ENGINE_HEALTH_PORT].map(String),
);

/** The ports of this pod that are for the pod itself and the kubelet, not for clients of the agent. */
function innerPorts({ otlp, egress }: InjectionPlan, { engine }: InjectionSettings): number[] {
  return [
    CONTROL_PORT,
    ...(egress.lanes.length > 0 ? [EGRESS_PORT] : []),
    ...(egress.connect === 'off' ? [] : [EGRESS_CONNECT_PORT]),
    ...(otlp ? [OTLP_PORT] : []),
    ...(typeof engine === 'string' ? [] : [ENGINE_PORT, ENGINE_HEALTH_PORT]),
  ];
}

/** The annotations with these ports for every mesh, and the values that a mesh's annotation had before. */
export function excludePorts(
  annotations: Annotations,
  plan: InjectionPlan,
  settings: InjectionSettings,
): { annotations: Annotations; before: Record<string, string> } {
  const ports = innerPorts(plan, settings);
  const before: Record<string, string> = {};
  const written: Record<string, string> = {};
  for (const { annotation } of MESHES) {
    const value = annotations[annotation];
    if (isTooLong(value)) continue;
    if (value !== undefined) before[annotation] = value;
    const missing = missingPorts(value, ports);
    if (missing.length > 0) written[annotation] = [...itemsOf(value), ...missing].join(',');
  }
  return { annotations: { ...annotations, ...written }, before };
}

/**
 * Undoes `excludePorts`. What was changed in an annotation after the injection is kept. The values before are
 * not trusted, because pod authors can edit them: only the annotations of meshes are changed.
 */
export function restorePorts(annotations: Annotations, before: Annotations): Record<string, string> {
  const restored = { ...annotations };
  for (const { annotation } of MESHES) {
    const was = before[annotation];
    if (isTooLong(annotations[annotation]) || isTooLong(was)) continue;
    const items = itemsOf(annotations[annotation]);
    const known = itemsOf(was);
    const isKnown = new Set(known);
    const kept = items.filter((item) => isKnown.has(item) || !OWN_PORTS.has(item));
    if (was !== undefined && items.length > 0 && kept.join() === known.join()) restored[annotation] = was;
    else if (kept.length === 0 && items.length > 0) delete restored[annotation];
    else if (kept.length < items.length) restored[annotation] = kept.join(',');
  }
  return restored;
}

/** Warnings for a pod whose mesh was injected earlier. Its init container has the ports that the annotations had then. */
export function meshWarnings(
  { metadata, spec }: Pod,
  plan: InjectionPlan,
  settings: InjectionSettings,
): string[] {
  return MESHES.flatMap(({ annotation, initContainer }) => {
    const missing = missingPorts(metadata?.annotations?.[annotation], innerPorts(plan, settings));
    return missing.length > 0 && spec.initContainers?.some(({ name }) => name === initContainer) === true
      ? [
          `${initContainer} was injected earlier and redirects ports of the sidecar to the mesh: add ${missing.join(',')} to the annotation ${annotation} of the pod template`,
        ]
      : [];
  });
}

/** The ports that a list of ports and ranges (`4000-4010`) does not contain. */
function missingPorts(list: string | undefined, ports: readonly number[]): number[] {
  if (isTooLong(list)) return [...ports];
  const ranges = itemsOf(list).map((item) => item.split('-').map(Number));
  return list?.trim() === '*'
    ? []
    : ports.filter((port) => !ranges.some(([from = 0, to = from]) => from <= port && port <= to));
}

const itemsOf = (list = ''): string[] =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
