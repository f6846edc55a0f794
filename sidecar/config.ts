import { isIP } from 'node:net';
import { isDnsLabel } from '../core/injection/names.ts';
import type { ProofWrites } from '../core/proof/proof.ts';
import { isOwnHost } from '../probe/own-address.ts';
import {
  flag,
  integer,
  LOG_FIELDS,
  LOG_SUMMARIES,
  oneOf,
  optionalHeaderSecret,
  optionalHttpUrl,
  optionalInteger,
  optionalOneOf,
  optionalSecret,
  optionalText,
  port,
  readEnv,
  text,
  type ConfigResult,
  type Environment,
  type EnvField,
  type EnvProblem,
  type Summaries,
} from '../runtime/env.ts';
import { ANY_ADDRESS } from '../runtime/http-listener.ts';
import type { LoggerOptions } from '../runtime/logger.ts';
import type { Secret } from '../runtime/secret.ts';

export type PolicyEngine = 'none' | 'opa' | 'builtin';

/** The names of the agent container's variables, as the injector passes them. */
export interface AgentEnvNames {
  names: string[];
  /** The container also has `envFrom`: a name that is not listed may exist all the same. */
  partial: boolean;
}

export interface SidecarConfig {
  LOG_LEVEL: LoggerOptions['level'];
  LOG_FORMAT: LoggerOptions['format'];
  UPSTREAM_URL: URL;
  UPSTREAM_TIMEOUT_MS: number | null;
  MANIFEST_PATH: string;
  PROXY_PORT: number;
  CONTROL_PLANE_PORT: number;
  BIND_ADDRESS: string;
  CONTROL_ACCESS: 'any' | 'local';
  /** The name that the pod is labelled with; null outside a cluster. */
  AGENT_NAME: string | null;
  AGENT_ENV_NAMES: AgentEnvNames | null;
  AUDIT_RING_SIZE: number;
  AUDIT_QUERY: boolean;
  POLICY_URL: URL | null;
  POLICY_ENGINE: PolicyEngine;
  POLICY_PROXY_MODE: 'track' | 'enforce' | 'off';
  POLICY_TIMEOUT_MS: number;
  ANTHROPIC_API_KEY: Secret | null;
  PROOF_STORE_PATH: string | null;
  PROOF_WRITES: ProofWrites;
  PLATFORM_SECRET_DIR: string | null;
  PLATFORM_URL: URL | null;
  PLATFORM_KEY: Secret | null;
  PLATFORM_KEY_STORE_PATH: string | null;
  PLATFORM_TOKEN_FILE: string | null;
  PLATFORM_CA_FILE: string | null;
  HEARTBEAT_SECONDS: number;
}

type RawConfig = Omit<SidecarConfig, 'POLICY_ENGINE'> & { POLICY_ENGINE: 'opa' | 'builtin' | null };

const DAY_MS = 86_400_000;
const DEFAULT_UPSTREAM = 'http://localhost:8000';

/** The agent's own address. A query, a fragment or credentials would silently be lost on the way, so they are refused. */
const upstreamUrl: EnvField<URL> = {
  wanted: `a URL and must use http: or https: protocol, without credentials, query or fragment (default ${DEFAULT_UPSTREAM})`,
  parse: (raw) => {
    const url = URL.parse(raw ?? DEFAULT_UPSTREAM);
    const accepted =
      url !== null &&
      (url.protocol === 'http:' || url.protocol === 'https:') &&
      url.username + url.password + url.search + url.hash === '';
    return accepted ? { ok: true, value: url } : { ok: false };
  },
};

/** Comma-separated; `*` stands for what comes by `envFrom`. A lone comma says that there are none. */
const agentEnvNames: EnvField<AgentEnvNames | null> = {
  wanted: 'names separated by commas, with * for those that come by envFrom, or unset',
  parse: (raw) => {
    if (raw === undefined) return { ok: true, value: null };
    const listed = raw
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    const names = listed.filter((name) => name !== '*');
    if (names.some((name) => /[\s=*]/.test(name))) return { ok: false };
    return { ok: true, value: { names, partial: names.length < listed.length } };
  },
};

const agentName: EnvField<string | null> = {
  wanted: 'a DNS label (1 to 63 of a-z, 0-9 and -), or unset',
  parse: (raw) => {
    if (raw === undefined) return { ok: true, value: null };
    return isDnsLabel(raw) ? { ok: true, value: raw } : { ok: false };
  },
};

/** A name is resolved when the ports open: a mistyped one would end in an error that names no variable. */
const bindAddress: EnvField<string> = {
  wanted: 'an IP address, such as 127.0.0.1 or ::, or localhost (default ::)',
  parse: (raw = ANY_ADDRESS) =>
    isIP(raw) > 0 || raw === 'localhost' ? { ok: true, value: raw } : { ok: false },
};

