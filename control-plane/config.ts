import {
  flag,
  headerSecret,
  integer,
  LOG_FIELDS,
  LOG_SUMMARIES,
  optional,
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
import { caFiles } from '../runtime/known-cas.ts';
import { isDnsLabel } from '../core/injection/names.ts';
import { OIDC_FIELDS, OIDC_SUMMARIES, oidcRows, takeOidc } from './auth/oidc/oidc-config.ts';
import { DATABASE_URL_FORM, parseDatabaseUrl, type DatabaseAddress } from './stores/postgres/database-url.ts';
import { DEFAULT_RETENTION } from './stores/sql/retention.ts';

/** Minimum length of the admin key, in characters; the chart's schema has the same bound. */
export const ADMIN_KEY_MINIMUM = 16;
/** Minimum length of JWT_SECRET, in characters. */
const JWT_SECRET_MINIMUM = 32;

const DATABASE_URL: EnvField<DatabaseAddress | null> = {
  ...optional(DATABASE_URL_FORM, parseDatabaseUrl),
  // The URL contains a password.
  secret: true,
};

/** Every variable of the control plane; docs/reference is generated from this table. */
export const CONTROL_PLANE_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(8080),
  PLATFORM_ADMIN_KEY: headerSecret(ADMIN_KEY_MINIMUM),
  PLATFORM_READ_KEY: headerSecret(ADMIN_KEY_MINIMUM),
  PLATFORM_ROLES_FILE: optionalText,
  PROOF_APPROVER_NOT_AUTHOR: flag(false),
  JWT_SECRET: optionalSecret(JWT_SECRET_MINIMUM),
  STORE: optionalOneOf(['kubernetes', 'sqlite', 'postgres']),
  DATA_DIR: text('./data'),
  DATABASE_URL,
  DATABASE_CA_FILE: optionalText,
  DATABASE_POOL: integer({ min: 1, max: 50, default: 10 }),
  KEEP_HEARTBEATS: integer({ min: 1, max: 1000, default: DEFAULT_RETENTION.heartbeats }),
  KEEP_HOURLY_DAYS: integer({ min: 1, max: 400, default: DEFAULT_RETENTION.hourlyDays }),
  KEEP_DAILY_DAYS: integer({ min: 1, max: 3660, default: DEFAULT_RETENTION.dailyDays }),
  AUDIT_RETENTION_DAYS: integer({ min: 1, max: 3650, default: DEFAULT_RETENTION.auditDays }),
  REMOVE_AFTER_DAYS: integer({ min: 0, max: 3650, default: DEFAULT_RETENTION.removeAfterDays }),
  RATE_LIMIT_SECONDS: integer({ min: 0, max: 3600, default: 10 }),
  REMOTE_NAMESPACE: withDefault(
    'a DNS label: 1 to 63 characters of a-z, 0-9 and "-"',
    'platform-remote',
    (raw) => (isDnsLabel(raw) ? raw : undefined),
  ),
  ORGANISATION_POLICIES: optionalText,
  ...OIDC_FIELDS,
  SIDECAR_REPOSITORY: optionalImage,
  SIDECAR_ALLOWED_IMAGES: imageList,
  SIDECAR_CA_FILES: caFiles,
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
    'Compared with `X-Admin-Key`, with every right. Unset, and PLATFORM_READ_KEY and OIDC_ISSUER too: admin routes and registration return 503, other routes work.',
  PLATFORM_READ_KEY:
    'A second value of `X-Admin-Key`, which can only read. It must differ from PLATFORM_ADMIN_KEY.',
  PLATFORM_ROLES_FILE:
    'Without a cluster: YAML file with the roles of people, read at the start: `roles: [{role, groups, users, namespaces}]`. Unset: only keys have rights. In a cluster Kubernetes decides with its RBAC.',
  PROOF_APPROVER_NOT_AUTHOR:
    'A proof whose `verifiedBy` is the subject, the user name or the name of its caller is refused.',
  JWT_SECRET:
    'Signs the keys of registered agents. Unset: derived from the admin key with scrypt. If neither is set, such keys are rejected.',
  STORE:
    'Storage for agents. Unset: `postgres` if DATABASE_URL is set, `kubernetes` in a pod, else `sqlite`. With `sqlite` or `postgres` in a pod, reads use the database and AgentObservations are still written.',
  DATA_DIR: 'Directory of the SQLite database `control-plane.sqlite`. Created if missing.',
  DATABASE_URL:
    'The PostgreSQL database. Default of `sslmode`: `verify-full`, or `disable` for a loopback host or a Unix socket. `require` encrypts without verification of the certificate, unless DATABASE_CA_FILE is set.',
  DATABASE_CA_FILE:
    'PEM file with the CA certificates that sign the certificate of the PostgreSQL server. Unset: the public CAs that Node.js contains.',
  DATABASE_POOL: 'Maximum number of connections of this process to PostgreSQL.',
  KEEP_HEARTBEATS: 'With SQLite or PostgreSQL: number of the last heartbeats that are kept for each agent.',
  KEEP_HOURLY_DAYS: 'With SQLite or PostgreSQL: days for which the history by hour is kept.',
  KEEP_DAILY_DAYS: 'With SQLite or PostgreSQL: days for which the history by day is kept.',
  AUDIT_RETENTION_DAYS:
    'With SQLite or PostgreSQL: days for which audit events and the heads of audit logs are kept, also those of deleted agents.',
  REMOVE_AFTER_DAYS:
    'With SQLite or PostgreSQL: days after the last heartbeat after which a workload of the cluster is removed with its history. 0: never. Registered agents are kept until they are deleted.',
  RATE_LIMIT_SECONDS: 'Minimum time between two accepted heartbeats of one instance. 0: no limit.',
  REMOTE_NAMESPACE: 'Namespace of registered agents and of their AgentObservations.',
  ORGANISATION_POLICIES:
    'Without a cluster: file or directory with AgentPolicy documents, read at the start. In a cluster the AgentPolicies of the API server apply.',
  ...OIDC_SUMMARIES,
  SIDECAR_REPOSITORY:
    'Image repository of the sidecar. A pod can report for an agent only if its sidecar image is from this repository, in any version. Unset: any image.',
  SIDECAR_ALLOWED_IMAGES: 'Additional allowed sidecar images, as full references.',
  SIDECAR_CA_FILES:
    'PEM files with the CAs and the certificate chain of this control plane, separated by commas. A pod can report for an agent only if its annotation `platform.io/ca` contains only CAs that signed a certificate of these files. Unset: any CA. Changed files are reloaded within ten seconds.',
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
  const problems = [...(result.ok ? [] : result.problems), ...problemsBetween(env)];
  return !result.ok || problems.length > 0
    ? { ok: false, problems }
    : { ok: true, config: configOf(result.config) };
}

