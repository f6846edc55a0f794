import { replaceCommand } from './agent-rules.ts';
import type { Fact } from './fact.ts';
import type { PodFacts } from './facts.ts';

/** What is looked at after, or before, a release is removed. */
export interface LeftFacts {
  /** Of the release. */
  namespace: string;
  hasNamespace: Fact<boolean>;
  /** Releases that Helm still keeps something of. */
  releases: Fact<readonly { name: string; status: string }[]>;
  /** Objects with the chart's labels, by kind. */
  objects: readonly Fact<readonly LabelledObject[]>[];
  observations: Fact<readonly { namespace: string; name: string }[]>;
  pods: Fact<readonly PodFacts[]>;
}

export interface LabelledObject {
  kind: string;
  /** As kubectl takes it: `clusterroles.rbac.authorization.k8s.io`. */
  resource: string;
  namespace: string | null;
  name: string;
  release: string;
  /** Helm was told to leave it. */
  isKept: boolean;
}

/** One thing that is there, and how it is removed. */
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
  /** Releases that are installed: nothing of theirs is listed as left. */
  installed: { name: string; namespace: string; command: string }[];
  /** What should be gone. */
  left: Leftover[];
  /** What is meant to stay. */
  kept: Leftover[];
  /** What could not be looked at, and why. */
  unknown: string[];
}

export function leftoverReport(server: string, facts: LeftFacts): LeftoverReport {
  const { namespace } = facts;
  const releases = valueOf(facts.releases, []);
  const installed = releases.filter(({ status }) => status !== 'uninstalled');
  const isInstalled = (release: string) => installed.some(({ name }) => name === release);
  const objects = facts.objects.flatMap((each) => valueOf(each, []));
  const gone = objects.filter(({ release }) => !isInstalled(release));
  const hasRelease = installed.length > 0;
  return {
    version: 1,
    server,
    installed: installed.map(({ name }) => ({
      name,
      namespace,
      command: `helm uninstall ${name} -n ${namespace} --wait`,
    })),
    left: [
      ...gone.filter(({ isKept }) => !isKept).map((object) => leftObject(object, 'is left')),
      ...releases
        .filter(({ status }) => status === 'uninstalled')
        .map(({ name }) => historyOf(name, namespace)),
      ...(hasRelease ? [] : injectedPods(valueOf(facts.pods, []))),
    ],
    kept: [
      ...(hasRelease ? objects : gone)
        .filter(({ isKept }) => isKept)
        .map((object) => leftObject(object, 'is kept')),
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

/** What is lost with an object, by its kind. */
const DATA: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '; removing it removes every AgentObservation',
  Namespace: '; removing it removes every AgentObservation in it',
};

function leftObject({ kind, resource, namespace, name }: LabelledObject, what: string): Leftover {
  const where = namespace === null ? '' : ` -n ${namespace}`;
  const inside = namespace === null ? '' : ` in ${namespace}`;
  const data = DATA[kind] ?? '';
  return {
    kind,
    namespace,
    name,
    message: `${kind} ${name}${inside} ${what}${data}`,
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

/** They run on, and nobody looks at what their sidecars report. */
function injectedPods(pods: readonly PodFacts[]): Leftover[] {
  return pods
    .filter(({ hasSidecar }) => hasSidecar)
    .map((pod) => ({
      kind: 'Pod',
      namespace: pod.namespace,
      name: pod.name,
      message: `pod ${pod.name} in ${pod.namespace} still has the sidecar: it serves on, without a control plane`,
      command: replaceCommand(pod),
    }));
}

/** One line for each namespace: there may be thousands. */
function observationsOf(observations: readonly { namespace: string; name: string }[]): Leftover[] {
  const namespaces = [...new Set(observations.map(({ namespace }) => namespace))].sort();
  return namespaces.map((namespace) => {
    const count = observations.filter((each) => each.namespace === namespace).length;
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
    message: `Namespace ${namespace} is kept: Helm removes none that it was told to create`,
    command: `kubectl delete namespace ${namespace}`,
  };
}
