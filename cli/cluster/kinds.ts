import type { Resource } from '../../kube/resources.ts';
import type { KubeObject } from '../../kube/types.ts';

const ADMISSION = 'admissionregistration.k8s.io';

/** Fields of objects that only this command reads. */
export interface InjectorConfiguration extends KubeObject {
  webhooks?: {
    clientConfig: { caBundle?: string; service?: { namespace: string } };
    namespaceSelector?: { matchExpressions?: { key: string; operator: string; values?: string[] }[] };
  }[];
}

export interface PolicyBinding extends KubeObject {
  spec?: { policyName?: string; validationActions?: string[] };
}

export interface Definition extends KubeObject {
  spec?: { versions?: { name: string; served: boolean }[] };
  status?: { conditions?: { type: string; status: string }[] };
}

export interface Deployment extends KubeObject {
  spec?: { replicas?: number };
  status?: { availableReplicas?: number; conditions?: { type: string; status: string; message?: string }[] };
}

export interface Data extends KubeObject {
  data?: Record<string, string>;
}

export const kind = <T>(group: string, plural: string, name: string): Resource<T> => ({
  group,
  version: 'v1',
  plural,
  kind: name,
});

export const INJECTORS = kind<InjectorConfiguration>(
  ADMISSION,
  'mutatingwebhookconfigurations',
  'MutatingWebhookConfiguration',
);
export const BINDINGS = kind<PolicyBinding>(
  ADMISSION,
  'validatingadmissionpolicybindings',
  'ValidatingAdmissionPolicyBinding',
);
export const DEFINITIONS = kind<Definition>(
  'apiextensions.k8s.io',
  'customresourcedefinitions',
  'CustomResourceDefinition',
);
export const RELEASE_DEPLOYMENTS = kind<Deployment>('apps', 'deployments', 'Deployment');
export const NAMESPACES = kind<KubeObject>('', 'namespaces', 'Namespace');
export const SECRETS = kind<Data>('', 'secrets', 'Secret');
export const CONFIG_MAPS = kind<Data>('', 'configmaps', 'ConfigMap');

export const DEFINITION_NAME = 'agentobservations.platform.io';
/** Label selector for every object of the chart. */
export const CHART_LABEL = 'app.kubernetes.io/name=agent-compliance';
export const CHART_NAME = 'agent-compliance';
export const LEASE_NAME = 'platform-operator';

/** Label selector for the objects of one release. */
export const labelsOf = (release: string): string => `${CHART_LABEL},app.kubernetes.io/instance=${release}`;
