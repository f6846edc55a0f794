import {
  flag,
  LOG_FIELDS,
  LOG_SUMMARIES,
  optionalText,
  port,
  readEnv,
  type ConfigResult,
  type EnvField,
  type EnvFields,
  type Environment,
  type Summaries,
} from '../runtime/env.ts';

type ValueOf<F> = F extends EnvField<infer T> ? T : never;

/** Every variable of the operator; the reference page is generated from this table. */
export const OPERATOR_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(8081),
  POD_NAMESPACE: optionalText,
  POD_NAME: optionalText,
  LEADER_ELECT: flag(true),
  KUBECONFIG: optionalText,
} as const;

export const OPERATOR_SUMMARIES: Summaries<typeof OPERATOR_FIELDS> = {
  ...LOG_SUMMARIES,
  PORT: 'The port of health and metrics.',
  POD_NAMESPACE: "The namespace of the Lease. Unset: that of the kubeconfig's context.",
  POD_NAME: "Under which name this process leads and reports Events. Unset: the host's name.",
  LEADER_ELECT:
    'Several replicas: one works, the others wait for its Lease. `false`: this process works at once.',
  KUBECONFIG: "The kubeconfig file of the cluster. Unset: the pod's own ServiceAccount.",
};

export type OperatorConfig = { [K in keyof typeof OPERATOR_FIELDS]: ValueOf<(typeof OPERATOR_FIELDS)[K]> };

export function readConfig(env: Environment): ConfigResult<OperatorConfig> {
  return readEnv(env, OPERATOR_FIELDS as EnvFields<OperatorConfig>);
}
