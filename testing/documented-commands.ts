import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = dirname(import.meta.dirname);

/** All pages of the documentation, relative to the root of the repository. */
export const DOCUMENTED_PAGES: readonly string[] = globSync(
  ['*.md', '{docs,examples,reporter,helm,bench,e2e,llm}/**/*.md'],
  // The packages of the site generator.
  { cwd: ROOT, exclude: ['**/node_modules/**'] },
).sort();

/** A block between fences; `language` is empty for output. */
export interface Block {
  language: string;
  body: string;
}

/** The blocks under one heading of the second level, in order; none if the page has no such heading. */
export function blocksUnder(page: string, heading: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const section = text.split(/^(?=## )/m).find((each) => each.startsWith(`## ${heading}\n`));
  return [...(section ?? '').matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
    ([, language = '', body = '']): Block => ({ language, body }),
  );
}

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
  const found: DocumentedCommands[] = [];
  for (const { language, body } of blocksUnder(page, heading)) {
    if (language === 'sh') found.push({ title: body.split('\n')[0] ?? '', commands: body, output: [] });
    else if (language === '') found.at(-1)?.output.push(...body.trimEnd().split('\n'));
  }
  if (found.length === 0) throw new Error(`${page} has no commands under "${heading}"`);
  return found;
}
