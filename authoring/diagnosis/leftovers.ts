import type { Fact, PodFacts } from './facts.ts';
import { replaceCommand } from './replace-command.ts';

/** Facts gathered before or after a release is removed. */
export interface LeftoverFacts {
  /** Namespace of the release. */
  namespace: string;
  hasNamespace: Fact<boolean>;
  /** Releases with a Helm record. */
  releases: Fact<readonly { name: string; status: string }[]>;
  /** Objects with the chart's labels, by kind. */
  objects: readonly Fact<readonly LabelledObject[]>[];
  observations: Fact<readonly { namespace: string; name: string }[]>;
  pods: Fact<readonly PodFacts[]>;
}

export interface LabelledObject {
  kind: string;
  /** The resource name for kubectl: `clusterroles.rbac.authorization.k8s.io`. */
  resource: string;
  namespace: string | null;
  name: string;
  release: string;
  /** The object has Helm's keep policy. */
  isKept: boolean;
}

/** One remaining object and the command that removes it. */
export interface Leftover {
  kind: string;
  namespace: string | null;
  name: string;
  message: string;
  command: string;
}

/** The JSON of `platform uninstall`; members are added, never changed, within a `version`. */
export interface LeftoverReport {
  version: 1;
  server: string;
  /** Installed releases; their objects are not listed as left. */
  installed: { name: string; namespace: string; command: string }[];
  /** Objects that should have been removed. */
  left: Leftover[];
  /** Objects that are kept intentionally. */
  kept: Leftover[];
  /** Reasons why something could not be checked. */
  unknown: string[];
}

export function leftoverReport(server: string, facts: LeftoverFacts): LeftoverReport {
  const { namespace } = facts;
  const releases = valueOf(facts.releases, []);
  const installed = releases.filter(({ status }) => status !== 'uninstalled');
  const objects = facts.objects.flatMap((each) => valueOf(each, []));
  const orphans = objects.filter(({ release }) => !installed.some(({ name }) => name === release));
  return {
    version: 1,
    server,
    installed: installed.map(({ name }) => ({
      name,
      namespace,
      command: `helm uninstall ${name} -n ${namespace} --wait`,
    })),
    left: [
      ...orphans.filter(({ isKept }) => !isKept).map((object) => leftObject(object, 'is left')),
      ...releases
        .filter(({ status }) => status === 'uninstalled')
        .map(({ name }) => historyOf(name, namespace)),
      ...(installed.length > 0 ? [] : injectedPods(valueOf(facts.pods, []))),
    ],
    kept: [
      ...objects.filter(({ isKept }) => isKept).map((object) => leftObject(object, 'is kept')),
      ...observationsOf(valueOf(facts.observations, [])),
      ...(valueOf(facts.hasNamespace, false) ? [ownNamespace(namespace)] : []),
    ],
    unknown: [
      ...new Set(
        [facts.hasNamespace, facts.releases, ...facts.objects, facts.observations, facts.pods].flatMap(
          (fact) => (fact.known ? [] : [fact.why]),
        ),
      ),
    ],
  };
}

function valueOf<T>(fact: Fact<T>, otherwise: T): T {
  return fact.known ? fact.value : otherwise;
}

/** Data that is lost with an object, by kind. */
const DATA: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '; removing it removes every AgentObservation',
  Namespace: '; removing it removes every AgentObservation in it',
  PersistentVolumeClaim: '; removing it removes the database of the control plane',
};

function leftObject({ kind, resource, namespace, name }: LabelledObject, what: string): Leftover {
  const [inside, where] = namespace === null ? ['', ''] : [` in ${namespace}`, ` -n ${namespace}`];
  return {
    kind,
    namespace,
    name,
    message: `${kind} ${name}${inside} ${what}${DATA[kind] ?? ''}`,
    command: `kubectl delete ${resource} ${name}${where}`,
  };
}

function historyOf(name: string, namespace: string): Leftover {
  return {
    kind: 'Secret',
    namespace,
    name: `sh.helm.release.v1.${name}`,
    message: `the history of release ${name} in ${namespace} is left`,
    command: `kubectl delete secret -n ${namespace} -l owner=helm,name=${name}`,
  };
}

/** Injected pods keep running without a control plane. A sidecar that was not injected belongs to its pod. */
function injectedPods(pods: readonly PodFacts[]): Leftover[] {
  return pods
    .filter(({ hasSidecar, optedIn, injected }) => hasSidecar && (optedIn || injected !== null))
    .map((pod) => ({
      kind: 'Pod',
      namespace: pod.namespace,
      name: pod.name,
      message: `pod ${pod.name} in ${pod.namespace} still has the sidecar, which keeps serving without a control plane`,
      command: replaceCommand(pod),
    }));
}

/** One line per namespace, because there may be thousands of observations. */
function observationsOf(observations: readonly { namespace: string; name: string }[]): Leftover[] {
  const byNamespace = Map.groupBy(observations, ({ namespace }) => namespace);
  return [...byNamespace.keys()].sort().map((namespace) => {
    const count = byNamespace.get(namespace)?.length ?? 0;
    return {
      kind: 'AgentObservation',
      namespace,
      name: '',
      message: `${count} AgentObservation${count === 1 ? ' is' : 's are'} kept in ${namespace}`,
      command: `kubectl delete agentobservations --all -n ${namespace}`,
    };
  });
}

function ownNamespace(namespace: string): Leftover {
  return {
    kind: 'Namespace',
    namespace: null,
    name: namespace,
    message: `Namespace ${namespace} is kept: Helm does not remove namespaces that it created with --create-namespace`,
    command: `kubectl delete namespace ${namespace}`,
  };
}
