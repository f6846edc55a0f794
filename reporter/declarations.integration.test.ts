import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  linkPackages,
  makeConsumerProject,
  type ConsumerProject,
} from '../testing/machine/consumer-project.ts';

const run = promisify(execFile);
const compilerOf = (name: string): string =>
  join(dirname(import.meta.dirname), 'node_modules', name, 'bin/tsc');
/** TypeScript 7. */
const PRESENT = compilerOf('typescript-native');
/** TypeScript 6, the last one with the module resolution of old projects. */
const EARLIER = compilerOf('typescript');

let project: ConsumerProject;
beforeAll(async () => {
  project = await makeConsumerProject();
  linkPackages(project, ['@types/node']);
}, 120_000);
afterAll(() => project?.remove());

describe('the declarations of the published package', () => {
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

  /** The compiler errors in these files, as file, line and code. */
  async function errorsIn(
    files: Record<string, readonly string[]>,
    options = {},
    compiler = PRESENT,
  ): Promise<string[]> {
    for (const [file, lines] of Object.entries(files))
      writeFileSync(join(project.folder, file), lines.join('\n'));
    writeFileSync(
      join(project.folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...OPTIONS, ...options }, files: Object.keys(files) }),
    );
    const { stdout } = await run(process.execPath, [compiler, '-p', '.', '--pretty', 'false'], {
      cwd: project.folder,
      env: {},
    }).catch((error: unknown) => error as { stdout: string });
    return stdout
      .split('\n')
      .filter((line) => line.includes('error TS'))
      .map((line) => line.replace(/\((\d+),\d+\): error (TS\d+): .*/s, ':$1 $2'));
  }

  const IMPORTS = {
    mts: `import { createReporter, ManifestInputError, PolicyDeniedError, type HealthReport, type Manifest, type RequestBehavior } from 'agent-compliance/reporter';`,
    cts: `import reporting = require('agent-compliance/reporter'); import { createReporter, ManifestInputError, PolicyDeniedError, type HealthReport, type Manifest, type RequestBehavior } from 'agent-compliance/reporter';`,
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
    `const respond = async (request: Request): Promise<Response> => {`,
    `  const behavior: RequestBehavior = reporter.behavior(request);`,
    `  const delivered: boolean = behavior.guardrail('pii-detector', { blocked: false, score: 0.1 });`,
    `  try { await reporter.checkPolicy({ guardrailsInvoked: ['pii-detector'], userConfirmed: delivered }); }`,
    `  catch (error) { if (error instanceof PolicyDeniedError) return Response.json(error.violations); throw error; }`,
    `  const counted: boolean = behavior.model('gpt', 1, 2) && reporter.recordUsage('gpt', 1, 2); void counted;`,
    `  reporter.events.send(null, [{ type: 'model', modelId: 'gpt', promptTokens: 1, completionTokens: 2 }]);`,
    `  reporter.events.send('r-1', [{ type: 'tool', name: 'search', success: true }]);`,
    `  const dropped: number = reporter.events.counts().dropped;`,
    `  return new Response(String(dropped), { headers: behavior.headers() });`,
    `};`,
    `createServer((request, response) => { reporter.behavior(request, response).tool('search'); });`,
    `export { report, tokens, problems, respond };`,
  ];
  const MISUSE = [
    `const wrong = createReporter({ manifest: 'agent.json', refreshIntervalMs: '30s' });`,
    `wrong.recordUsage('gpt', 1);`,
    `const text: string = wrong.getUsage().totalTokens;`,
    `wrong.getReport().then((found) => found.status);`,
    `wrong.events.send('r-1', [{ type: 'wish' }]);`,
    `wrong.checkPolicy({ guardrails: [] });`,
    `export { text };`,
  ];

  const misuse = (extension: string) =>
    ['2 TS2322', '3 TS2554', '4 TS2322', '5 TS18047', '6 TS2322', '7 TS2353'].map(
      (place) => `misuse.${extension}:${place}`,
    );

  test('compile in strict ES module and CommonJS programs, and report misuse', async () => {
    const wrong = [`import { createReporter } from 'agent-compliance/reporter';`, ...MISUSE];
    const files = {
      'use.mts': [IMPORTS.mts, ...USE],
      'use.cts': [IMPORTS.cts, ...USE],
      'misuse.mts': wrong,
      'misuse.cts': wrong,
    };
    // Also checks the declarations themselves, but not the default libraries of the compiler.
    const found = await errorsIn(files, { skipLibCheck: false, skipDefaultLibCheck: true });
    expect(found.sort()).toEqual([...misuse('cts'), ...misuse('mts')]);
  });

  test('compile with module resolution "bundler"', async () => {
    const options = { module: 'esnext', moduleResolution: 'bundler' };
    expect(await errorsIn({ 'use.mts': [IMPORTS.mts, ...USE] }, options)).toEqual([]);
  });

  test('compile with module resolution "node10", which ignores exports', async () => {
    const options = { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' };
    const files = { 'use.ts': [IMPORTS.mts, ...USE], 'misuse.ts': [IMPORTS.mts, ...MISUSE] };
    // The misuse is reported, which shows that the declarations are found. Without them every type would be any.
    expect(await errorsIn(files, options, EARLIER)).toEqual(misuse('ts'));
  });
});
