import { readFileSync } from 'node:fs';
import { Secret } from './secret.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One invalid variable: the given value (never a secret) and what is accepted. */
export interface EnvProblem {
  name: string;
  value: string;
  wanted: string;
}

export type ConfigResult<T> = { ok: true; config: T } | { ok: false; problems: EnvProblem[] };

/** Reads one variable. `raw` is undefined if the variable is unset or empty. */
export interface EnvField<T> {
  wanted: string;
  secret?: boolean;
  parse(raw: string | undefined): { ok: true; value: T } | { ok: false };
}

/** The values of a table of variables, by name. */
export type ConfigOf<F> = { -readonly [K in keyof F]: F[K] extends EnvField<infer T> ? T : never };

/**
 * Reads every variable of `fields` and reports all problems at once.
 * An empty value counts as unset: a chart renders an empty string for a value that is not set.
 */
export function readEnv<F extends EnvFields>(env: Environment, fields: F): ConfigResult<ConfigOf<F>> {
  const config: Record<string, unknown> = {};
  const problems: EnvProblem[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const raw = env[name] === '' ? undefined : env[name];
    const result = field.parse(raw);
    if (result.ok) config[name] = result.value;
    else
      problems.push({
        name,
        value: raw === undefined ? '(unset)' : field.secret ? '[secret]' : raw,
        wanted: field.wanted,
      });
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: config as ConfigOf<F> };
}

/** A table of variables. */
export type EnvFields = Readonly<Record<string, EnvField<unknown>>>;

/** The variable with the path of a file that contains the secret `name`. */
export const fileVariable = (name: string): string => `${name}_FILE`;

/**
 * The environment with the content of the file in `<NAME>_FILE` as `NAME`, for each secret `NAME` of `fields`. A key in a file does
 * not appear where environments do, such as in `/proc/<pid>/environ` and `crictl inspect`. A missing file counts as unset: the
 * kubelet mounts an optional Secret that does not exist as an empty directory. One line feed at the end is removed.
 */
export function withSecretFiles(
  env: Environment,
  fields: EnvFields,
): { env: Environment; problems: EnvProblem[] } {
  const secrets: Record<string, string> = {};
  const problems: EnvProblem[] = [];
  for (const [name, { secret = false }] of Object.entries(fields)) {
    const path = env[fileVariable(name)] ?? '';
    if (!secret || path === '') continue;
    const reject = (wanted: string) => problems.push({ name: fileVariable(name), value: path, wanted });
    if ((env[name] ?? '') !== '') {
      reject(`unset, because ${name} is set`);
      continue;
    }
    try {
      secrets[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (code !== 'ENOENT') reject(`the path of a file that this process can read (${code})`);
    }
  }
  return { env: { ...env, ...secrets }, problems };
}

const SERVICE_LINK = /^(tcp|udp|sctp):\/\/.+:\d+$/;

/**
 * The environment without `<NAME>_PORT=tcp://…`, which the kubelet sets in every container for each Service of the namespace, also
 * for one named `otlp`. Its other variables have names that no process reads, except KUBERNETES_SERVICE_HOST.
 */
export function withoutServiceLinks(env: Environment): Environment {
  const isLink = (name: string, value = ''): boolean => name.endsWith('_PORT') && SERVICE_LINK.test(value);
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => !isLink(name, value)));
}

/** The lines that a process prints before it exits with 1: exactly one line per problem, whatever the values contain. */
export function describeProblems(problems: readonly EnvProblem[]): string {
  return problems
    .map((problem) => `${problem.name}=${printable(problem.value)}: must be ${problem.wanted}`)
    .join('\n');
}

/** Longest value that is printed completely, in characters. */
const MAX_SHOWN = 200;

