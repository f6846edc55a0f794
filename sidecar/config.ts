import { isIP } from 'node:net';
import type { SidecarVariables } from '../core/injection/annotations.ts';
import { isDnsLabel } from '../core/injection/names.ts';
import { ANALYSIS_PROVIDER_NAMES, type AnalysisProvider } from '../core/injection/analysis-settings.ts';
import { SIDECAR_VALUE_FIELDS, SIDECAR_VALUE_SUMMARIES } from '../runtime/annotation-fields.ts';
import {
  flag,
  integer,
  LOG_FIELDS,
  LOG_SUMMARIES,
  oneOf,
  optional,
  optionalHeaderSecret,
  optionalHttpUrl,
  optionalInteger,
  optionalName,
  optionalOneOf,
  optionalSecret,
  optionalText,
  parseHttpUrl,
  port,
  readEnv,
  text,
  withDefault,
  type ConfigOf,
  type ConfigResult,
  type Environment,
  type EnvProblem,
  type Summaries,
} from '../runtime/env.ts';
import { ANY_ADDRESS } from '../runtime/http-listener.ts';
import { LLM_LIMIT_FIELDS, LLM_LIMIT_SUMMARIES } from '../runtime/llm-analysis-fields.ts';
import { COMBINATIONS, DEFAULT_UPSTREAM } from './config-combinations.ts';
import { EGRESS_FIELDS, EGRESS_SUMMARIES } from './egress/egress-fields.ts';
import { RECORD_FIELDS, RECORD_SUMMARIES } from './record/record-fields.ts';

/** Characters of a key: with a short one, names could be found by trying keys. */
const MIN_HASH_KEY = 32;
const DAY_MS = 86_400_000;

/** The agent's own address. A query, a fragment or credentials would have no effect, so they are rejected. */
const upstreamUrl = withDefault(
  'a URL and must use http: or https: protocol, without credentials, query or fragment',
  DEFAULT_UPSTREAM,
  (raw) => {
    const url = parseHttpUrl(raw);
    return url?.search === '' && url.hash === '' ? url : undefined;
  },
);

/**
 * The names of the agent container's variables, comma-separated. A single comma means that there are no variables. `*`
 * stands for variables from `envFrom`, so variables that are not listed may exist (`partial`).
 */
const agentEnvNames = optional('comma-separated names, with * for variables from envFrom', (raw) => {
  const listed = raw
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const names = listed.filter((name) => name !== '*');
  if (names.some((name) => /[\s=*]/.test(name))) return undefined;
  return { names, partial: names.length < listed.length };
});

/** Host names are not accepted: a misspelt name would fail later, with an error that does not mention the variable. */
const bindAddress = withDefault('an IP address, such as 127.0.0.1 or ::, or localhost', ANY_ADDRESS, (raw) =>
  isIP(raw) > 0 || raw === 'localhost' ? raw : undefined,
);

/** The kernel limits the path of a Unix socket to 107 bytes. */
const optionalSocketPath = optional('an absolute path of at most 107 bytes', (raw) =>
  raw.startsWith('/') && Buffer.byteLength(raw) <= 107 ? raw : undefined,
);

/** The variables of annotations are in core/injection/annotations.ts: a second row here does not compile. */
const OWN_FIELDS = {
  UPSTREAM_URL: upstreamUrl,
  UPSTREAM_TIMEOUT_MS: optionalInteger({ min: 1, max: DAY_MS }),
  MANIFEST_PATH: text('/manifest/agent.yaml'),
  PROXY_PORT: port(4000),
  CONTROL_PLANE_PORT: port(4001),
  BIND_ADDRESS: bindAddress,
  CONTROL_ACCESS: oneOf(['any', 'local'], 'any'),
  AGENT_NAME: optionalName('a DNS label (1 to 63 of a-z, 0-9 and -)', isDnsLabel),
  AGENT_NAMESPACE: optionalName('a DNS label (1 to 63 of a-z, 0-9 and -)', isDnsLabel),
  AGENT_ENV_NAMES: agentEnvNames,
  START_NONCE: optionalText,
  AUDIT_RING_SIZE: integer({ min: 1, max: 100_000, default: 1000 }),
  AUDIT_QUERY: flag(false),
  IDENTITY_HASH_KEY: optionalSecret(MIN_HASH_KEY),
  POLICY_URL: optionalHttpUrl,
  POLICY_SOCKET: optionalSocketPath,
  POLICY_ENGINE: optionalOneOf(['opa', 'builtin']),
  POLICY_TIMEOUT_MS: integer({ min: 1, max: 60_000, default: 1000 }),
  LLM_ANALYSIS_PROVIDER: optionalOneOf(['off', ...ANALYSIS_PROVIDER_NAMES]),
  // Not checked here: on a laptop these are often variables of the agent, which must not stop the start.
  ANTHROPIC_API_KEY: optionalSecret(),
  ANTHROPIC_BASE_URL: optionalText,
  OPENAI_API_KEY: optionalSecret(),
  OPENAI_BASE_URL: optionalText,
  PLATFORM_LLM_API_KEY: optionalSecret(),
  PLATFORM_LLM_BASE_URL: optionalText,
  PLATFORM_LLM_MODEL: optionalText,
  ...LLM_LIMIT_FIELDS,
  PROOF_STORE_PATH: optionalText,
  PROOF_WRITES: oneOf(['local', 'control-plane'], 'local'),
  PLATFORM_SECRET_DIR: optionalText,
  PLATFORM_URL: optionalHttpUrl,
  PLATFORM_KEY: optionalHeaderSecret,
  PLATFORM_KEY_STORE_PATH: optionalText,
  PLATFORM_TOKEN_FILE: optionalText,
  PLATFORM_CA_FILE: optionalText,
  ORGANISATION_ON_UNKNOWN: oneOf(['start', 'wait'], 'start'),
  DIRECTIVES_STORE_PATH: optionalText,
  STOP_ANNOTATION_FILE: optionalText,
  HEARTBEAT_SECONDS: integer({ min: 10, max: 3600, default: 30 }),
  OTLP_PORT: optionalInteger({ min: 1, max: 65535 }),
  OTLP_FORWARD_URL: optionalHttpUrl,
  ...EGRESS_FIELDS,
  ...RECORD_FIELDS,
} satisfies Record<string, unknown> & { [K in keyof SidecarVariables]?: never };

