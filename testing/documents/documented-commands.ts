import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = dirname(dirname(import.meta.dirname));

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
  /** Where the body begins in the text. */
  at: number;
}

/** The blocks of a text, in order. */
export const blocksIn = (text: string): Block[] =>
  [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ 1: language = '', 2: body = '', index }): Block => ({
    language,
    body,
    at: index + '```\n'.length + language.length,
  }));

/** The blocks under one heading of the second level, in order; none if the page has no such heading. */
export function blocksUnder(page: string, heading: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const section = text.split(/^(?=## )/m).find((each) => each.startsWith(`## ${heading}\n`));
  return blocksIn(section ?? '');
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

/** Text whose spaces, ids, times, keys and ports do not count. */
const comparable = (text: string): string =>
  text
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/agt_\w+/g, 'agt_')
    .replaceAll(/eyJ[\w.-]+/g, 'eyJ')
    .replaceAll(/(localhost|127\.0\.0\.1):\d+/g, '$1:PORT')
    .replaceAll(/\s+/g, '');

/**
 * The parts of an output on a page that a real output does not have in this order; `…` on the page stands for any text. The longest
 * prefix of a part that exists shows where the page differs.
 */
export function differencesFrom(real: string, shown: string): string[] {
  const [text, parts] = [comparable(real), shown.split('…').map(comparable)];
  let at = 0;
  return parts.filter((part) => {
    const found = text.indexOf(part, at);
    if (found >= 0) at = found + part.length;
    return found < 0;
  });
}
