import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';

const root = dirname(import.meta.dirname);
const pages = globSync(['*.md', '{docs,examples,reporter,helm,e2e}/**/*.md'], { cwd: root }).sort();

/** The anchor that hosts of Markdown give a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
    .trim()
    .replaceAll(' ', '-');

function anchorsIn(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

/** Links of a page that lead nowhere in this repository. */
function deadLinks(page: string): string[] {
  const links = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)];
  return links
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? join(root, page) : join(root, dirname(page), path);
      if (!existsSync(file) || relative(root, file).startsWith('..')) return true;
      return anchor !== undefined && !anchorsIn(file).includes(anchor);
    });
}

test('every link between the pages leads somewhere, its anchor included', () => {
  expect(pages).toContain('docs/reference/README.md');
  expect(pages.flatMap((page) => deadLinks(page).map((target) => `${page}: ${target}`))).toEqual([]);
});