/** Every variable of the sidecar; the reference page is generated from this table. LOG_LEVEL is described as for every process. */
export const SIDECAR_FIELDS = { ...SIDECAR_VALUE_FIELDS, ...LOG_FIELDS, ...OWN_FIELDS };

export type RawConfig = ConfigOf<typeof SIDECAR_FIELDS>;
export type SidecarConfig = Omit<RawConfig, 'POLICY_ENGINE' | 'LLM_ANALYSIS_PROVIDER' | 'EGRESS_MODE'> & {
  EGRESS_MODE: NonNullable<RawConfig['EGRESS_MODE']>;
  POLICY_ENGINE: NonNullable<RawConfig['POLICY_ENGINE']> | 'none';
  LLM_ANALYSIS_PROVIDER: 'off' | AnalysisProvider;
};

const OWN_SUMMARIES: Summaries<typeof OWN_FIELDS> = {
  UPSTREAM_URL: "The agent's own server. A path in the URL is prepended to every request path.",
  UPSTREAM_TIMEOUT_MS: 'Milliseconds until the first byte of a response, else 504. Unset: no limit.',
  MANIFEST_PATH: 'Path of the manifest. The file must be valid at start and is reloaded when it changes.',
  PROXY_PORT: 'The port of the proxy in front of the agent.',
  CONTROL_PLANE_PORT: 'The port of the control routes.',
  BIND_ADDRESS:
    'The address on which both ports listen. `::`: every IPv6 and IPv4 address; without IPv6 in the kernel, every IPv4 address.',
  CONTROL_ACCESS:
    '`local`: requests from outside loopback, or with a non-loopback `Host` or `Origin`, are accepted on open routes only, and `/health/ready` then has no body.',
  AGENT_NAME: 'The agent name in the label of the pod, compared with `metadata.name`. Set by the injector.',
  AGENT_NAMESPACE:
    'The namespace of the agent in the audit log. Unset: the namespace in the token of PLATFORM_TOKEN_FILE, else default.',
  AGENT_ENV_NAMES:
    "The names of the agent container's variables; `*` for variables from `envFrom`, a single comma for none. Set by the injector. Unset: the sidecar's own environment is used as the agent's.",
  START_NONCE:
    'Any text, which `/readyz` returns, so that the process that started this sidecar recognises it. Set by `platform run`.',
  AUDIT_RING_SIZE:
    'Maximum number of entries in the audit ring. The sidecar lowers it, with a warning, to one entry for each 24 KiB of its memory limit.',
  AUDIT_QUERY: 'Record query strings in audit entries.',
  IDENTITY_HASH_KEY:
    'A key of at least 32 characters. Persons are then recorded as `h-` and 32 hexadecimal digits of the HMAC-SHA256 of their name. Unset: persons are recorded by name.',
  POLICY_URL:
    'Base URL of a policy engine (Open Policy Agent) with the generated rules. Unset: no external engine is queried.',
  POLICY_SOCKET:
    'Path of a Unix socket of the engine at POLICY_URL, for queries that take less processor time than over TCP. Set by the injector.',
  POLICY_ENGINE:
    'The policy engine: opa queries POLICY_URL, builtin evaluates the same rules in the sidecar. Unset: opa if POLICY_URL is set, else none.',
  POLICY_TIMEOUT_MS: 'Milliseconds to wait for POLICY_URL; after that the request passes unevaluated.',
  LLM_ANALYSIS_PROVIDER:
    'The provider of the LLM analysis, which is off without its key. Unset: anthropic-api if ANTHROPIC_API_KEY is set, else off.',
  ANTHROPIC_API_KEY:
    'The key of the provider anthropic-api. Turns the LLM analysis on, unless LLM_ANALYSIS_PROVIDER is set.',
  ANTHROPIC_BASE_URL: 'Base URL of the Anthropic API, without /v1. Unset: the public API.',
  OPENAI_API_KEY:
    "The key of the provider openai-api. Turns nothing on by itself, because it is often the agent's own key.",
  OPENAI_BASE_URL: 'Base URL of the OpenAI API, with /v1. Unset: the public API.',
  PLATFORM_LLM_API_KEY: 'The key of the provider openai-compatible.',
  PLATFORM_LLM_BASE_URL: 'Base URL of the provider openai-compatible, with /v1.',
  PLATFORM_LLM_MODEL:
    'The model of the provider openai-compatible. Without PLATFORM_LLM_API_KEY it replaces the default model of the other providers.',
  ...LLM_LIMIT_SUMMARIES,
  PROOF_STORE_PATH:
    'Path of the file that stores proofs across restarts. Unset: proofs are kept in memory only.',
  PROOF_WRITES:
    'Where proofs of this agent are written: local accepts them on CONTROL_PLANE_PORT, control-plane requires the admin key. The injector sets control-plane if the chart has an admin key.',
  PLATFORM_SECRET_DIR:
    'Directory with one file per `$secret:` name, if the sidecar shares it with the agent. Unset: variables PLATFORM_SECRET_<NAME>.',
  PLATFORM_URL: 'URL of the control plane. Unset: no heartbeats.',
  PLATFORM_KEY: 'The key from the registration of the agent; renewed at two thirds of its lifetime.',
  PLATFORM_KEY_STORE_PATH:
    'Path of the file that stores the renewed PLATFORM_KEY across restarts. The stored key is used while it is newer than PLATFORM_KEY. Unset: the renewed key is kept in memory only.',
  PLATFORM_TOKEN_FILE:
    'Path of a file with the token, instead of PLATFORM_KEY; read for each heartbeat. A registration key in the file is renewed in place (mode 0600); a projected token is renewed by the kubelet.',
  PLATFORM_CA_FILE:
    'Path of a PEM file with the CA certificates that verify the control plane, read for each heartbeat. Unset: the CAs of Node.js.',
  ORGANISATION_ON_UNKNOWN:
    'At the start, if the control plane has not compared the manifest with the rules of the organisation within five seconds: start lets the agent start, wait keeps `/readyz` at 503.',
  DIRECTIVES_STORE_PATH:
    'Path of the file that stores the last stop and organisation rules from the control plane, so that a restarted sidecar applies them before it opens its ports. Used with PLATFORM_URL. Unset: they are kept in memory only. Set by the injector.',
  STOP_ANNOTATION_FILE:
    'Path of a file with the reason for which the agent is stopped, read every second. Empty or missing: it stops nothing. Set by the injector, for the annotation platform.io/stop.',
  HEARTBEAT_SECONDS: 'Seconds between two heartbeats; the control plane may change the interval.',
  OTLP_PORT:
    'The port on 127.0.0.1 and ::1 that receives OpenTelemetry spans over OTLP/HTTP. Unset: no spans are received. The injector sets 4318 with the annotation platform.io/otlp.',
  OTLP_FORWARD_URL:
    'Base URL of an OpenTelemetry collector, without /v1/traces, to which exports are forwarded unchanged. Unset: exports are not forwarded.',
  ...EGRESS_SUMMARIES,
  ...RECORD_SUMMARIES,
};

