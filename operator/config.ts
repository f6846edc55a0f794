import type { Installed } from '../core/injection/drift.ts';
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
  type ConfigResult,
  type EnvField,
  type EnvFields,
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
  type InjectionConfig,
} from '../runtime/injection-config.ts';
import { REMOTE_FIELDS, REMOTE_SUMMARIES, remoteProblems } from './remote/config.ts';
import type { MinimumBars } from './agents/desired.ts';

type ValueOf<F> = F extends EnvField<infer T> ? T : never;

/** Every variable of the operator; the reference page is generated from this table. */
export const OPERATOR_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(8081),
  POD_NAMESPACE: optionalName('a namespace (a DNS label)', isDnsLabel),
  POD_NAME: optionalName('the name of a pod', isDnsSubdomain),
  LEADER_ELECT: flag(true),
  GUARD_POLICY: optionalName('the name of a ValidatingAdmissionPolicy', isDnsSubdomain),
  WAKE_CONTROLLERS: flag(true),
  EXCLUDED_NAMESPACES: optionalNames('namespaces (DNS labels)', isDnsLabel),
  CANARY_NAMESPACE: optionalName('a namespace (a DNS label)', isDnsLabel),
  CANARY_SERVICE_ACCOUNT: kubernetesName('agent-compliance-canary', isDnsSubdomain),
  CANARY_POLICY: optionalName('the name of a ValidatingAdmissionPolicy', isDnsSubdomain),
  CANARY_SECONDS: integer({ min: 1, max: 3600, default: 60 }),
  WEBHOOK_CONFIGURATION: kubernetesName('agent-compliance', isDnsSubdomain),
  WEBHOOK_DEPLOYMENT: kubernetesName('agent-compliance-webhook', isDnsSubdomain),
  ...INJECTION_FIELDS,
  SIDECAR_IMAGE: optionalImage,
  ...REMOTE_FIELDS,
  KUBECONFIG: optionalText,
} as const;

export const OPERATOR_SUMMARIES: Summaries<typeof OPERATOR_FIELDS> = {
  ...LOG_SUMMARIES,
  PORT: 'The port of health and metrics.',
  POD_NAMESPACE: "The namespace of the Lease. Unset: that of the kubeconfig's context.",
  POD_NAME: "Under which name this process leads and reports Events. Unset: the host's name.",
  LEADER_ELECT:
    'Several replicas: one works, the others wait for its Lease. `false`: this process works at once.',
  GUARD_POLICY:
    'The ValidatingAdmissionPolicy whose rejections of pods this process tells their owners. Unset: it follows none.',
  WAKE_CONTROLLERS:
    'Whether controllers whose pods were refused while the injector was away are woken when it is back.',
  EXCLUDED_NAMESPACES:
    'The namespaces that the injector leaves out, so that nothing is missing there. Unset: `kube-system` and POD_NAMESPACE.',
  CANARY_NAMESPACE:
    'The namespace of the dry-run pods that show whether the injector works. Unset: there are none.',
  CANARY_SERVICE_ACCOUNT: 'The ServiceAccount that asks for them, in POD_NAMESPACE.',
  CANARY_POLICY:
    'The ValidatingAdmissionPolicy that gets the condition `CanaryPassing`. Unset: there is no condition.',
  CANARY_SECONDS: 'Between two of them while all is well.',
  WEBHOOK_CONFIGURATION:
    'The MutatingWebhookConfiguration with the authorities that the API server believes.',
  WEBHOOK_DEPLOYMENT: "The injector's Deployment, to which Events of the canary belong.",
  ...INJECTION_SUMMARIES,
  SIDECAR_IMAGE:
    'The sidecar that the canary expects, and by which pods with an outdated one are known; this and all below is what the webhook is given. Required with CANARY_NAMESPACE.',
  ...REMOTE_SUMMARIES,
  KUBECONFIG: "The kubeconfig file of the cluster. Unset: the pod's own ServiceAccount.",
};

export type OperatorConfig = { [K in keyof typeof OPERATOR_FIELDS]: ValueOf<(typeof OPERATOR_FIELDS)[K]> };

/** The operator's environment; wrong values, and values that are wrong together, are all reported at once. */
export function readConfig(env: Environment): ConfigResult<OperatorConfig> {
  const result = readEnv(env, OPERATOR_FIELDS as EnvFields<OperatorConfig>);
  const problems = [
    ...(result.ok ? [] : result.problems),
    ...injectionProblems(env),
    ...(result.ok ? [...canaryProblems(result.config), ...remoteProblems(result.config)] : []),
  ];
  return !result.ok || problems.length > 0 ? { ok: false, problems } : result;
}

function canaryProblems(config: OperatorConfig): EnvProblem[] {
  const isMissing = config.CANARY_NAMESPACE !== null && config.SIDECAR_IMAGE === null;
  const wanted = 'an image reference, since CANARY_NAMESPACE is set';
  return isMissing ? [{ name: 'SIDECAR_IMAGE', value: '(unset)', wanted }] : [];
}

/** Where the canary asks, and what it expects; null: there is none. */
export function canaryOf(config: OperatorConfig): { namespace: string; injection: InjectionConfig } | null {
  const { CANARY_NAMESPACE: namespace, SIDECAR_IMAGE: image } = config;
  return namespace === null || image === null
    ? null
    : { namespace, injection: { ...config, SIDECAR_IMAGE: image } };
}

/** The lowest bars of compliance that an annotation may set. */
export function minimumOf(config: OperatorConfig): MinimumBars {
  return {
    grade: config.POLICY_MINIMUM_COMPLIANT_GRADE,
    evidence: config.POLICY_MINIMUM_COMPLIANT_EVIDENCE,
  };
}

/** What pods that are made now get, as their annotation has it; null: not known here. */
export function installedOf(config: OperatorConfig, namespace: string | null): Installed | null {
  const { SIDECAR_IMAGE: image } = config;
  return image === null || namespace === null
    ? null
    : injectionSettings({ ...config, SIDECAR_IMAGE: image }, namespace);
}

export function excludedNamespacesOf(config: OperatorConfig, namespace: string | null): readonly string[] {
  return config.EXCLUDED_NAMESPACES ?? ['kube-system', ...(namespace === null ? [] : [namespace])];
}
