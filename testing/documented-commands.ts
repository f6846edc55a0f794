import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A block of shell commands on a page, for one shell, and what the page shows as output below it. */
export interface DocumentedCommands {
  /** The first command's line, for a test's name. */
  title: string;
  commands: string;
  /** The lines of the block without a language that follows; empty where none does. */
  output: string[];
}

/**
 * The blocks marked `sh` under one heading of a page, in order, as a reader types them.
 * Throws when the page has no such heading or no commands there: a test of none would pass.
 */
export function documentedCommands(page: string, heading: string): DocumentedCommands[] {
  const text = readFileSync(join(import.meta.dirname, '..', page), 'utf8');
  const section = text.split(/^(?=## )/m).find((each) => each.startsWith(`## ${heading}\n`));
  const found: DocumentedCommands[] = [];
  for (const [, language, body = ''] of (section ?? '').matchAll(/^```(\w*)\n(.*?)^```$/gms)) {
    if (language === 'sh') found.push({ title: body.split('\n')[0] ?? '', commands: body, output: [] });
    else if (language === '') found.at(-1)?.output.push(...body.trimEnd().split('\n'));
  }
  if (found.length === 0) throw new Error(`${page} has no commands under "${heading}"`);
  return found;
}