export const SIDECAR_SUMMARIES: Summaries<typeof SIDECAR_FIELDS> = {
  ...SIDECAR_VALUE_SUMMARIES,
  ...LOG_SUMMARIES,
  ...OWN_SUMMARIES,
};

/** Reads the sidecar's environment. All invalid values and combinations are reported together. */
export function readConfig(env: Environment): ConfigResult<SidecarConfig> {
  const result = readEnv(env, SIDECAR_FIELDS);
  const invalid = result.ok ? [] : result.problems;
  const known = new Set(invalid.map((problem) => problem.name));
  const problems = [...invalid, ...wrongCombinations(env).filter((problem) => !known.has(problem.name))];
  if (!result.ok || problems.length > 0) return { ok: false, problems };
  const { POLICY_ENGINE, POLICY_URL, LLM_ANALYSIS_PROVIDER, ANTHROPIC_API_KEY } = result.config;
  const { EGRESS_MODE, POLICY_PROXY_MODE } = result.config;
  return {
    ok: true,
    config: {
      ...result.config,
      EGRESS_MODE: EGRESS_MODE ?? POLICY_PROXY_MODE,
      POLICY_ENGINE: POLICY_ENGINE ?? (POLICY_URL === null ? 'none' : 'opa'),
      LLM_ANALYSIS_PROVIDER: LLM_ANALYSIS_PROVIDER ?? (ANTHROPIC_API_KEY === null ? 'off' : 'anthropic-api'),
    },
  };
}

function wrongCombinations(env: Environment): EnvProblem[] {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  return COMBINATIONS.filter((row) => row.isWrong(given)).map(({ name, wanted }) => ({
    name,
    value: given[name] ?? '(unset)',
    wanted,
  }));
}