/** Every variable of the sidecar; the reference page is generated from this table. */
export const SIDECAR_FIELDS = {
  ...LOG_FIELDS,
  UPSTREAM_URL: upstreamUrl,
  UPSTREAM_TIMEOUT_MS: optionalInteger({ min: 1, max: DAY_MS }),
  MANIFEST_PATH: text('/manifest/agent.yaml'),
  PROXY_PORT: port(4000),
  CONTROL_PLANE_PORT: port(4001),
  BIND_ADDRESS: bindAddress,
  CONTROL_ACCESS: oneOf(['any', 'local'], 'any'),
  AGENT_NAME: agentName,
  AGENT_ENV_NAMES: agentEnvNames,
  AUDIT_RING_SIZE: integer({ min: 1, max: 100_000, default: 1000 }),
  AUDIT_QUERY: flag(false),
  POLICY_URL: optionalHttpUrl,
  POLICY_ENGINE: optionalOneOf(['opa', 'builtin']),
  POLICY_PROXY_MODE: oneOf(['track', 'enforce', 'off'], 'track'),
  POLICY_TIMEOUT_MS: integer({ min: 1, max: 60_000, default: 1000 }),
  ANTHROPIC_API_KEY: optionalSecret(),
  PROOF_STORE_PATH: optionalText,
  PROOF_WRITES: oneOf(['local', 'control-plane'], 'local'),
  PLATFORM_SECRET_DIR: optionalText,
  PLATFORM_URL: optionalHttpUrl,
  PLATFORM_KEY: optionalHeaderSecret,
  PLATFORM_KEY_STORE_PATH: optionalText,
  PLATFORM_TOKEN_FILE: optionalText,
  PLATFORM_CA_FILE: optionalText,
  HEARTBEAT_SECONDS: integer({ min: 10, max: 3600, default: 30 }),
} satisfies { [K in keyof RawConfig]: EnvField<RawConfig[K]> };

export const SIDECAR_SUMMARIES: Summaries<typeof SIDECAR_FIELDS> = {
  ...LOG_SUMMARIES,
  UPSTREAM_URL: "The agent's own server. A path in it is put before every request's path.",
  UPSTREAM_TIMEOUT_MS: 'Milliseconds until the first byte of an answer, else 504. Unset: no limit.',
  MANIFEST_PATH: 'The manifest. It must be valid at the start, and is read again when it changes.',
  PROXY_PORT: 'The port of the proxy in front of the agent.',
  CONTROL_PLANE_PORT: 'The port of the control routes.',
  BIND_ADDRESS:
    'The address on which both ports listen. `::` is every IPv6 and IPv4 address; where the kernel has no IPv6, every IPv4 address.',
  CONTROL_ACCESS:
    '`local`: from outside loopback, or with a `Host` or `Origin` that is not loopback, only open routes are answered, and `/health/ready` without its body.',
  AGENT_NAME: 'The name that the pod is labelled with, held against `metadata.name`. Set by the injector.',
  AGENT_ENV_NAMES:
    "The names of the agent container's variables; `*` for what `envFrom` brings, a lone comma for none. Set by the injector. Unset: this process's own environment is taken for the agent's.",
  AUDIT_RING_SIZE: 'Requests that the audit ring remembers.',
  AUDIT_QUERY: 'Keep query strings in audit entries.',
  POLICY_URL:
    'The base URL of a policy engine that has the generated rules (Open Policy Agent). Unset: none is asked.',
  POLICY_ENGINE:
    'Which engine: opa asks POLICY_URL, builtin evaluates the same rules in the sidecar. Unset: opa where POLICY_URL is set, else none.',
  POLICY_PROXY_MODE:
    'What is done with a denied answer: track passes it on and says so, enforce answers 403 in its place, off asks nothing about answers.',
  POLICY_TIMEOUT_MS: 'Milliseconds that POLICY_URL has to answer; after them the request passes unevaluated.',
  ANTHROPIC_API_KEY: 'The key for LLM analysis. Not used by this version.',
  PROOF_STORE_PATH: 'The file in which proofs outlive a restart. Unset: memory alone.',
  PROOF_WRITES:
    'Where proofs of this agent are written: local on CONTROL_PLANE_PORT, control-plane with the admin key alone. Set to control-plane by the injector when the chart has an admin key.',
  PLATFORM_SECRET_DIR:
    "Folder with one file per `$secret:` name, where the sidecar shares the agent's. Unset: variables PLATFORM_SECRET_<NAME>.",
  PLATFORM_URL: 'The control plane. Unset: no heartbeats.',
  PLATFORM_KEY: 'The key from registering the agent; renewed at two thirds of its lifetime.',
  PLATFORM_KEY_STORE_PATH:
    'File in which the renewed PLATFORM_KEY outlives a restart. It is used while it is later than PLATFORM_KEY. Unset: memory alone.',
  PLATFORM_TOKEN_FILE:
    'File with the token, instead of PLATFORM_KEY; read for each heartbeat. A registration key in it is renewed in place (0600), a projected token by the kubelet.',
  PLATFORM_CA_FILE:
    "PEM file with the control plane's authorities, read for each heartbeat. Unset: those of Node.js.",
  HEARTBEAT_SECONDS: 'Seconds between two heartbeats; the control plane may change it.',
};

