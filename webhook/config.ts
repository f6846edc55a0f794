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

/** All environment variables of the webhook; the reference page is generated from this table. */
export const WEBHOOK_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(9443),
  POD_NAMESPACE: kubernetesName('platform-system', isDnsLabel),
  WEBHOOK_SERVICE: kubernetesName('agent-compliance-webhook', isDnsLabel),
  WEBHOOK_CONFIGURATION: kubernetesName('agent-compliance', isDnsSubdomain),
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
  WEBHOOK_SERVICE: 'The Service in front of this process; the certificate contains its names.',
  WEBHOOK_CONFIGURATION: 'The MutatingWebhookConfiguration whose `caBundle` this process maintains.',
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
