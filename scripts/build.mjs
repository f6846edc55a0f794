// Builds one bundle per process into dist/<part>/main.js, and the reporter as a library for both module systems.
// The processes are CommonJS because express and winston call require() for builtins, which an ESM bundle does not support.
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { buildDashboard, containsDashboard } from './build-dashboard.mjs';
import { nodeGuard } from './node-guard.mjs';
import { smallTables } from './small-tables.mjs';
import { INTEGRATIONS } from './integrations.ts';
import { noticesOf } from './third-party-notices.ts';

const root = dirname(import.meta.dirname);
const { version, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const minimum = engines.node.replace('>=', '');
/** Source directory to directory under dist/. */
const PROCESSES = {
  sidecar: 'sidecar',
  operator: 'operator',
  webhook: 'webhook',
  'control-plane': 'control-plane',
  cli: 'cli',
  'cli/cluster': 'cli-cluster',
  'llm/sdk': 'llm-sdk',
  'cli/mcp': 'cli-mcp',
  'authoring/scan/parsers': 'cli-parsers',
  'runtime/manifest-worker': 'manifest-worker',
  'examples/agents': 'example-agents',
};

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22',
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
  // Express would show stacks to clients in development, and the colours of winston's diagnostics take 6 ms of each start.
  define: { PRODUCT_VERSION: JSON.stringify(version), 'process.env.NODE_ENV': '"production"' },
};

/**
 * Files that a bundle loads only when it needs them, by their source. run.js has all commands, and the compile cache applies to it.
 * The cluster commands, the MCP server and the SDKs of the LLM vendors are bundles of their own, because they are larger than the rest,
 * and so are the parsers of the scan.
 */
const LOADED_LATE = [
  { source: /\/cluster\/main\.ts$/, path: '../cli-cluster/main.js' },
  { source: /\/mcp\/main\.ts$/, path: '../cli-mcp/main.js' },
  { source: /\/sdk\/main\.ts$/, path: '../llm-sdk/main.js' },
  { source: /\/parsers\/main\.ts$/, path: '../cli-parsers/main.js', kind: 'import-statement' },
  { source: /^\.\/run\.ts$/, path: './run.js' },
];

const loadsLate = {
  name: 'loads-late',
  setup: ({ onResolve }) => {
    for (const { source, path, kind = 'dynamic-import' } of LOADED_LATE)
      onResolve({ filter: source }, (found) => (found.kind === kind ? { path, external: true } : undefined));
  },
};

/** Plugins of one bundle. */
const OWN_PLUGINS = {
  sidecar: [smallTables],
  'control-plane': [containsDashboard(root)],
};

/** import() becomes require(), which needs no ES module loader. What is imported is still evaluated late. */
const WITHOUT_IMPORT = { supported: { 'dynamic-import': false } };

/** Options of one bundle. The image runs the sidecar's with a code cache (images/load-bundle.cjs), which does not support import(). */
const OWN_OPTIONS = {
  cli: { entryPoints: ['cli/main.ts', 'cli/run.ts'], ...WITHOUT_IMPORT },
  sidecar: WITHOUT_IMPORT,
};

/** Names of the bundles that are built. */
const parts = [];

async function buildProcess([directory, part]) {
  const entry = `${directory}/main.ts`;
  if (!existsSync(join(root, entry))) return;
  const isCommand = part === 'cli';
  const guard = nodeGuard({ part: isCommand ? 'platform' : part, minimum, continues: isCommand });
  const isProcess =
    part !== 'manifest-worker' && !LOADED_LATE.some(({ path }) => path === `../${part}/main.js`);
  const banner = isCommand ? `#!/usr/bin/env node\n${guard}` : isProcess ? guard : '';
  const { metafile } = await build({
    ...common,
    entryPoints: [entry],
    outdir: `dist/${part}`,
    format: 'cjs',
    banner: { js: banner },
    plugins: [loadsLate, ...(OWN_PLUGINS[part] ?? [])],
    // Identifiers are not minified, so that stack traces stay readable.
    minifySyntax: true,
    minifyWhitespace: true,
    // CommonJS has no import.meta.
    define: { ...common.define, 'import.meta.dirname': '__dirname' },
    ...OWN_OPTIONS[part],
  });
  record(part, metafile);
  report(`dist/${part}/main.js`);
}

/** Writes the metadata of a bundle. */
function record(part, metafile) {
  parts.push(part);
  writeFileSync(join(root, `dist/${part}/meta.json`), JSON.stringify(metafile));
}

async function buildReporter() {
  const entry = 'reporter/index.ts';
  if (!existsSync(join(root, entry))) return;
  // The integrations contain nothing of the reporter: they get it from the agent.
  const entryPoints = { index: entry };
  for (const name of INTEGRATIONS) entryPoints[`integrations/${name}`] = `reporter/integrations/${name}.ts`;
  for (const [format, extension] of [
    ['esm', '.mjs'],
    ['cjs', '.js'],
  ]) {
    const outExtension = { '.js': extension };
    const { metafile } = await build({
      ...common,
      entryPoints,
      outdir: 'dist/reporter',
      outExtension,
      format,
    });
    if (format === 'esm') record('reporter', metafile);
    for (const name of Object.keys(entryPoints)) report(`dist/reporter/${name}${extension}`);
  }
}

function report(file) {
  if (process.stdout.isTTY)
    console.log(`${file}  ${(statSync(join(root, file)).size / 1024).toFixed(0)} KiB`);
}

// dist/ is overwritten, not emptied, so that a process running from it always finds its files.
mkdirSync(join(root, 'dist/schema'), { recursive: true });
writeFileSync(join(root, 'dist/package.json'), '{ "type": "commonjs" }\n');
// First, because the control plane contains it.
record('dashboard', await buildDashboard(root, version));
await Promise.all([...Object.entries(PROCESSES).map(buildProcess), buildReporter()]);
// The licences of a bundle include those of the bundles that it loads or contains.
for (const part of parts)
  writeFileSync(join(root, `dist/${part}/THIRD-PARTY-NOTICES`), noticesOf(root, [part]));
copyFileSync(
  join(root, 'core/manifest/agent.schema.generated.json'),
  join(root, 'dist/schema/agent.schema.json'),
);
