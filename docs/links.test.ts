import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { DOCUMENTED_PAGES } from '../testing/documents/documented-commands.ts';

const root = dirname(import.meta.dirname);
const pages = DOCUMENTED_PAGES;

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

const { engines, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  engines: { node: string };
  version: string;
};

/** What a text says between the groups of a pattern, with the file that says it. */
const saidIn = (files: readonly string[], pattern: RegExp): [file: string, said: string | undefined][] =>
  files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(
      ([, said]): [string, string | undefined] => [file, said],
    ),
  );

test("every page and tool names the oldest Node.js that package.json's engines does", () => {
  const files = [...pages.filter((page) => !page.includes('decisions/')), 'Makefile', 'scripts/node-bin'];
  const said = saidIn(files, /(?:Node\.js|yours must be) (?:≥ )?(\d+(?:\.\d+)?)(?: or\s+newer| with|, npm)/g);
  expect(said.map(([file]) => file)).toEqual(
    expect.arrayContaining([
      'docs/package.md',
      'Makefile',
      'scripts/node-bin',
      'docs/guide/laptop.md',
      'docs/guide/start.md',
    ]),
  );
  expect(said.filter(([, oldest]) => `>=${oldest}` !== engines.node)).toEqual([]);
});

test('every page that installs the packed file names the one that this version makes', () => {
  const said = saidIn(pages, /agent-compliance-(\d[\w.-]*)\.tgz/g);
  expect(said.length).toBeGreaterThanOrEqual(3);
  expect(said.filter(([file, packed]) => packed !== version && !/^(?:CHANGELOG|e2e)/.test(file))).toEqual([]);
});

test('the doors of the start page of the site lead to pages', () => {
  const links = saidIn(['docs/site/home.md'], /\blink: \/(docs[\w/-]+)/g).map(([, link]) => `${link}.md`);
  expect(links.length).toBeGreaterThanOrEqual(3);
  expect(links.filter((link) => !pages.includes(link))).toEqual([]);
});

test('the README has at most 900 words', () => {
  expect(readFileSync(join(root, 'README.md'), 'utf8').split(/\s+/).length).toBeLessThanOrEqual(900);
});