/** The sidecar's environment; wrong values and wrong combinations are all reported at once. */
export function readConfig(env: Environment): ConfigResult<SidecarConfig> {
  const result = readEnv<RawConfig>(env, SIDECAR_FIELDS);
  const wrong = result.ok ? [] : result.problems;
  const known = new Set(wrong.map((problem) => problem.name));
  const problems = [...wrong, ...wrongCombinations(env).filter((problem) => !known.has(problem.name))];
  if (!result.ok || problems.length > 0) return { ok: false, problems };
  const { POLICY_ENGINE, POLICY_URL } = result.config;
  return {
    ok: true,
    config: { ...result.config, POLICY_ENGINE: POLICY_ENGINE ?? (POLICY_URL === null ? 'none' : 'opa') },
  };
}

interface Combination {
  name: keyof RawConfig;
  wanted: string;
  isWrong(set: (name: keyof RawConfig) => string | undefined): boolean;
}

/** Each variable may be fine alone; these are wrong together. */
export const COMBINATIONS: readonly Combination[] = [
  {
    name: 'POLICY_ENGINE',
    wanted: 'used with POLICY_URL when it is opa',
    isWrong: (set) => set('POLICY_ENGINE') === 'opa' && set('POLICY_URL') === undefined,
  },
  {
    name: 'POLICY_ENGINE',
    wanted: 'used without POLICY_URL when it is builtin',
    isWrong: (set) => set('POLICY_ENGINE') === 'builtin' && set('POLICY_URL') !== undefined,
  },
  {
    name: 'CONTROL_PLANE_PORT',
    wanted: 'another port than PROXY_PORT',
    isWrong: (set) => (set('CONTROL_PLANE_PORT') ?? '4001') === (set('PROXY_PORT') ?? '4000'),
  },
  {
    name: 'UPSTREAM_URL',
    wanted: 'the address of the agent, not a port of the sidecar on this machine',
    isWrong: (set) =>
      pointsAt(set('UPSTREAM_URL') ?? DEFAULT_UPSTREAM, [
        set('PROXY_PORT') ?? '4000',
        set('CONTROL_PLANE_PORT') ?? '4001',
      ]),
  },
  {
    name: 'PLATFORM_TOKEN_FILE',
    wanted: 'unset when PLATFORM_KEY is set: one of them is the credential',
    isWrong: (set) => set('PLATFORM_TOKEN_FILE') !== undefined && set('PLATFORM_KEY') !== undefined,
  },
  {
    name: 'PLATFORM_KEY_STORE_PATH',
    wanted: 'used with PLATFORM_KEY: a file of PLATFORM_TOKEN_FILE is renewed in place',
    isWrong: (set) => set('PLATFORM_KEY_STORE_PATH') !== undefined && set('PLATFORM_KEY') === undefined,
  },
  {
    name: 'PLATFORM_URL',
    wanted: 'used with PLATFORM_KEY or PLATFORM_TOKEN_FILE: heartbeats need a credential',
    isWrong: (set) =>
      set('PLATFORM_URL') !== undefined &&
      set('PLATFORM_KEY') === undefined &&
      set('PLATFORM_TOKEN_FILE') === undefined,
  },
];

function pointsAt(upstream: string, ownPorts: readonly string[]): boolean {
  const url = URL.parse(upstream);
  return (
    url !== null &&
    isOwnHost(url.hostname) &&
    ownPorts.map(Number).includes(Number(url.port || (url.protocol === 'https:' ? '443' : '80')))
  );
}

function wrongCombinations(env: Environment): EnvProblem[] {
  const set = (name: keyof RawConfig): string | undefined => (env[name] === '' ? undefined : env[name]);
  return COMBINATIONS.filter((row) => row.isWrong(set)).map((row) => ({
    name: row.name,
    value: set(row.name) ?? '(unset)',
    wanted: row.wanted,
  }));
}
