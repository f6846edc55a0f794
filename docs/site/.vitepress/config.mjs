// The documentation site: the same Markdown pages as in the repository, built by VitePress. A link between pages that leads nowhere
// fails the build. Links to other files of the repository lead to DOCS_SOURCE_URL (for example
// https://github.com/OWNER/NAME/blob/main); without that variable they are plain text.
import { copyFileSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { EXCLUDED, isExcluded, SIDEBAR } from '../pages.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const BASE = process.env.DOCS_BASE ?? '/';
const SOURCE_URL = process.env.DOCS_SOURCE_URL?.replace(/\/$/, '');
const isPage = (href, directory) =>
  /\.md(?:#|$)/.test(href) && !isExcluded(posix.join(directory, href.replace(/#.*/, '')));
const isRelative = (href) => !/^(?:[a-z]+:|\/|#)/i.test(href);

/** The path of a page on the site: a README.md is the index of its directory, except the first one, because the site has a start page. */
const sitePath = (page) =>
  page === 'docs/site/home.md'
    ? 'index.md'
    : page === 'README.md'
      ? 'overview.md'
      : page.replace(/README\.md$/, 'index.md');

/** Adapts a page: links lead to the paths on the site, files that are not pages are elsewhere, and comments are left out. */
function adaptLinks(md) {
  md.core.ruler.before('normalize', 'comments', (state) => {
    state.src = state.src.replaceAll(/<!--.*?-->/gs, '');
  });
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const directory = posix.dirname(env.relativePath ?? '');
    for (const { children } of tokens) {
      const open = [];
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          open.push(token);
          const href = token.attrGet('href') ?? '';
          if (!isRelative(href)) continue;
          if (isPage(href, directory)) {
            const [path, anchor] = href.split('#');
            const page = sitePath(posix.join(directory, path));
            token.attrSet('href', `/${page}${anchor === undefined ? '' : `#${anchor}`}`);
          } else if (SOURCE_URL !== undefined)
            token.attrSet('href', `${SOURCE_URL}/${posix.join(directory, href)}`);
          else Object.assign(token, { tag: 'span', attrs: null });
        } else if (token.type === 'link_close') token.tag = open.pop()?.tag ?? 'a';
      }
    }
  });
}

export default defineConfig({
  title: 'Agent Compliance',
  description: 'Verifies at run time that an AI agent does what its manifest declares.',
  base: BASE,
  srcDir: '../..',
  outDir: '../../dist/docs',
  cacheDir: '../../node_modules/.cache/vitepress',
  srcExclude: EXCLUDED,
  rewrites: sitePath,
  buildEnd: ({ outDir }) => copyFileSync(join(ROOT, 'docs/images/logo.svg'), join(outDir, 'logo.svg')),
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${BASE}logo.svg` }],
    // Room for tables with long names.
    [
      'style',
      {},
      '.vp-doc td code { overflow-wrap: anywhere; } .VPDoc.has-aside .content-container { max-width: 860px !important; }',
    ],
  ],
  cleanUrls: false,
  lastUpdated: false,
  ignoreDeadLinks: 'localhostLinks',
  // Pages have no HTML: `<name>` is text.
  markdown: { html: false, config: adaptLinks },
  vite: {
    // The pages are outside of this directory, which has the packages.
    resolve: {
      alias: [
        { find: /^vue(?=\/|$)/, replacement: fileURLToPath(new URL('../node_modules/vue', import.meta.url)) },
      ],
    },
    esbuild: { tsconfigRaw: '{}' },
    // The search index is one file.
    build: { chunkSizeWarningLimit: 4_000 },
  },
  themeConfig: {
    logo: '/logo.svg',
    siteTitle: `Agent Compliance ${version}`,
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Get started', link: '/docs/guide/start' },
      { text: 'Kubernetes', link: '/docs/guide/kubernetes' },
      { text: 'Reference', link: '/docs/reference/' },
      { text: 'Glossary', link: '/docs/glossary' },
    ],
    sidebar: SIDEBAR,
  },
});
