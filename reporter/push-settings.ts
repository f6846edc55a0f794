import { hostname } from 'node:os';
import type { Environment } from '../probe/references.ts';
import type { Credentials } from '../push/credentials.ts';

/** The control plane that receives the heartbeats of a reporter without a sidecar. */
export interface PushOptions {
  /** Base URL of the control plane, http or https. */
  url: string;
  /** Registration token. Set either `key` or `tokenFile`. */
  key?: string;
  /** File with the token. The reporter renews a registration token in this file; the kubelet renews a projected token. */
  tokenFile?: string;
  /** File that keeps the renewed `key` across restarts; default: only in memory. */
  keyStorePath?: string;
  /** PEM file with the control plane's CA. */
  caFile?: string;
  /** Seconds from 10 to 3600; default 30. */
  intervalSeconds?: number;
  /** Unique name of this instance of the agent; default: the host name (in a cluster the pod name). */
  instance?: string;
}

export interface PushSettings {
  url: URL;
  credentials: Credentials;
  caFile: string | null;
  intervalSeconds: number;
  instance: string;
}

/** Thrown by createReporter with all problems and without secrets. */
export class PushOptionsError extends Error {
  readonly code = 'PLATFORM_PUSH_OPTIONS';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the reporter cannot push: ${problems.join('; ')}`);
    this.name = 'PushOptionsError';
    this.problems = problems;
  }
}

type Named = Record<keyof PushOptions, { name: string; value: string | number | undefined }>;

const VARIABLES: Readonly<Record<keyof PushOptions, string>> = {
  url: 'PLATFORM_URL',
  key: 'PLATFORM_KEY',
  tokenFile: 'PLATFORM_TOKEN_FILE',
  keyStorePath: 'PLATFORM_KEY_STORE_PATH',
  caFile: 'PLATFORM_CA_FILE',
  intervalSeconds: 'HEARTBEAT_SECONDS',
  instance: 'instance',
};

/** null: no push. Options take precedence; without options the `PLATFORM_*` variables are used. `false` disables push. */
export function pushSettings(
  options: PushOptions | false | undefined,
  env: Environment,
): PushSettings | null {
  if (options === false) return null;
  const entries = (Object.entries(VARIABLES) as [keyof PushOptions, string][]).map(([key, variable]) => [
    key,
    // Options without a URL are an error and do not disable push. An empty variable counts as unset.
    options === undefined
      ? { name: variable, value: env[variable] === '' ? undefined : env[variable] }
      : { name: `push.${key}`, value: options[key] ?? (key === 'url' ? '' : undefined) },
  ]);
  const named = Object.fromEntries(entries) as Named;
  return named.url.value === undefined ? null : settingsFrom(named);
}

function settingsFrom(named: Named): PushSettings {
  const problems: string[] = [];
  const url = URL.parse(String(named.url.value));
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    problems.push(`${named.url.name} must be a URL with the http: or https: protocol`);
  const seconds = Number(named.intervalSeconds.value ?? 30);
  if (!Number.isInteger(seconds) || seconds < 10 || seconds > 3_600)
    problems.push(`${named.intervalSeconds.name} must be an integer from 10 to 3600`);
  const credentials = credentialsFrom(named);
  if (credentials === null)
    problems.push(`exactly one of ${named.key.name} and ${named.tokenFile.name} is required`);
  if (named.keyStorePath.value !== undefined && credentials?.kind === 'file')
    problems.push(`${named.keyStorePath.name} must be used with ${named.key.name}`);
  // Reported here instead of with every push. Shells and secrets often add a line feed at the end.
  if (credentials?.kind === 'key' && !/^[!-~]+$/.test(credentials.key.reveal()))
    problems.push(
      `${named.key.name} must consist of visible ASCII characters, without spaces and line feeds`,
    );
  if (problems.length > 0 || url === null || credentials === null) throw new PushOptionsError(problems);
  return {
    url,
    credentials,
    caFile: named.caFile.value === undefined ? null : String(named.caFile.value),
    intervalSeconds: seconds,
    instance: String(named.instance.value ?? hostname()),
  };
}

function credentialsFrom(named: Named): Credentials | null {
  const { key, tokenFile, keyStorePath } = named;
  if ((key.value === undefined) === (tokenFile.value === undefined)) return null;
  if (tokenFile.value !== undefined) return { kind: 'file', path: String(tokenFile.value) };
  const secret = String(key.value);
  return {
    kind: 'key',
    key: { reveal: () => secret },
    ...(keyStorePath.value === undefined ? {} : { keepPath: String(keyStorePath.value) }),
  };
}
