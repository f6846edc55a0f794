import { isDnsLabel, isDnsSubdomain } from '../core/injection/names.ts';
import {
  flag,
  integer,
  kubernetesName,
  LOG_FIELDS,
  LOG_SUMMARIES,
  optionalName,
  optionalNames,
  optionalText,
  port,
  readEnv,
  type ConfigOf,
  type ConfigResult,
  type Environment,
  type EnvProblem,
  type Summaries,
} from '../runtime/env.ts';
import {
  INJECTION_FIELDS,
  INJECTION_SUMMARIES,
  injectionProblems,
  injectionSettings,
  optionalImage,
} from '../runtime/injection-config.ts';
import { caFiles } from '../runtime/known-cas.ts';
import { REMOTE_FIELDS, REMOTE_SUMMARIES, remoteProblems } from './remote/config.ts';
import type { MinimumBars } from './agents/desired.ts';

/** Every variable of the operator; the reference page is generated from this table. */
export const OPERATOR_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(8081),
  POD_NAMESPACE: optionalName('a namespace (a DNS label)', isDnsLabel),
  POD_NAME: optionalName('the name of a pod', isDnsSubdomain),
  LEADER_ELECT: flag(true),
  GUARD_POLICY: optionalName('the name of a ValidatingAdmissionPolicy', isDnsSubdomain),
  WAKE_CONTROLLERS: flag(true),
  OPEN_REPORTS: flag(false),
  EXCLUDED_NAMESPACES: optionalNames('namespaces (DNS labels)', isDnsLabel),
  CANARY_NAMESPACE: optionalName('a namespace (a DNS label)', isDnsLabel),
  CANARY_SERVICE_ACCOUNT: kubernetesName('agent-compliance-canary', isDnsSubdomain),
  CANARY_POLICY: optionalName('the name of a ValidatingAdmissionPolicy', isDnsSubdomain),
  CANARY_SECONDS: integer({ min: 1, max: 3600, default: 60 }),
  WEBHOOK_CONFIGURATION: kubernetesName('agent-compliance', isDnsSubdomain),
  WEBHOOK_DEPLOYMENT: kubernetesName('agent-compliance-webhook', isDnsSubdomain),
  ...INJECTION_FIELDS,
  SIDECAR_IMAGE: optionalImage,
  SIDECAR_CA_FILES: caFiles,
  ...REMOTE_FIELDS,
  KUBECONFIG: optionalText,
} as const;

export const OPERATOR_SUMMARIES: Summaries<typeof OPERATOR_FIELDS> = {
  ...LOG_SUMMARIES,
  PORT: 'Port for health and metrics.',
  POD_NAMESPACE: "Namespace of the Lease. Unset: the namespace of the kubeconfig's context.",
  POD_NAME: 'Name of this process in the Lease and in Events. Unset: the host name.',
  LEADER_ELECT:
    'Elect one leader among several replicas with a Lease. `false`: this process works without a Lease.',
  GUARD_POLICY:
    'ValidatingAdmissionPolicy whose pod rejections are reported on the owners of the pods. Unset: none are reported.',
  WAKE_CONTROLLERS:
    'Retry controllers whose pods were rejected because the injector was unavailable, when it is available again.',
  OPEN_REPORTS:
    'Write the results of each agent as a Report (openreports.io), or as a PolicyReport (wgpolicyk8s.io) if only that is served.',
  EXCLUDED_NAMESPACES:
    'Namespaces excluded from injection, where a missing sidecar is not reported. Unset: `kube-system` and POD_NAMESPACE.',
  CANARY_NAMESPACE:
    'Namespace of the dry-run pods (canary) that check whether the injector works. Unset: no canary.',
  CANARY_SERVICE_ACCOUNT: 'ServiceAccount in POD_NAMESPACE that creates the dry-run pods.',
  CANARY_POLICY: 'ValidatingAdmissionPolicy that gets the condition `CanaryPassing`. Unset: no condition.',
  CANARY_SECONDS: 'Seconds between two canary checks while they pass.',
  WEBHOOK_CONFIGURATION: 'MutatingWebhookConfiguration of the injector; the canary reads its caBundle.',
  WEBHOOK_DEPLOYMENT: "The injector's Deployment, which gets the Events of the canary.",
  ...INJECTION_SUMMARIES,
  SIDECAR_IMAGE:
    'Sidecar image that the canary expects; pods with another version are reported as outdated. Set this variable and the injection settings as for the webhook. Required with CANARY_NAMESPACE.',
  SIDECAR_CA_FILES:
    'PEM files with the CAs and the certificate chain of the control plane, separated by commas. Pods with another CA in `platform.io/ca` are reported (`ca-unknown`). Unset: not checked.',
  ...REMOTE_SUMMARIES,
  KUBECONFIG: "Kubeconfig file of the cluster. Unset: the pod's own ServiceAccount.",
};

export type OperatorConfig = ConfigOf<typeof OPERATOR_FIELDS>;

/** Reads the operator's environment; reports all invalid values and invalid combinations together. */
export function readConfig(env: Environment): ConfigResult<OperatorConfig> {
  const result = readEnv(env, OPERATOR_FIELDS);
  const problems = [
    ...(result.ok ? [] : result.problems),
    ...injectionProblems(env),
    ...(result.ok ? [...canaryProblems(result.config), ...remoteProblems(result.config)] : []),
  ];
  return !result.ok || problems.length > 0 ? { ok: false, problems } : result;
}

function canaryProblems(config: OperatorConfig): EnvProblem[] {
  const isMissing = config.CANARY_NAMESPACE !== null && config.SIDECAR_IMAGE === null;
  const wanted = 'an image reference, because CANARY_NAMESPACE is set';
  return isMissing ? [{ name: 'SIDECAR_IMAGE', value: '(unset)', wanted }] : [];
}

/** The lowest compliance bars that an annotation may set. */
export function minimumOf(config: OperatorConfig): MinimumBars {
  return {
    grade: config.POLICY_MINIMUM_COMPLIANT_GRADE,
    evidence: config.POLICY_MINIMUM_COMPLIANT_EVIDENCE,
  };
}

/** The settings by which newly created pods are injected; null: unknown to this process. */
export function installedOf(config: OperatorConfig, namespace: string | null) {
  const { SIDECAR_IMAGE: image } = config;
  return image === null || namespace === null
    ? null
    : injectionSettings({ ...config, SIDECAR_IMAGE: image }, namespace);
}

export function namespacesWithoutInjection(
  config: OperatorConfig,
  namespace: string | null,
): readonly string[] {
  return config.EXCLUDED_NAMESPACES ?? ['kube-system', ...(namespace === null ? [] : [namespace])];
}
