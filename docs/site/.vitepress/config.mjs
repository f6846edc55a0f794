// The documentation site: the same Markdown pages as in the repository, built by VitePress. A link between pages that leads nowhere
// fails the build. Links to other files of the repository lead to DOCS_SOURCE_URL (for example
// https://github.com/OWNER/NAME/blob/main); without that variable they are plain text.
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const SOURCE_URL = process.env.DOCS_SOURCE_URL?.replace(/\/$/, '');
const isPage = (href) => /\.md(?:#|$)/.test(href);
const isRelative = (href) => !/^(?:[a-z]+:|\/|#)/i.test(href);

/** Adapts a page: README.md is the index of its directory, files that are not pages are elsewhere, and comments are left out. */
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
          if (isPage(href)) token.attrSet('href', href.replace(/README\.md(?=#|$)/, 'index.md'));
          else if (SOURCE_URL !== undefined)
            token.attrSet('href', `${SOURCE_URL}/${posix.join(directory, href)}`);
          else Object.assign(token, { tag: 'span', attrs: null });
        } else if (token.type === 'link_close') token.tag = open.pop()?.tag ?? 'a';
      }
    }
  });
}

const section = (text, base, pages) => ({
  text,
  collapsed: false,
  items: pages.map(([title, page]) => ({ text: title, link: `${base}${page}` })),
});

export default defineConfig({
  title: 'Agent Compliance',
  description: 'Verifies at run time that an AI agent does what its manifest declares.',
  base: process.env.DOCS_BASE ?? '/',
  srcDir: '../..',
  outDir: '../../dist/docs',
  cacheDir: '../../node_modules/.cache/vitepress',
  srcExclude: ['**/node_modules/**', 'dist/**', 'testing/**', 'core/**', 'coverage/**'],
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  // Room for tables with long names.
  head: [
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
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Try it', link: '/#try-it' },
      { text: 'Kubernetes', link: '/docs/guide/kubernetes' },
      { text: 'Reference', link: '/docs/reference/' },
      { text: 'Glossary', link: '/docs/glossary' },
    ],
    sidebar: [
      section('Agent developer', '/', [
        ['Run on a laptop', 'docs/guide/laptop'],
        ['Integrate your agent', 'docs/guide/agent'],
        ['OpenTelemetry spans', 'docs/guide/otlp'],
        ['Calls of the agent', 'docs/guide/egress'],
        ['Reporter', 'reporter/'],
        ['Framework integrations', 'docs/guide/frameworks/'],
        ['Clients and frameworks', 'docs/guide/clients'],
        ['Audit in CI', 'docs/guide/audit'],
        ['Editors and assistants', 'docs/guide/editors'],
        ['npm package', 'docs/package'],
      ]),
      section('Platform engineer', '/docs/guide/', [
        ['Install on Kubernetes', 'kubernetes'],
        ['Operate', 'operations'],
        ['Dashboard', 'dashboard'],
        ['Size', 'sizing'],
        ['Upgrade', 'upgrade'],
        ['Alerts and dashboard', 'alerts'],
        ['Troubleshooting', 'troubleshooting'],
      ]),
      section('Security reviewer', '/docs/', [
        ['Policy enforcement', 'guide/enforcement'],
        ['LLM analysis', 'guide/llm-analysis'],
        ['Security review', 'guide/security'],
        ['Webhook and certificates', 'webhook'],
        ['Releases', 'release'],
      ]),
      section('Concepts', '/docs/', [
        ['Glossary', 'glossary'],
        ['Sidecar', 'sidecar'],
        ['AgentObservation', 'observation'],
        ['Control plane', 'control-plane'],
      ]),
      section('Reference', '/docs/reference/', [
        ['Overview', ''],
        ['Manifest', 'manifest'],
        ['Manifest example', 'manifest-example'],
        ['Command line', 'cli'],
        ['Annotations', 'annotations'],
        ['Configuration', 'configuration'],
        ['HTTP routes', 'routes'],
        ['HTTP bodies', 'http-bodies'],
        ['AgentObservation', 'agentobservation'],
        ['Events', 'events'],
        ['Metrics', 'metrics'],
        ['Log messages', 'log-messages'],
        ['Issues and policy rules', 'rules'],
        ['Compliance rules', 'compliance'],
        ['Evidence', 'evidence'],
        ['Installation checks', 'checks'],
      ]),
      section('Contributor', '/', [
        ['Contributing', 'CONTRIBUTING'],
        ['Architecture', 'docs/architecture'],
        ['Decisions', 'docs/decisions/'],
        ['LLM providers', 'llm/'],
        ['Benchmark', 'bench/'],
        ['Changelog', 'CHANGELOG'],
      ]),
    ],
  },
});
