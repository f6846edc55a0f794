import { isIP } from 'node:net';
import { isDnsLabel, isDnsSubdomain } from '../core/injection/names.ts';
import {
  kubernetesName,
  LOG_FIELDS,
  LOG_SUMMARIES,
  optionalName,
  optionalText,
  port,
  readEnv,
  type ConfigOf,
  type ConfigResult,
  type Environment,
  type Summaries,
} from '../runtime/env.ts';
import { INJECTION_FIELDS, INJECTION_SUMMARIES, injectionProblems } from '../runtime/injection-config.ts';
import type { HandoverOptions } from './handover.ts';

/** All environment variables of the webhook; the reference page is generated from this table. */
export const WEBHOOK_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(9443),
  POD_NAMESPACE: kubernetesName('platform-system', isDnsLabel),
  POD_IP: optionalName('an IP address', (raw) => isIP(raw) > 0),
  POD_TEMPLATE_HASH: optionalName('the label pod-template-hash of the pod', isDnsLabel),
  WEBHOOK_SERVICE: kubernetesName('agent-compliance-webhook', isDnsLabel),
  WEBHOOK_CONFIGURATION: kubernetesName('agent-compliance', isDnsSubdomain),
  MANIFEST_CONFIGURATION: optionalName('the name of a ValidatingWebhookConfiguration', isDnsSubdomain),
  TLS_SECRET: kubernetesName('agent-compliance-webhook-tls', isDnsSubdomain),
  CONTROL_PLANE_TLS_SECRET: kubernetesName('agent-compliance-control-plane-tls', isDnsSubdomain),
  CANARY_POLICY: optionalName('the name of a ValidatingAdmissionPolicy', isDnsSubdomain),
  ...INJECTION_FIELDS,
  KUBECONFIG: optionalText,
} as const;

export const WEBHOOK_SUMMARIES: Summaries<typeof WEBHOOK_FIELDS> = {
  ...LOG_SUMMARIES,
  PORT: 'The HTTPS port that the API server calls.',
  POD_NAMESPACE: 'The namespace of the release.',
  POD_IP:
    'Address of this pod, to which replicas of an earlier version hand over their admission reviews. Unset: they do not.',
  POD_TEMPLATE_HASH:
    'The label `pod-template-hash` of this pod, which names its ReplicaSet. Unset: this process hands over nothing.',
  WEBHOOK_SERVICE: 'The Service in front of this process; the certificate contains its names.',
  WEBHOOK_CONFIGURATION: 'The MutatingWebhookConfiguration whose `caBundle` this process maintains.',
  MANIFEST_CONFIGURATION:
    'The ValidatingWebhookConfiguration for manifests, whose `caBundle` this process maintains. Unset: the organisation rules are not applied.',
  TLS_SECRET: "The Secret with the CA and this process's certificate.",
  CONTROL_PLANE_TLS_SECRET: "The Secret into which this process writes the control plane's certificate.",
  CANARY_POLICY:
    'The ValidatingAdmissionPolicy whose condition `CanaryPassing` must be true with a new CA before the previous CA is removed. Unset: the previous CA is removed after a fixed time.',
  ...INJECTION_SUMMARIES,
  KUBECONFIG: "The kubeconfig file of the cluster. Unset: the pod's own ServiceAccount.",
};

export type WebhookConfig = ConfigOf<typeof WEBHOOK_FIELDS>;

/** Reads the webhook's environment. Invalid values and invalid combinations are all reported at once. */
export function readConfig(env: Environment): ConfigResult<WebhookConfig> {
  const result = readEnv(env, WEBHOOK_FIELDS);
  const problems = [...(result.ok ? [] : result.problems), ...injectionProblems(env)];
  return !result.ok || problems.length > 0 ? { ok: false, problems } : result;
}

/** The ReplicaSet and the address of this pod; null: not a pod of a Deployment. */
export function ownReplicaOf(config: WebhookConfig): HandoverOptions['self'] {
  const { POD_IP: address, POD_TEMPLATE_HASH: hash, POD_NAMESPACE: namespace, PORT: port } = config;
  if (address === null || hash === null) return null;
  // The chart's Deployment has the name of the Service.
  return { replicaSet: { namespace, name: `${config.WEBHOOK_SERVICE}-${hash}` }, address, port };
}
