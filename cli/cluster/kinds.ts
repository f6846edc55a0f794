import { resource } from '../../kube/resources.ts';
import type { AgentStopSpec, AgentStopStatus } from '../../core/shapes/agent-stop.ts';
import type { Data, KubeObject } from '../../kube/types.ts';

/** Fields of objects that only this command reads. */
export interface PolicyBinding extends KubeObject {
  spec?: { policyName?: string; validationActions?: string[] };
}

export interface Definition extends KubeObject {
  spec?: { versions?: { name: string; served: boolean }[] };
  status?: { conditions?: { type: string; status: string }[] };
}

export interface ConfigMap extends Data {
  /** Base64. */
  binaryData?: Record<string, string>;
  metadata: Data['metadata'] & { managedFields?: { time?: string }[] };
}

export interface AgentStopObject extends KubeObject {
  spec: AgentStopSpec;
  status?: AgentStopStatus;
}

export const AGENT_STOPS = resource<AgentStopObject>('platform.io', 'agentstops', 'AgentStop');

export const BINDINGS = resource<PolicyBinding>(
  'admissionregistration.k8s.io',
  'validatingadmissionpolicybindings',
  'ValidatingAdmissionPolicyBinding',
);
export const DEFINITIONS = resource<Definition>(
  'apiextensions.k8s.io',
  'customresourcedefinitions',
  'CustomResourceDefinition',
);
export const CONFIG_MAPS = resource<ConfigMap>('', 'configmaps', 'ConfigMap');

export const DEFINITION_NAME = 'agentobservations.platform.io';
/** All definitions of the chart. */
export const DEFINITION_NAMES = [DEFINITION_NAME, 'agentpolicies.platform.io', 'agentstops.platform.io'];
/** Label selector for every object of the chart. */
export const CHART_LABEL = 'app.kubernetes.io/name=agent-compliance';
export const CHART_NAME = 'agent-compliance';
export const LEASE_NAME = 'platform-operator';

/** Label selector for the objects of one release. */
export const labelsOf = (release: string): string => `${CHART_LABEL},app.kubernetes.io/instance=${release}`;
