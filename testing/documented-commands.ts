import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A block of shell commands on a page, and the output shown below it. */
export interface DocumentedCommands {
  /** The first command, used as the test name. */
  title: string;
  commands: string;
  /** Lines of the following block without a language; empty if there is none. */
  output: string[];
}

/**
 * The `sh` blocks under one heading of a page, in order.
 * Throws if the heading or commands are missing, because a test without commands would pass.
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
