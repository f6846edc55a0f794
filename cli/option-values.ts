import { InvalidArgumentError, type Command } from 'commander';

/** The value of an option that is an address. */
export function httpUrl(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    throw new InvalidArgumentError('It is a URL that begins with http:// or https://, without a query.');
  return url;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** The value of an option that is a time, in milliseconds. */
export function duration(value: string): number {
  const [, number = '', unit = ''] = /^(\d{1,5})([smh])$/.exec(value) ?? [];
  const ms = Number(number) * (UNIT_MS[unit] ?? 0);
  if (ms === 0) throw new InvalidArgumentError('It is a number with s, m or h behind it, such as 90s or 5m.');
  return ms;
}

/** What is typed as "$FILE" is empty where the variable is not set; no value that a command takes may be. */
export function refuseEmptyValues(command: Command): void {
  for (const option of command.options)
    if (option.required && option.parseArg === undefined) option.argParser(notEmpty);
  for (const argument of command.registeredArguments)
    if (argument.variadic)
      argument.argParser((value: string, previous: string[] | undefined) => [
        ...(previous ?? []),
        notEmpty(value),
      ]);
    else argument.argParser<string>(notEmpty);
}

function notEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('It is empty.');
  return value;
}