function configOf(values: ConfigOf<typeof CONTROL_PLANE_FIELDS>) {
  const {
    DATABASE_URL: address,
    DATABASE_CA_FILE: caFile,
    DATABASE_POOL: poolSize,
    KEEP_HEARTBEATS: heartbeats,
    KEEP_HOURLY_DAYS: hourlyDays,
    KEEP_DAILY_DAYS: dailyDays,
    AUDIT_RETENTION_DAYS: auditDays,
    REMOVE_AFTER_DAYS: removeAfterDays,
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    KUBERNETES_SERVICE_HOST: apiServer,
    KUBECONFIG: kubeconfig,
    SIDECAR_REPOSITORY: repository,
    SIDECAR_ALLOWED_IMAGES: allowed,
    ...others
  } = values;
  const { oidc, rest: fields } = takeOidc(others);
  const inferred = apiServer === null ? 'sqlite' : 'kubernetes';
  const STORE = fields.STORE ?? (address === null ? inferred : 'postgres');
  return {
    ...fields,
    STORE,
    /** The OpenID Connect provider; null: only keys. */
    oidc,
    /** The PostgreSQL database; null: another store. */
    database: address && { address, caFile, poolSize },
    retention: { heartbeats, hourlyDays, dailyDays, removeAfterDays, auditDays },
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

const UNSET = '(unset)';
const WANTED = {
  noCa: 'unset, because the connection of DATABASE_URL has no TLS; for TLS, add sslmode=verify-full to the URL',
  noPolicies: 'unset, because the rules are the AgentPolicies of the cluster',
  noRoles: 'unset, because the RBAC of the cluster decides',
  kubeconfig:
    'the path of a kubeconfig file, because STORE is kubernetes and this process does not run in a pod',
};

type Row = readonly [holds: boolean, name: string, value: string, wanted: string];

/**
 * Variables that contradict each other. A setting that has no effect would store data in an unexpected place, leave a connection
 * without verification, or silently use plain HTTP.
 */
function problemsBetween(env: Environment): EnvProblem[] {
  const { STORE: store = '', DATABASE_CA_FILE: caFile = '', ORGANISATION_POLICIES: policies = '' } = env;
  const { PLATFORM_ADMIN_KEY: adminKey, PLATFORM_READ_KEY: readKey, PLATFORM_ROLES_FILE: roles = '' } = env;
  const has = (name: string): boolean => isSet(env, name);
  const hasUrl = has('DATABASE_URL');
  const hasNoTls = parseDatabaseUrl(env['DATABASE_URL'] ?? '')?.tls === 'disable';
  const isPod = has('KUBERNETES_SERVICE_HOST');
  const isKubernetes = store === 'kubernetes';
  const isOther = isKubernetes || store === 'sqlite';
  const hasPolicies = policies !== '' && (isPod || isKubernetes);
  const hasRoles = roles !== '' && (isPod || isKubernetes);
  const isSameKey = has('PLATFORM_READ_KEY') && readKey === adminKey;
  const hasNoCluster = isKubernetes && !isPod && !has('KUBECONFIG');
  const [cert, key] = ['TLS_CERT_FILE', 'TLS_KEY_FILE'];
  const rows: Row[] = [
    [has(key) && !has(cert), cert, UNSET, `set, because ${key} is set`],
    [has(cert) && !has(key), key, UNSET, `set, because ${cert} is set`],
    [store === 'postgres' && !hasUrl, 'DATABASE_URL', UNSET, 'set, because STORE is postgres'],
    [hasUrl && isOther, 'DATABASE_URL', '[secret]', `unset, because STORE is ${store}`],
    [caFile !== '' && !hasUrl, 'DATABASE_CA_FILE', caFile, 'unset, because DATABASE_URL is unset'],
    [caFile !== '' && hasUrl && hasNoTls, 'DATABASE_CA_FILE', caFile, WANTED.noCa],
    [isSameKey, 'PLATFORM_READ_KEY', '[secret]', 'different from PLATFORM_ADMIN_KEY'],
    [hasRoles, 'PLATFORM_ROLES_FILE', roles, WANTED.noRoles],
    [hasPolicies, 'ORGANISATION_POLICIES', policies, WANTED.noPolicies],
    [hasNoCluster && !hasPolicies, 'KUBECONFIG', UNSET, WANTED.kubeconfig],
    ...oidcRows(env),
  ];
  return rows.flatMap(([holds, name, value, wanted]) => (holds ? [{ name, value, wanted }] : []));
}
