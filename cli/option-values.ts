import { InvalidArgumentError, type Command } from 'commander';
import { parseHttpUrl } from './http-url.ts';

/** Parses the value of a URL option. */
export function httpUrl(value: string): URL {
  const url = parseHttpUrl(value);
  if (url === null) throw new InvalidArgumentError('Must be an http(s) URL without a query.');
  return url;
}

/** "$FILE" is empty if the shell variable is not set, so empty values are rejected. */
export function rejectEmptyValues(command: Command): void {
  for (const option of command.options)
    if (option.required && option.parseArg === undefined) option.argParser(notEmpty);
  // An argument with choices has its own parser, which accepts no empty value.
  const plain = command.registeredArguments.filter(({ parseArg }) => parseArg === undefined);
  for (const argument of plain)
    if (argument.variadic)
      argument.argParser((value: string, previous: string[] | undefined) => [
        ...(previous ?? []),
        notEmpty(value),
      ]);
    else argument.argParser<string>(notEmpty);
}

function notEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('Must not be empty.');
  return value;
}
