import { Option } from 'commander';
import { FINDING_FORMATS } from './formats.ts';

export type FindingFormat = keyof typeof FINDING_FORMATS;
export type OutputFormat = 'text' | 'json' | FindingFormat;

/** Flags of a command with `jsonOption` and `formatOption`. */
export interface FormatFlags {
  json?: true;
  format: OutputFormat;
}

/** `--json`; `content`: the members of the printed object. */
export function jsonOption(content: string): Option {
  return new Option('--json', `print ${content}; same as --format json`).conflicts('format');
}

/** `--format text|json|sarif|junit|github|markdown` */
export function formatOption(): Option {
  const formats = ['text', 'json', ...Object.keys(FINDING_FORMATS)];
  return new Option('--format <format>', 'output format').choices(formats).default('text');
}

export function formatOf({ json, format }: FormatFlags): OutputFormat {
  return json ? 'json' : format;
}
