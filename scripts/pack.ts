// Packs the npm package: the bundles of the CLI, the reporter, the sidecar and the control plane. The bundles contain all
// libraries, so the package has no dependencies. The dependencies in the root package.json are only needed for the build.
// `npm run package [-- <directory>]` prints the path of the archive. dist/ must be built (`npm run package` builds it).
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { INTEGRATIONS } from './integrations.ts';
import { noticesOf } from './third-party-notices.ts';

const root = dirname(import.meta.dirname);
const PROCESSES = [
  'cli',
  'cli-cluster',
  'cli-mcp',
  'cli-parsers',
  'manifest-worker',
  'llm-sdk',
  'sidecar',
  'control-plane',
];
const BUNDLES = [...PROCESSES, 'reporter'];
const LIBRARIES = ['index', ...INTEGRATIONS.map((name) => `integrations/${name}`)]
  .flatMap((name) => [`${name}.js`, `${name}.mjs`])
  .map((file) => `dist/reporter/${file}`);
const FILES = {
  'dist/package.json': 'dist/package.json',
  ...Object.fromEntries(LIBRARIES.map((file) => [file, file])),
  'dist/schema/agent.schema.json': 'dist/schema/agent.schema.json',
  'docs/package.md': 'README.md',
  'reporter/README.md': 'REPORTER.md',
  LICENSE: 'LICENSE',
  'CHANGELOG.md': 'CHANGELOG.md',
  'dist/cli/run.js': 'dist/cli/run.js',
  ...Object.fromEntries(PROCESSES.map((part) => [`dist/${part}/main.js`, `dist/${part}/main.js`])),
};
/** Published keys of package.json; other keys are internal. `typesVersions` is for compilers without `exports`. */
const PUBLISHED_KEYS = [
  'name',
  'version',
  'description',
  'license',
  'type',
  'engines',
  'bin',
  'exports',
  'typesVersions',
];
/** Optional native modules that `ws` and `pg` try to load. */
const OPTIONAL = new Set(['bufferutil', 'utf-8-validate', 'pg-native']);

interface Bundle {
  outputs: Record<string, { imports: { path: string; external?: boolean }[] }>;
}

function rejectMissingImports(part: string): void {
  const bundle = JSON.parse(readFileSync(join(root, `dist/${part}/meta.json`), 'utf8')) as Bundle;
  const missing = Object.values(bundle.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ path, external }) => external === true && !isBuiltin(path) && !OPTIONAL.has(path))
    .filter(({ path }) => !(join(`dist/${part}`, path) in FILES));
  if (missing.length > 0)
    throw new Error(
      `the bundle of dist/${part} has imports that are not packaged: ${missing.map(({ path }) => path).join(', ')}`,
    );
}

/** Replaces references to files that are not in the package or have another name there, by file extension. */
const REPLACED: readonly (readonly [file: RegExp, found: RegExp, by: string])[] = [
  // Source maps are not packaged, and tools would complain about the missing file.
  [/\.m?js$/, /\n\/\/# sourceMappingURL=\S+\s*$/, '\n'],
  [/\.md$/, /\(\.\.\/reporter\/README\.md/g, '(REPORTER.md'],
  [/\.md$/, /\(\.\.\/docs\/package\.md/g, '(README.md'],
];

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  let text = readFileSync(from, 'utf8');
  for (const [file, found, by] of REPLACED) if (file.test(from)) text = text.replace(found, by);
  writeFileSync(to, text);
}

function stage(directory: string): void {
  for (const [from, to] of Object.entries(FILES)) copy(join(root, from), join(directory, to));
  for (const part of BUNDLES) rejectMissingImports(part);
  writeFileSync(join(directory, 'THIRD-PARTY-NOTICES'), noticesOf(root, BUNDLES));
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>;
  const published = Object.fromEntries(PUBLISHED_KEYS.map((key) => [key, own[key]]));
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  run(process.execPath, [join(root, 'scripts/build-types.ts'), join(directory, 'dist/reporter')], root);
}

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

const destination = resolve(process.argv[2] ?? '.');
const directory = mkdtempSync(join(tmpdir(), 'package-'));
try {
  stage(directory);
  mkdirSync(destination, { recursive: true });
  const packed = run('npm', ['pack', '--json', '--silent', '--pack-destination', destination], directory);
  const [archive] = JSON.parse(packed) as { filename: string }[];
  if (archive === undefined) throw new Error(`npm packed nothing: ${packed}`);
  process.stdout.write(`${join(destination, archive.filename)}\n`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
