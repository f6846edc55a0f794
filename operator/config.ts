import {
  flag,
  LOG_FIELDS,
  optionalText,
  port,
  readEnv,
  type ConfigResult,
  type EnvField,
  type EnvFields,
  type Environment,
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

export type OperatorConfig = { [K in keyof typeof OPERATOR_FIELDS]: ValueOf<(typeof OPERATOR_FIELDS)[K]> };

export function readConfig(env: Environment): ConfigResult<OperatorConfig> {
  return readEnv(env, OPERATOR_FIELDS as EnvFields<OperatorConfig>);
}
