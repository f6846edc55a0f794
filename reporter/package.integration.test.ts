import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { linkPackages, makeConsumerProject, type ConsumerProject } from '../testing/consumer-project.ts';
import { examplesIn, runServer } from '../testing/documented-examples.ts';

const run = promisify(execFile);
const ROOT = dirname(import.meta.dirname);
const PROGRAM = `
  const reporter = createReporter({
    manifest: {
      metadata: { name: 'shop' },
      spec: {
        model: { provider: 'openai', id: 'gpt', apiKey: '$env:NOT_SET' },
        guardrails: { input: [{ type: 'pii-detector' }] },
      },
    },
    env: { PLATFORM_SIDECAR_URL: 'http://127.0.0.1:9' },
    logger: { warn() {}, info() {}, debug() {} },
  });
  reporter.start();
  reporter.recordUsage('gpt', 1, 2);
  const behavior = reporter.behavior(new Request('http://agent/', { headers: { 'x-request-id': 'r-1' } }));
  behavior.guardrail('pii-detector');
  const headers = behavior.headers();
  behavior.tool('late');
  (async () => {
    const report = await reporter.getReport();
    const response = await reporter.fetch(new Request('http://agent/platform/usage'));
    const denial = await reporter.checkPolicy().catch((error) => error);
    await reporter.stop();
    process.stdout.write(JSON.stringify([
      report.agentName,
      report.status,
      (await response.json()).totalTokens,
      headers['x-platform-guardrails-invoked'],
      denial instanceof PolicyDeniedError && denial.violations,
      reporter.events.counts(),
    ]));
  })();
`;

let project: ConsumerProject;
beforeAll(async () => {
  project = await makeConsumerProject();
}, 120_000);
afterAll(() => project?.remove());

test.each([
  ['module', `import { createReporter, PolicyDeniedError } from 'agent-compliance/reporter';`],
  ['commonjs', `const { createReporter, PolicyDeniedError } = require('agent-compliance/reporter');`],
])('the packaged reporter runs in a %s program', async (type, line) => {
  const { stdout, stderr } = await run(process.execPath, [`--input-type=${type}`, '-e', line + PROGRAM], {
    cwd: project.folder,
    timeout: 15_000,
  });
  expect([JSON.parse(stdout), stderr]).toEqual([
    [
      'shop',
      'unhealthy',
      3,
      'pii-detector',
      ['pii_detector_not_invoked'],
      { delivered: 0, dropped: 1, queued: 0 },
    ],
    '',
  ]);
});

describe('the declarations', () => {
  beforeAll(() => linkPackages(project, ['@types/node']));

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

  /** What the compiler complains about in a program of one file; the place of each complaint without its column. */
  async function complaints(extension: string, lines: readonly string[], options = {}): Promise<string[]> {
    const file = `consumer.${extension}`;
    const config = `tsconfig.${extension}.json`;
    writeFileSync(join(project.folder, file), lines.join('\n'));
    writeFileSync(
      join(project.folder, config),
      JSON.stringify({ compilerOptions: { ...OPTIONS, ...options }, files: [file] }),
    );
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', config, '--pretty', 'false'], {
      cwd: project.folder,
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
    `const answer = async (request: Request): Promise<Response> => {`,
    `  const behavior: RequestBehavior = reporter.behavior(request);`,
    `  const told: boolean = behavior.guardrail('pii-detector', { blocked: false, score: 0.1 });`,
    `  try { await reporter.checkPolicy({ guardrailsInvoked: ['pii-detector'], userConfirmed: told }); }`,
    `  catch (error) { if (error instanceof PolicyDeniedError) return Response.json(error.violations); throw error; }`,
    `  reporter.events.send('r-1', [{ type: 'tool', name: 'search', success: true }]);`,
    `  const dropped: number = reporter.events.counts().dropped;`,
    `  return new Response(String(dropped), { headers: behavior.headers() });`,
    `};`,
    `createServer((request, response) => { reporter.behavior(request, response).tool('search'); });`,
    `export { report, tokens, problems, answer };`,
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
      `consumer.${extension}:6 TS2322`,
      `consumer.${extension}:7 TS2353`,
    ]);
  });
});

describe('the examples of the documentation', () => {
  const examples = examplesIn(['reporter/README.md', 'docs/guide/agent.md', 'docs/package.md']);
  const HEADERS = { 'x-request-id': 'r-1', 'content-type': 'text/plain' };
  const get = async (url: string): Promise<unknown> => (await fetch(url)).json();

  /** Each program by its name, and what it is asked beyond its two routes. */
  const PROGRAMS: Readonly<Record<string, (url: string) => Promise<void>>> = {
    'http.js': async (url) => expect(await (await fetch(url)).text()).toBe("the agent's own routes"),
    'package.js': async (url) => expect(await (await fetch(url)).text()).toBe("the agent's own routes"),
    'express.js': async (url) => expect((await fetch(`${url}/platform/other`)).status).toBe(404),
    'fastify.js': async (url) => expect((await fetch(`${url}/platform/other`)).status).toBe(404),
    'hono.js': async (url) => expect((await fetch(`${url}/platform/other`)).status).toBe(404),
    'agent.js': async (url) => expect((await fetch(`${url}/platform/other`)).status).toBe(200),
    'chat.js': async (url) => {
      const say = (body: string) => fetch(`${url}/v1/chat`, { method: 'POST', headers: HEADERS, body });
      const answer = await say('hello');
      expect([
        answer.status,
        await answer.text(),
        answer.headers.get('x-platform-guardrails-invoked'),
      ]).toEqual([200, 'You said: hello', 'pii-detector']);
      expect(answer.headers.get('x-platform-tools-called')).toBe('search');
      expect((await say('123-45-6789')).status).toBe(422);
      expect(await get(`${url}/platform/usage`)).toMatchObject({ totalTokens: 38, totalCalls: 1 });
      // The manifest allows 60 tokens a day.
      await say('again');
      const denied = await say('once more');
      expect([denied.status, await denied.json()]).toEqual([403, { denied: ['daily_token_limit_exceeded'] }]);
    },
  };

  beforeAll(() => {
    linkPackages(project, ['express', 'fastify', 'hono', '@hono/node-server', 'yaml']);
    writeFileSync(join(project.folder, 'package.json'), '{ "type": "module" }');
    const spec = {
      model: { provider: 'openai', id: 'gpt', apiKey: '$env:NOT_SET', costControls: { maxTokensPerDay: 60 } },
      guardrails: { input: [{ type: 'pii-detector' }] },
      tools: [{ name: 'search' }, { name: 'refund_order' }],
    };
    const metadata = { name: 'shop', version: '1.0.0', description: 'sells' };
    const manifest = { apiVersion: 'platform.io/v1', kind: 'PlatformAgent', metadata, spec };
    writeFileSync(join(project.folder, 'agent.yaml'), JSON.stringify(manifest));
    for (const [file, code] of examples) writeFileSync(join(project.folder, file), code);
  });

  test('are all run here', () => {
    expect([...examples.keys()].sort()).toEqual(['reporter.js', ...Object.keys(PROGRAMS)].sort());
  });

  test.each(Object.entries(PROGRAMS))(
    '%s',
    async (file, use) => {
      await runServer(project.folder, file, async (url) => {
        expect(await get(`${url}/platform/health`)).toMatchObject({
          agentName: 'shop',
          checks: expect.arrayContaining([expect.objectContaining({ id: 'tool:search', status: 'pass' })]),
        });
        await use(url);
      });
    },
    60_000,
  );
});
