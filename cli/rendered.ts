/** What a command ends with: written as a whole, so that a renderer is a pure function. */
export interface Rendered {
  /** Standard output. */
  output: string;
  /** Standard error. */
  errors: string;
  exitCode: 0 | 1;
}

export function done(output: string, exitCode: 0 | 1 = 0): Rendered {
  return { output, errors: '', exitCode };
}

export function failed(errors: string, output = ''): Rendered {
  return { output, errors, exitCode: 1 };
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Text of a manifest or of an agent on a terminal: what is no printable character cannot move the cursor or hide text. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}
