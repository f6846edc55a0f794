import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { DOCUMENTED_PAGES } from '../testing/documents/documented-commands.ts';
import { isExcluded, SIDEBAR } from './site/pages.ts';

const ROOT = dirname(import.meta.dirname);
const PAGES = DOCUMENTED_PAGES.filter((page) => !isExcluded(page));

test('the site has at most 80 pages', () => {
  expect(PAGES.length).toBeLessThanOrEqual(80);
  expect(PAGES.length).toBeGreaterThan(40);
});

test('the site, and so its search index, has no decision, prompt, changelog or method of the benchmark', () => {
  const pattern = /decisions\/|prompts?[./]|CHANGELOG|^bench\//;
  expect(PAGES.filter((page) => pattern.test(page))).toEqual([]);
  expect(DOCUMENTED_PAGES.filter((page) => pattern.test(page)).length).toBeGreaterThan(50);
});

test('every entry of the navigation is a page, and every guide and reference is in the navigation', () => {
  const links = SIDEBAR.flatMap(({ items }) => items.map(({ link }) => link.slice(1)));
  const pageOf = (link: string): string => `${link.endsWith('/') ? `${link}README` : link}.md`;
  expect(links.filter((link) => !existsSync(join(ROOT, pageOf(link))) || isExcluded(pageOf(link)))).toEqual(
    [],
  );
  const listed = new Set(links.map(pageOf));
  // The start page links to it.
  listed.add('docs/guide/start.md');
  expect(PAGES.filter((page) => /^docs\/(?:guide|reference)\//.test(page) && !listed.has(page))).toEqual([]);
});

/** The words of the guides, which are read one by one. `start.md` is the path through them. */
const MAX_WORDS = 50_200;

test('the guides stay short', () => {
  const guides = PAGES.filter((page) => /^docs\/guide\/(?!start\.md)/.test(page));
  const words = guides.flatMap((page) => readFileSync(join(ROOT, page), 'utf8').split(/\s+/).filter(Boolean));
  expect(words.length).toBeLessThanOrEqual(MAX_WORDS);
});
