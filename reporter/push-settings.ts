import { hostname } from 'node:os';
import type { Credentials } from '../push/credentials.ts';

/** Where a reporter without a sidecar pushes its heartbeats. */
export interface PushOptions {
  /** Base URL of the control plane, http or https. */
  url: string;
  /** Registration token; or `tokenFile`, a file with it, in which it is renewed (a projected token: by the kubelet). */
  key?: string;
  tokenFile?: string;
  /** The file in which the renewed `key` outlives a restart; default: memory alone. */
  keyStorePath?: string;
  /** PEM file with the control plane's CA. */
  caFile?: string;
  /** 10..3600, default 30. */
  intervalSeconds?: number;
  /** Tells one instance of the agent from another; default: the host's name (in a cluster the pod's). */
  instance?: string;
}

export interface PushSettings {
  url: URL;
  credentials: Credentials;
  caFile: string | null;
  intervalSeconds: number;
  instance: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Raised by createReporter, with every problem at once and no secret. */
export class PushOptionsError extends Error {
  readonly code = 'PLATFORM_PUSH_OPTIONS';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the reporter cannot push: ${problems.join('; ')}`);
    this.name = 'PushOptionsError';
    this.problems = problems;
  }
}

interface NamedValue {
  name: string;
  value: string | number | undefined;
}

type Named = Record<keyof PushOptions, NamedValue>;

/** null: no push. Given options win; without any, `PLATFORM_URL` and its companions decide; `false` turns it off. */
export function pushSettings(
  options: PushOptions | false | undefined,
  env: Environment,
): PushSettings | null {
  if (options === false) return null;
  const named = options === undefined ? fromEnvironment(env) : fromOptions(options);
  return named.url.value === undefined ? null : settingsFrom(named);
}

function fromOptions(options: PushOptions): Named {
  const named = (key: keyof PushOptions): NamedValue => ({ name: `push.${key}`, value: options[key] });
  return {
    // Given without a URL is a mistake, and not the wish to push nowhere.
    url: { name: 'push.url', value: options.url ?? '' },
    key: named('key'),
    tokenFile: named('tokenFile'),
    keyStorePath: named('keyStorePath'),
    caFile: named('caFile'),
    intervalSeconds: named('intervalSeconds'),
    instance: named('instance'),
  };
}

function fromEnvironment(env: Environment): Named {
  const named = (name: string): NamedValue => ({ name, value: env[name] === '' ? undefined : env[name] });
  return {
    url: named('PLATFORM_URL'),
    key: named('PLATFORM_KEY'),
    tokenFile: named('PLATFORM_TOKEN_FILE'),
    keyStorePath: named('PLATFORM_KEY_STORE_PATH'),
    caFile: named('PLATFORM_CA_FILE'),
    intervalSeconds: named('HEARTBEAT_SECONDS'),
    instance: { name: 'instance', value: undefined },
  };
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
    problems.push(`one of ${named.key.name} and ${named.tokenFile.name} must be given, and not both`);
  if (named.keyStorePath.value !== undefined && credentials?.kind === 'file')
    problems.push(`${named.keyStorePath.name} must be used with ${named.key.name}`);
  // Said here and not with every push: a line feed at its end is what a shell or a secret likes to add.
  if (credentials?.kind === 'key' && !/^[!-~]+$/.test(credentials.key.reveal()))
    problems.push(`${named.key.name} must be visible ASCII characters, without blanks and line feeds`);
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
