import { InvalidArgumentError, Option, type Command } from 'commander';
import { FINDING_FORMATS } from './findings/formats.ts';

export type FindingFormat = keyof typeof FINDING_FORMATS;
export type OutputFormat = 'text' | 'json' | FindingFormat;

/**
 * Flags of a command with `jsonOption` and `formatOption`. When its action runs, `json` is set exactly if `format` is `json`.
 * With `reportOption` the program also writes the result to a file (`cli/report-file.ts`).
 */
export interface FormatFlags<Format extends string = OutputFormat> {
  json?: true;
  format: Format;
}

/** Formats of a command that reports findings at positions. */
export const FINDINGS: readonly string[] = ['text', 'json', ...Object.keys(FINDING_FORMATS)];

/** `--json`; `content`: the members of the printed object. */
export function jsonOption(content: string): Option {
  return new Option('--json', `print ${content}; same as --format json`).conflicts('format');
}

/** `--format`. @param earlier earlier names of `text`, which are accepted and not shown */
export function formatOption(formats: readonly string[] = ['text', 'json'], earlier: readonly string[] = []) {
  const option = new Option('--format <format>', 'output format').choices(formats).default('text');
  return option.argParser((value) => {
    if (earlier.includes(value)) return 'text';
    if (formats.includes(value)) return value;
    throw new InvalidArgumentError(`Allowed choices are ${formats.join(', ')}.`);
  });
}

/** `--output` of a command that prints a report. */
export class ReportOption extends Option {
  constructor() {
    super(
      '--output <file>',
      'also write the result to a file, in the same format, or as JSON if its name ends in .json',
    );
  }
}

/** The value of `--output` of a command that prints a report. */
export function reportFileOf(command: Command): string | undefined {
  const isReport = command.options.some((option) => option instanceof ReportOption);
  return isReport ? command.opts<{ output?: string }>().output : undefined;
}

/** Another spelling of an option: accepted, but neither in the help nor completed. */
export class Alias extends Option {
  readonly #name: string;

  /** @param of name of the option, such as `output` */
  constructor(flags: string, of: string) {
    super(flags);
    this.#name = of;
    this.hideHelp();
  }

  override attributeName(): string {
    return this.#name;
  }
}

/** Makes `json` and `format` equal. The alias `-o` also makes `text` and `json` formats as values of `--output`. */
export function alignFormat(command: Command): void {
  const { output } = command.opts<{ output?: string }>();
  const isFormat = command.options.some(({ flags }) => flags.startsWith('-o <format>'));
  if (isFormat && (output === 'text' || output === 'json')) {
    command.setOptionValue('format', output);
    command.setOptionValue('output', undefined);
  }
  const { json, format } = command.opts<Partial<FormatFlags>>();
  if (json) command.setOptionValue('format', 'json');
  else if (format === 'json') command.setOptionValue('json', true);
}
