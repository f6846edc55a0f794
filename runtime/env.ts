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
export function readEnv<F extends Readonly<Record<string, EnvField<unknown>>>>(
  env: Environment,
  fields: F,
): ConfigResult<ConfigOf<F>> {
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

const INTEGER = /^-?\d{1,15}$/;

export function integer(range: { min: number; max: number; default: number }): EnvField<number> {
  return {
    wanted: `an integer from ${range.min} to ${range.max} (default ${range.default})`,
    parse: (raw) => {
      if (raw === undefined) return { ok: true, value: range.default };
      const value = Number(raw);
      return INTEGER.test(raw) && value >= range.min && value <= range.max
        ? { ok: true, value }
        : { ok: false };
    },
  };
}

export function optionalInteger(range: { min: number; max: number }): EnvField<number | null> {
  const field = integer({ ...range, default: range.min });
  return {
    wanted: `an integer from ${range.min} to ${range.max}, or unset`,
    parse: (raw) => (raw === undefined ? { ok: true, value: null } : field.parse(raw)),
  };
}

export const kubernetesName = (fallback: string, accepts: (raw: string) => boolean): EnvField<string> => ({
  wanted: `the name of a Kubernetes object (default ${fallback})`,
  parse: (raw = fallback) => (accepts(raw) ? { ok: true, value: raw } : { ok: false }),
});

export const optionalName = (what: string, accepts: (raw: string) => boolean): EnvField<string | null> => ({
  wanted: `${what}, or unset`,
  parse: (raw) => {
    if (raw === undefined) return { ok: true, value: null };
    return accepts(raw) ? { ok: true, value: raw } : { ok: false };
  },
});

/** Comma-separated list. */
export const optionalNames = (
  what: string,
  accepts: (raw: string) => boolean,
): EnvField<string[] | null> => ({
  wanted: `${what} separated by commas, or unset`,
  parse: (raw) => {
    if (raw === undefined) return { ok: true, value: null };
    const names = raw.split(',').map((name) => name.trim());
    return names.every(accepts) ? { ok: true, value: names } : { ok: false };
  },
});

export const port = (value: number): EnvField<number> => integer({ min: 1, max: 65535, default: value });

export function oneOf<const V extends string>(values: readonly V[], fallback: V): EnvField<V> {
  return {
    wanted: `one of ${values.join(', ')} (default ${fallback})`,
    parse: (raw) => {
      if (raw === undefined) return { ok: true, value: fallback };
      const value = values.find((candidate) => candidate === raw);
      return value === undefined ? { ok: false } : { ok: true, value };
    },
  };
}

export function optionalOneOf<const V extends string>(values: readonly V[]): EnvField<V | null> {
  return {
    wanted: `one of ${values.join(', ')}, or unset`,
    parse: (raw) => {
      if (raw === undefined) return { ok: true, value: null };
      const value = values.find((candidate) => candidate === raw);
      return value === undefined ? { ok: false } : { ok: true, value };
    },
  };
}

export function flag(fallback: boolean): EnvField<boolean> {
  return {
    wanted: `true or false (default ${fallback})`,
    parse: (raw) => {
      if (raw === undefined) return { ok: true, value: fallback };
      return raw === 'true' || raw === 'false' ? { ok: true, value: raw === 'true' } : { ok: false };
    },
  };
}

/** Rejects credentials in a URL: they would be logged with the URL, and some clients drop them. */
function parseHttpUrl(raw: string): URL | null {
  const url = URL.parse(raw);
  const accepted =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.hostname !== '' &&
    url.username + url.password === '';
  return accepted ? url : null;
}

export function httpUrl(fallback: string): EnvField<URL> {
  return {
    wanted: `a URL with the http: or https: protocol, without credentials (default ${fallback})`,
    parse: (raw) => {
      const value = parseHttpUrl(raw ?? fallback);
      return value === null ? { ok: false } : { ok: true, value };
    },
  };
}

export const optionalHttpUrl: EnvField<URL | null> = {
  wanted: 'a URL with the http: or https: protocol, without credentials, or unset',
  parse: (raw) => {
    if (raw === undefined) return { ok: true, value: null };
    const value = parseHttpUrl(raw);
    return value === null ? { ok: false } : { ok: true, value };
  },
};

export function text(fallback: string): EnvField<string> {
  return { wanted: `text (default ${fallback})`, parse: (raw) => ({ ok: true, value: raw ?? fallback }) };
}

export const optionalText: EnvField<string | null> = {
  wanted: 'text, or unset',
  parse: (raw) => ({ ok: true, value: raw ?? null }),
};

/** A secret that is sent in a header. A trailing line feed, as `echo` leaves in a Secret, would make every request fail. */
export function headerSecret(minimumLength: number): EnvField<Secret | null> {
  const length = minimumLength > 1 ? `at least ${minimumLength} ` : '';
  return {
    wanted: `a key of ${length}visible ASCII characters without spaces, or unset`,
    secret: true,
    parse: (raw) => {
      if (raw === undefined) return { ok: true, value: null };
      const isUsable = /^[\x21-\x7e]+$/.test(raw) && raw.length >= minimumLength;
      return isUsable ? { ok: true, value: new Secret(raw) } : { ok: false };
    },
  };
}

export const optionalHeaderSecret = headerSecret(1);

export function optionalSecret(minimumLength = 1): EnvField<Secret | null> {
  return {
    wanted: minimumLength > 1 ? `at least ${minimumLength} characters, or unset` : 'a secret, or unset',
    secret: true,
    parse: (raw) => {
      if (raw === undefined) return { ok: true, value: null };
      return raw.length >= minimumLength ? { ok: true, value: new Secret(raw) } : { ok: false };
    },
  };
}

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
