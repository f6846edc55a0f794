import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const run = promisify(execFile);
const root = dirname(import.meta.dirname);
const PROGRAM = `
  const reporter = createReporter({
    manifest: {
      metadata: { name: 'shop' },
      spec: { model: { provider: 'openai', id: 'gpt', apiKey: '$env:NOT_SET' } },
    },
    env: {},
  });
  reporter.start();
  reporter.recordUsage('gpt', 1, 2);
  reporter.getReport().then((report) => {
    process.stdout.write(JSON.stringify([report.agentName, report.status, reporter.getUsage().totalTokens]));
    return reporter.stop();
  });
`;

/** A project of somebody else, with the package unpacked into its node_modules as npm would. */
let project: string;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'reporter-consumer-'));
  const target = join(project, 'node_modules/agent-compliance');
  mkdirSync(target, { recursive: true });
  await run(process.execPath, ['scripts/build-types.ts'], { cwd: root });
  // The bundles are there already; prepack would build them again.
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--silent', '--ignore-scripts', '--pack-destination', project],
    { cwd: root },
  );
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  await run('tar', ['-xzf', join(project, packed!.filename), '-C', target, '--strip-components=1']);
}, 120_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

test.each([
  ['module', `import { createReporter } from 'agent-compliance/reporter';`],
  ['commonjs', `const { createReporter } = require('agent-compliance/reporter');`],
])('the packaged reporter runs in a %s program', async (type, line) => {
  const { stdout, stderr } = await run(process.execPath, [`--input-type=${type}`, '-e', line + PROGRAM], {
    cwd: project,
    timeout: 15_000,
  });
  expect([stdout, stderr]).toEqual(['["shop","unhealthy",3]', '']);
});

describe('the declarations', () => {
  const OPTIONS = {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
  };

  beforeAll(() => {
    mkdirSync(join(project, 'node_modules/@types'));
    symlinkSync(join(root, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'));
  });

  /** What the compiler complains about in a program of one file; the place of each complaint without its column. */
  async function complaints(extension: string, lines: readonly string[], options = {}): Promise<string[]> {
    const file = `consumer.${extension}`;
    const config = `tsconfig.${extension}.json`;
    writeFileSync(join(project, file), lines.join('\n'));
    writeFileSync(
      join(project, config),
      JSON.stringify({ compilerOptions: { ...OPTIONS, ...options }, files: [file] }),
    );
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', config, '--pretty', 'false'], {
      cwd: project,
    }).catch((error: unknown) => error as { stdout: string });
    return stdout
      .split('\n')
      .filter((line) => line.includes('error TS'))
      .map((line) => line.replace(/\((\d+),\d+\): error (TS\d+): .*/s, ':$1 $2'));
  }

  const IMPORTS = {
    mts: `import { createReporter, ManifestInputError, type HealthReport, type Manifest } from 'agent-compliance/reporter';`,
    cts: `import reporting = require('agent-compliance/reporter'); import { createReporter, ManifestInputError, type HealthReport, type Manifest } from 'agent-compliance/reporter';`,
  };
  const USE = [
    `import { createServer } from 'node:http';`,
    `const manifest: Manifest = {`,
    `  apiVersion: 'platform.io/v1', kind: 'PlatformAgent',`,
    `  metadata: { name: 'shop', version: '1.0.0', description: 'Sells' },`,
    `  spec: { model: { provider: 'openai', id: 'gpt', apiKey: '$env:KEY' } },`,
    `};`,
    `const reporter = createReporter({ manifest, tools: () => new Set(['search']), push: false });`,
    `createServer((request, response) => { const done: boolean = reporter.handle(request, response); void done; });`,
    `const report: Promise<HealthReport | null> = reporter.getReport();`,
    `const tokens: number = reporter.getUsage().totalTokens;`,
    `const problems = (error: unknown): readonly string[] => error instanceof ManifestInputError ? error.problems : [];`,
    `export { report, tokens, problems };`,
  ];
  const MISUSE = [
    `const wrong = createReporter({ manifest: 'agent.json', refreshIntervalMs: '30s' });`,
    `wrong.recordUsage('gpt', 1);`,
    `const text: string = wrong.getUsage().totalTokens;`,
    `wrong.getReport().then((found) => found.status);`,
    `export { text };`,
  ];

  test.each(['mts', 'cts'] as const)('fit a strict .%s program', async (extension) => {
    // The declarations themselves are held against the compiler too.
    const options = { skipLibCheck: false };
    expect(await complaints(extension, [IMPORTS[extension], ...USE], options)).toEqual([]);
  });

  test('fit a program whose bundler resolves its modules', async () => {
    const options = { module: 'esnext', moduleResolution: 'bundler' };
    expect(await complaints('mts', [IMPORTS.mts, ...USE], options)).toEqual([]);
  });

  test.each(['mts', 'cts'] as const)('refuse what is wrong in a .%s program', async (extension) => {
    expect(
      await complaints(extension, [`import { createReporter } from 'agent-compliance/reporter';`, ...MISUSE]),
    ).toEqual([
      `consumer.${extension}:2 TS2322`,
      `consumer.${extension}:3 TS2554`,
      `consumer.${extension}:4 TS2322`,
      `consumer.${extension}:5 TS18047`,
    ]);
  });
});
