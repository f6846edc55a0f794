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
  type ConfigResult,
  type EnvField,
  type Environment,
  type EnvProblem,
  type Summaries,
} from '../runtime/env.ts';
import { imageList, optionalImage } from '../runtime/injection-config.ts';
import { isDnsLabel } from '../core/injection/names.ts';
import type { SidecarImages } from '../core/injection/true-sidecar.ts';

export type StoreKind = 'kubernetes' | 'sqlite';

/** The shortest admin key that is accepted, in characters; the chart's schema has the same bound. */
export const ADMIN_KEY_MINIMUM = 16;
/** The shortest JWT_SECRET that is accepted, in characters. */
const JWT_SECRET_MINIMUM = 32;

/**
 * PostgreSQL has its name in the table of stores, and this build has no such store: asking for it must stop the start,
 * because a fallback would put the fleet's data where nobody looks for it.
 */
const STORE: EnvField<StoreKind | null> = {
  ...optionalOneOf(['kubernetes', 'sqlite']),
  wanted: 'kubernetes or sqlite, or unset (this build has no PostgreSQL store)',
};

const DATABASE_URL: EnvField<null> = {
  wanted: 'unset: this build has no PostgreSQL store; STORE=sqlite or STORE=kubernetes keep the agents',
  // A connection URL has a password in it.
  secret: true,
  parse: (raw) => (raw === undefined ? { ok: true, value: null } : { ok: false }),
};

const dnsLabel = (fallback: string): EnvField<string> => ({
  wanted: `a DNS label: 1 to 63 of a-z, 0-9 and "-" (default ${fallback})`,
  parse: (raw = fallback) => (isDnsLabel(raw) ? { ok: true, value: raw } : { ok: false }),
});

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
  REMOTE_NAMESPACE: dnsLabel('platform-remote'),
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
  PORT: 'The port of the API; HTTPS where TLS_CERT_FILE is set.',
  PLATFORM_ADMIN_KEY:
    'Checked against `X-Admin-Key`. Unset: admin routes and registration answer 503, and the rest works.',
  JWT_SECRET:
    'Signs the keys of registered agents. Unset: derived from the admin key by scrypt. Neither set: such keys are refused.',
  STORE:
    'Where agents are kept. Unset: `kubernetes` in a pod, else `sqlite`. With `sqlite` in a pod the database answers, and the AgentObservations are written all the same.',
  DATA_DIR: 'Folder of the SQLite database, `control-plane.sqlite`; made where it is missing.',
  DATABASE_URL: 'Kept for the PostgreSQL store; setting it stops the start.',
  RATE_LIMIT_SECONDS: 'The least time between two accepted heartbeats of one instance; 0: no limit.',
  REMOTE_NAMESPACE: 'Namespace of registered agents, and of their AgentObservations.',
  SIDECAR_REPOSITORY:
    'Image repository of the sidecar. Only a pod whose sidecar has an image from it, in any version, reports for an agent. Unset: any image.',
  SIDECAR_ALLOWED_IMAGES: 'Other images that such a sidecar may have, as full references.',
  TLS_CERT_FILE:
    'Certificate (PEM, with its chain); with TLS_KEY_FILE the API speaks HTTPS. Changed files are taken over within ten seconds.',
  TLS_KEY_FILE: 'The key of TLS_CERT_FILE; neither is taken alone.',
  KUBERNETES_SERVICE_HOST: 'Set by the kubelet in every container: says that this process runs in a pod.',
  KUBECONFIG:
    "The cluster to use where it is not the pod's own; required for STORE=kubernetes outside a pod.",
};

type Fields = {
  [K in keyof typeof CONTROL_PLANE_FIELDS]: (typeof CONTROL_PLANE_FIELDS)[K] extends EnvField<infer T>
    ? T
    : never;
};

export type ControlPlaneConfig = Pick<
  Fields,
  | 'LOG_LEVEL'
  | 'LOG_FORMAT'
  | 'PORT'
  | 'PLATFORM_ADMIN_KEY'
  | 'JWT_SECRET'
  | 'DATA_DIR'
  | 'RATE_LIMIT_SECONDS'
  | 'REMOTE_NAMESPACE'
> & {
  STORE: StoreKind;
  /**
   * The cluster whose pods may identify themselves by their projected token, and whose AgentObservations are written;
   * by the pod's own ServiceAccount where `kubeconfig` is null. null: there is none.
   */
  cluster: { kubeconfig: string | null } | null;
  /** Images of the sidecar whose pods may report; null: any. */
  sidecarImages: SidecarImages | null;
  tls: { certFile: string; keyFile: string } | null;
};

/** Reads the environment of the control plane; all problems at once. Pure. */
export function readConfig(env: Environment): ConfigResult<ControlPlaneConfig> {
  const result = readEnv<Fields>(env, CONTROL_PLANE_FIELDS);
  const problems = [...(result.ok ? [] : result.problems), ...tlsProblems(env), ...clusterProblems(env)];
  if (!result.ok || problems.length > 0) return { ok: false, problems };
  const {
    STORE: store,
    DATABASE_URL: _,
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    KUBERNETES_SERVICE_HOST: apiServer,
    KUBECONFIG: kubeconfig,
    SIDECAR_REPOSITORY: repository,
    SIDECAR_ALLOWED_IMAGES: allowed,
    ...fields
  } = result.config;
  const STORE = store ?? (apiServer === null ? 'sqlite' : 'kubernetes');
  return {
    ok: true,
    config: {
      ...fields,
      STORE,
      cluster: apiServer !== null || STORE === 'kubernetes' ? { kubeconfig } : null,
      sidecarImages: repository === null ? null : { repository, allowed },
      tls: certFile === null || keyFile === null ? null : { certFile, keyFile },
    },
  };
}

const isSet = (env: Environment, name: string): boolean => (env[name] ?? '') !== '';

/** A certificate without its key, or the key alone, would mean a server that silently speaks plain HTTP. */
function tlsProblems(env: Environment): EnvProblem[] {
  const names = ['TLS_CERT_FILE', 'TLS_KEY_FILE'];
  const missing = names.filter((name) => !isSet(env, name));
  if (missing.length !== 1) return [];
  const given = names.find((name) => !missing.includes(name)) ?? '';
  return missing.map((name) => ({ name, value: '(unset)', wanted: `set, because ${given} is` }));
}

function clusterProblems(env: Environment): EnvProblem[] {
  if (env['STORE'] !== 'kubernetes' || isSet(env, 'KUBERNETES_SERVICE_HOST') || isSet(env, 'KUBECONFIG'))
    return [];
  const wanted = 'the path of a kubeconfig file, because STORE is kubernetes and this process runs in no pod';
  return [{ name: 'KUBECONFIG', value: '(unset)', wanted }];
}
