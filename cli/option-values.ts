import { InvalidArgumentError, type Command } from 'commander';
import { parseHttpUrl } from './http-url.ts';

/** Parses the value of a URL option. Without a scheme it is an `http` URL. */
export function httpUrl(value: string): URL {
  const url = parseHttpUrl(hasScheme(value) ? value : `http://${value}`);
  if (url === null) throw new InvalidArgumentError('Must be an http(s) URL without a query.');
  return url;
}

/** As `httpUrl`, for a server that gets a secret: without a scheme, `https` except on this machine. */
export function secretUrl(value: string): URL {
  const url = httpUrl(value);
  if (hasScheme(value) || isLoopback(url)) return url;
  return parseHttpUrl(`https://${value}`) ?? url;
}

/** `localhost:4001` would be a URL with the scheme `localhost:`. */
const hasScheme = (value: string): boolean => value.includes('://');

/** Whether a URL is one of this machine. */
export const isLoopback = ({ hostname }: URL): boolean =>
  /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);

const UNITS = {
  smh: { pattern: /^(\d{1,5})([smh])$/, wanted: 's, m or h, such as 90s or 5m' },
  smhd: { pattern: /^(\d{1,5})([smhd])$/, wanted: 's, m, h or d, such as 30s, 2h or 7d' },
} as const;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A parser for the value of a duration option; it returns milliseconds. */
export function duration(units: keyof typeof UNITS): (value: string) => number {
  const { pattern, wanted } = UNITS[units];
  return (value) => {
    const [, number = '', unit = ''] = pattern.exec(value) ?? [];
    const ms = Number(number) * (UNIT_MS[unit] ?? 0);
    if (ms === 0) throw new InvalidArgumentError(`Must be a number followed by ${wanted}.`);
    return ms;
  };
}

/** Parses a score, 0 to 100. */
export function score(value: string): number {
  const number = /^\d{1,3}(?:\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= 100)) throw new InvalidArgumentError('Must be a number from 0 to 100, such as 75.');
  return number;
}

/**
 * "$FILE" is empty if the shell variable is not set, so empty values are rejected. Those of another command, which
 * `platform run` starts, are its own.
 */
export function rejectEmptyValues(command: Command): void {
  for (const option of command.options)
    if (option.required && option.parseArg === undefined) option.argParser(notEmpty);
  // An argument with choices has its own parser, which accepts no empty value.
  const plain = command.registeredArguments.filter(({ parseArg }) => parseArg === undefined);
  if (command.name() === 'run') return;
  for (const argument of plain)
    if (argument.variadic)
      argument.argParser((value: string, previous: string[] | undefined) => [
        ...(previous ?? []),
        notEmpty(value),
      ]);
    else argument.argParser<string>(notEmpty);
}

export function notEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('Must not be empty.');
  return value;
}
