// One bundle per process into dist/<part>/main.js, plus the reporter as a library in both module systems.
// CommonJS for the processes: express and winston call require() of builtins, which an ESM bundle cannot.
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { nodeGuard } from './node-guard.mjs';
import { noticesOf } from './third-party-notices.ts';

const root = dirname(import.meta.dirname);
const { version, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const minimum = engines.node.replace('>=', '');
/** Entry folder to the folder under dist/. */
const PROCESSES = {
  sidecar: 'sidecar',
  operator: 'operator',
  webhook: 'webhook',
  'control-plane': 'control-plane',
  cli: 'cli',
  'cli/cluster': 'cli-cluster',
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

/** Commands for a cluster are a bundle that `platform` loads for them alone: the Kubernetes client is larger than all the rest. */
const loadsClusterLate = {
  name: 'loads-cluster-late',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/cluster\/main\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: '../cli-cluster/main.js', external: true } : undefined,
    ),
};

async function buildProcess([folder, part]) {
  const entry = `${folder}/main.ts`;
  if (!existsSync(join(root, entry))) return;
  const outfile = `dist/${part}/main.js`;
  const isCommand = part === 'cli';
  const guard = nodeGuard({ part: isCommand ? 'platform' : part, minimum, goesOn: isCommand });
  const banner = isCommand ? `#!/usr/bin/env node\n${guard}` : part === 'cli-cluster' ? '' : guard;
  const { metafile } = await build({
    ...common,
    entryPoints: [entry],
    outfile,
    format: 'cjs',
    banner: { js: banner },
    plugins: isCommand ? [loadsClusterLate] : [],
    // Names stay, so that a stack trace can be read.
    minifySyntax: true,
    minifyWhitespace: true,
  });
  record(part, metafile);
  report(outfile);
}

/** What the bundle is made of, and the licences that have to go with it. */
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

// dist/ is written over, not emptied: a process that runs from it keeps its file until the new one is there.
mkdirSync(join(root, 'dist/schema'), { recursive: true });
writeFileSync(join(root, 'dist/package.json'), '{ "type": "commonjs" }\n');
await Promise.all([...Object.entries(PROCESSES).map(buildProcess), buildReporter()]);
copyFileSync(
  join(root, 'core/manifest/agent.schema.generated.json'),
  join(root, 'dist/schema/agent.schema.json'),
);
