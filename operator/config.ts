import { isDnsLabel, isDnsSubdomain } from '../core/injection/names.ts';
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

const optionalName = (what: string, accepts: (raw: string) => boolean): EnvField<string | null> => ({
  wanted: `${what}, or unset`,
  parse: (raw) => {
    if (raw === undefined) return { ok: true, value: null };
    return accepts(raw) ? { ok: true, value: raw } : { ok: false };
  },
});

/** Every variable of the operator; the reference page is generated from this table. */
export const OPERATOR_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(8081),
  POD_NAMESPACE: optionalName('a namespace (a DNS label)', isDnsLabel),
  POD_NAME: optionalName('the name of a pod', isDnsSubdomain),
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