/** Replaces credentials in a URL, escapes control characters and truncates long values, such as a pasted file. */
function printable(value: string): string {
  const harmless = value
    .replaceAll(/\/\/[^/?#\s]*@/g, '//[secret]@')
    // oxlint-disable-next-line no-control-regex -- escapes control characters
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (character) => JSON.stringify(character).slice(1, -1));
  return harmless.length > MAX_SHOWN ? `${harmless.slice(0, MAX_SHOWN)}…` : harmless;
}

/**
 * A variable with a default, which is written like a value.
 * @param read returns undefined for a value that is not accepted
 */
export const withDefault = <T>(
  wanted: string,
  fallback: string,
  read: (raw: string) => T | undefined,
): EnvField<T> => ({
  wanted: `${wanted} (default ${fallback})`,
  parse: (raw = fallback) => resultOf(read(raw)),
});

/**
 * A variable that may be unset; then its value is null.
 * @param read returns undefined for a value that is not accepted
 */
export const optional = <T>(wanted: string, read: (raw: string) => T | undefined): EnvField<T | null> => ({
  wanted: `${wanted}, or unset`,
  parse: (raw) => (raw === undefined ? { ok: true, value: null } : resultOf(read(raw))),
});

const resultOf = <T>(value: T | undefined): ReturnType<EnvField<T>['parse']> =>
  value === undefined ? { ok: false } : { ok: true, value };

const INTEGER = /^-?\d{1,15}$/;

const integerIn = (min: number, max: number) => (raw: string) =>
  INTEGER.test(raw) && Number(raw) >= min && Number(raw) <= max ? Number(raw) : undefined;

export const integer = (range: { min: number; max: number; default: number }): EnvField<number> =>
  withDefault(
    `an integer from ${range.min} to ${range.max}`,
    String(range.default),
    integerIn(range.min, range.max),
  );

export const optionalInteger = ({ min, max }: { min: number; max: number }): EnvField<number | null> =>
  optional(`an integer from ${min} to ${max}`, integerIn(min, max));

export const port = (value: number): EnvField<number> => integer({ min: 1, max: 65535, default: value });

const textIf = (accepts: (raw: string) => boolean) => (raw: string) => (accepts(raw) ? raw : undefined);

export const kubernetesName = (fallback: string, accepts: (raw: string) => boolean): EnvField<string> =>
  withDefault('the name of a Kubernetes object', fallback, textIf(accepts));

export const optionalName = (what: string, accepts: (raw: string) => boolean): EnvField<string | null> =>
  optional(what, textIf(accepts));

/** Comma-separated list. */
export const optionalNames = (what: string, accepts: (raw: string) => boolean): EnvField<string[] | null> =>
  optional(`${what} separated by commas`, (raw) => {
    const names = raw.split(',').map((name) => name.trim());
    return names.every(accepts) ? names : undefined;
  });

export const oneOf = <const V extends string>(values: readonly V[], fallback: V): EnvField<V> =>
  withDefault(`one of ${values.join(', ')}`, fallback, (raw) => values.find((value) => value === raw));

export const optionalOneOf = <const V extends string>(values: readonly V[]): EnvField<V | null> =>
  optional(`one of ${values.join(', ')}`, (raw) => values.find((value) => value === raw));

export const flag = (fallback: boolean): EnvField<boolean> =>
  withDefault('true or false', String(fallback), (raw) =>
    raw === 'true' || raw === 'false' ? raw === 'true' : undefined,
  );

/** Rejects credentials in a URL: they would be logged with the URL, and some clients drop them. */
export function parseHttpUrl(raw: string): URL | undefined {
  const url = URL.parse(raw);
  const isAccepted =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.hostname !== '' &&
    url.username + url.password === '';
  return isAccepted ? url : undefined;
}

export const optionalHttpUrl: EnvField<URL | null> = optional(
  'a URL with the http: or https: protocol, without credentials',
  parseHttpUrl,
);

export const text = (fallback: string): EnvField<string> => withDefault('text', fallback, (raw) => raw);

export const optionalText: EnvField<string | null> = optional('text', (raw) => raw);

const optionalSecretIf = (wanted: string, accepts: (raw: string) => boolean): EnvField<Secret | null> => ({
  ...optional(wanted, (raw) => (accepts(raw) ? new Secret(raw) : undefined)),
  secret: true,
});

/** A secret that is sent in a header. A trailing line feed, as `echo` leaves in a Secret, would make every request fail. */
export const headerSecret = (minimumLength: number): EnvField<Secret | null> =>
  optionalSecretIf(
    `a key of ${minimumLength > 1 ? `at least ${minimumLength} ` : ''}visible ASCII characters without spaces`,
    (raw) => /^[\x21-\x7e]+$/.test(raw) && raw.length >= minimumLength,
  );

export const optionalHeaderSecret = headerSecret(1);

export const optionalSecret = (minimumLength = 1): EnvField<Secret | null> =>
  optionalSecretIf(
    minimumLength > 1 ? `at least ${minimumLength} characters` : 'a secret',
    (raw) => raw.length >= minimumLength,
  );

/** LOG_LEVEL and LOG_FORMAT, which every process reads. */
export const LOG_FIELDS = {
  LOG_LEVEL: oneOf(['error', 'warn', 'info', 'debug'], 'info'),
  LOG_FORMAT: optionalOneOf(['json', 'text']),
} as const;

/** Descriptions of the variables of a field table, for the reference page. A variable without a description does not compile. */
export type Summaries<F> = Readonly<Record<keyof F, string>>;

export const LOG_SUMMARIES: Summaries<typeof LOG_FIELDS> = {
  LOG_LEVEL: 'Minimum severity of logged events. Logs go to standard error, one line per event.',
  LOG_FORMAT: 'Log format. Unset: text if standard error is a terminal, else JSON.',
};
