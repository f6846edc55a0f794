import {
  headerSecret,
  integer,
  LOG_FIELDS,
  LOG_SUMMARIES,
  optionalOneOf,
  optionalSecret,
  optionalText,
  port,
  readEnv,
  text,
  withDefault,
  type ConfigOf,
  type ConfigResult,
  type EnvField,
  type Environment,
  type EnvProblem,
  type Summaries,
} from '../runtime/env.ts';
import { imageList, optionalImage } from '../runtime/injection-config.ts';
import { isDnsLabel } from '../core/injection/names.ts';

/** Minimum length of the admin key, in characters; the chart's schema has the same bound. */
export const ADMIN_KEY_MINIMUM = 16;
/** Minimum length of JWT_SECRET, in characters. */
const JWT_SECRET_MINIMUM = 32;

/**
 * The documented list of stores contains PostgreSQL, but this build has no such store. Selecting it must fail the start: a
 * fallback would store the fleet's data in an unexpected place.
 */
const STORE = {
  ...optionalOneOf(['kubernetes', 'sqlite']),
  wanted: 'kubernetes or sqlite, or unset (this build has no PostgreSQL store)',
};

const DATABASE_URL: EnvField<null> = {
  wanted: 'unset: this build has no PostgreSQL store; use STORE=sqlite or STORE=kubernetes',
  // A connection URL contains a password.
  secret: true,
  parse: (raw) => (raw === undefined ? { ok: true, value: null } : { ok: false }),
};

/** Every variable of the control plane; docs/reference is generated from this table. */
export const CONTROL_PLANE_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(8080),
  PLATFORM_ADMIN_KEY: headerSecret(ADMIN_KEY_MINIMUM),
  JWT_SECRET: optionalSecret(JWT_SECRET_MINIMUM),
  STORE,
  DATA_DIR: text('./data'),
  DATABASE_URL,
  RATE_LIMIT_SECONDS: integer({ min: 0, max: 3600, default: 10 }),
  REMOTE_NAMESPACE: withDefault(
    'a DNS label: 1 to 63 characters of a-z, 0-9 and "-"',
    'platform-remote',
    (raw) => (isDnsLabel(raw) ? raw : undefined),
  ),
  SIDECAR_REPOSITORY: optionalImage,
  SIDECAR_ALLOWED_IMAGES: imageList,
  TLS_CERT_FILE: optionalText,
  TLS_KEY_FILE: optionalText,
  // Set by the kubelet in every container.
  KUBERNETES_SERVICE_HOST: optionalText,
  KUBECONFIG: optionalText,
} as const;

export const CONTROL_PLANE_SUMMARIES: Summaries<typeof CONTROL_PLANE_FIELDS> = {
  ...LOG_SUMMARIES,
  PORT: 'Port of the API. HTTPS if TLS_CERT_FILE is set.',
  PLATFORM_ADMIN_KEY:
    'Compared with `X-Admin-Key`. Unset: admin routes and registration return 503, other routes work.',
  JWT_SECRET:
    'Signs the keys of registered agents. Unset: derived from the admin key with scrypt. If neither is set, such keys are rejected.',
  STORE:
    'Storage for agents. Unset: `kubernetes` in a pod, else `sqlite`. With `sqlite` in a pod, reads use the database and AgentObservations are still written.',
  DATA_DIR: 'Directory of the SQLite database `control-plane.sqlite`. Created if missing.',
  DATABASE_URL: 'Reserved for the PostgreSQL store. If it is set, the start fails.',
  RATE_LIMIT_SECONDS: 'Minimum time between two accepted heartbeats of one instance. 0: no limit.',
  REMOTE_NAMESPACE: 'Namespace of registered agents and of their AgentObservations.',
  SIDECAR_REPOSITORY:
    'Image repository of the sidecar. A pod can report for an agent only if its sidecar image is from this repository, in any version. Unset: any image.',
  SIDECAR_ALLOWED_IMAGES: 'Additional allowed sidecar images, as full references.',
  TLS_CERT_FILE:
    'PEM file with the certificate and its chain. With TLS_KEY_FILE the API uses HTTPS. Changed files are reloaded within ten seconds.',
  TLS_KEY_FILE: 'PEM file with the private key of TLS_CERT_FILE. Set both or neither.',
  KUBERNETES_SERVICE_HOST: 'Set by the kubelet in every container. Marks that this process runs in a pod.',
  KUBECONFIG:
    "Path to a kubeconfig file, for a cluster other than the pod's own. Required for STORE=kubernetes outside a pod.",
};

export type ControlPlaneConfig = ReturnType<typeof configOf>;

/** Reads the environment of the control plane and returns all problems at once. Pure. */
export function readConfig(env: Environment): ConfigResult<ControlPlaneConfig> {
  const result = readEnv(env, CONTROL_PLANE_FIELDS);
  const problems = [...(result.ok ? [] : result.problems), ...tlsProblems(env), ...clusterProblems(env)];
  return !result.ok || problems.length > 0
    ? { ok: false, problems }
    : { ok: true, config: configOf(result.config) };
}

function configOf(values: ConfigOf<typeof CONTROL_PLANE_FIELDS>) {
  const {
    DATABASE_URL: _,
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    KUBERNETES_SERVICE_HOST: apiServer,
    KUBECONFIG: kubeconfig,
    SIDECAR_REPOSITORY: repository,
    SIDECAR_ALLOWED_IMAGES: allowed,
    ...fields
  } = values;
  const STORE = fields.STORE ?? (apiServer === null ? 'sqlite' : 'kubernetes');
  return {
    ...fields,
    STORE,
    /**
     * The cluster whose pods authenticate with projected tokens, and whose AgentObservations are written. A null `kubeconfig`
     * means the pod's own ServiceAccount. null: no cluster.
     */
    cluster: apiServer !== null || STORE === 'kubernetes' ? { kubeconfig } : null,
    /** Allowed sidecar images of pods that report; null: any. */
    sidecarImages: repository === null ? null : { repository, allowed },
    tls: certFile === null || keyFile === null ? null : { certFile, keyFile },
  };
}

const isSet = (env: Environment, name: string): boolean => (env[name] ?? '') !== '';

/** With only one of the two files the server would silently use plain HTTP. */
function tlsProblems(env: Environment): EnvProblem[] {
  const names = ['TLS_CERT_FILE', 'TLS_KEY_FILE'];
  const [given, ...both] = names.filter((name) => isSet(env, name));
  if (given === undefined || both.length > 0) return [];
  const wanted = `set, because ${given} is set`;
  return names.filter((name) => name !== given).map((name) => ({ name, value: '(unset)', wanted }));
}

function clusterProblems(env: Environment): EnvProblem[] {
  if (env['STORE'] !== 'kubernetes' || isSet(env, 'KUBERNETES_SERVICE_HOST') || isSet(env, 'KUBECONFIG'))
    return [];
  const wanted =
    'the path of a kubeconfig file, because STORE is kubernetes and this process does not run in a pod';
  return [{ name: 'KUBECONFIG', value: '(unset)', wanted }];
}
