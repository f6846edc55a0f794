// Builds one bundle per process into dist/<part>/main.js, and the reporter as a library for both module systems.
// The processes are CommonJS because express and winston call require() for builtins, which an ESM bundle does not support.
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { nodeGuard } from './node-guard.mjs';
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
  'cli/mcp': 'cli-mcp',
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
  define: { PRODUCT_VERSION: JSON.stringify(version) },
};

/**
 * Cluster commands and the MCP server are separate bundles, loaded only when needed, because the Kubernetes client and the MCP SDK
 * are larger than the rest.
 */
const loadsPartsLate = {
  name: 'loads-parts-late',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/(?:cluster|mcp)\/main\.ts$/ }, ({ kind, path }) =>
      kind === 'dynamic-import'
        ? { path: `../cli-${path.split('/').at(-2)}/main.js`, external: true }
        : undefined,
    ),
};

async function buildProcess([directory, part]) {
  const entry = `${directory}/main.ts`;
  if (!existsSync(join(root, entry))) return;
  const outfile = `dist/${part}/main.js`;
  const isCommand = part === 'cli';
  const guard = nodeGuard({ part: isCommand ? 'platform' : part, minimum, continues: isCommand });
  const banner = isCommand ? `#!/usr/bin/env node\n${guard}` : part.startsWith('cli-') ? '' : guard;
  const { metafile } = await build({
    ...common,
    entryPoints: [entry],
    outfile,
    format: 'cjs',
    banner: { js: banner },
    plugins: isCommand ? [loadsPartsLate] : [],
    // Identifiers are not minified, so that stack traces stay readable.
    minifySyntax: true,
    minifyWhitespace: true,
  });
  record(part, metafile);
  report(outfile);
}

/** Writes the bundle's metadata and the licences of its packages. */
function record(part, metafile) {
  writeFileSync(join(root, `dist/${part}/meta.json`), JSON.stringify(metafile));
  writeFileSync(join(root, `dist/${part}/THIRD-PARTY-NOTICES`), noticesOf(root, [part]));
}

async function buildReporter() {
  const entry = 'reporter/index.ts';
  if (!existsSync(join(root, entry))) return;
  for (const [format, outfile] of [
    ['esm', 'dist/reporter/index.mjs'],
    ['cjs', 'dist/reporter/index.js'],
  ]) {
    const { metafile } = await build({ ...common, entryPoints: [entry], outfile, format });
    if (format === 'esm') record('reporter', metafile);
    report(outfile);
  }
}

function report(file) {
  if (process.stdout.isTTY)
    console.log(`${file}  ${(statSync(join(root, file)).size / 1024).toFixed(0)} KiB`);
}

// dist/ is overwritten, not emptied, so that a process running from it always finds its files.
mkdirSync(join(root, 'dist/schema'), { recursive: true });
writeFileSync(join(root, 'dist/package.json'), '{ "type": "commonjs" }\n');
await Promise.all([...Object.entries(PROCESSES).map(buildProcess), buildReporter()]);
copyFileSync(
  join(root, 'core/manifest/agent.schema.generated.json'),
  join(root, 'dist/schema/agent.schema.json'),
);
