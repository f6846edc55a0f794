/** Result of a command. It is written as a whole, so that a renderer is a pure function. */
export interface Rendered {
  /** Standard output. */
  output: string;
  /** Standard error. */
  errors: string;
  /** 0 or 1; for `platform run` the exit code of the command. */
  exitCode: number;
  /** The result as JSON, for the file of `--output`; absent: there is no result. */
  json?: string;
}

export function done(output: string, exitCode: 0 | 1 = 0): Rendered {
  return { output, errors: '', exitCode };
}

/** The result of a command that reports, as text or as JSON. */
export function reported(
  { json: isJson }: { json?: true },
  value: unknown,
  text: string,
  exitCode: 0 | 1 = 0,
): Rendered {
  const asJson = json(value);
  return { ...done(isJson ? asJson : text, exitCode), json: asJson };
}

export function failed(errors: string, output = ''): Rendered {
  return { output, errors, exitCode: 1 };
}

/** A failure with one reason, on standard error, and as JSON on standard output if that is wanted. */
export function refusal(reason: string, isJson: boolean | undefined): Rendered {
  return failed(`error: ${reason}\n`, isJson ? json({ error: reason }) : '');
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Makes untrusted text safe for a terminal: control characters cannot move the cursor or hide text. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- this replaces control characters
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** Makes each line of untrusted text safe. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** Quotes a word for use in a shell if necessary. */
export function shellWord(text: string): string {
  const shown = printable(text);
  return /^[\w@%+=:,./][\w@%+=:,./-]*$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
}
