import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  linkPackages,
  makeConsumerProject,
  type ConsumerProject,
} from '../testing/machine/consumer-project.ts';
import { examplesIn, runServer } from '../testing/documents/documented-examples.ts';

const run = promisify(execFile);
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
    timeout: 240_000,
  });
  expect([JSON.parse(stdout), stderr]).toEqual([
    [
      'shop',
      'unhealthy',
      3,
      'pii-detector',
      ['pii_detector_not_invoked'],
      { delivered: 0, dropped: 2, queued: 0 },
    ],
    '',
  ]);
});

const INTEGRATION_PROGRAM = `
  const reporter = { behavior: () => ({ begin() {} }), checkPolicy: () => Promise.resolve() };
  process.stdout.write(JSON.stringify([
    Object.keys(aiSdk.compliance(reporter)),
    new langchain.ComplianceHandler(reporter).name,
    Object.keys(mastra.compliance(reporter)),
    typeof mcp.install,
    typeof agents.install,
  ]));
`;
const INTEGRATION_NAMES = {
  aiSdk: 'ai-sdk',
  langchain: 'langchain',
  mastra: 'mastra',
  mcp: 'mcp',
  agents: 'openai-agents',
};

test.each([
  ['module', (name: string, path: string) => `import * as ${name} from '${path}';`],
  ['commonjs', (name: string, path: string) => `const ${name} = require('${path}');`],
])('the packaged integrations load in a %s program, without their frameworks', async (type, line) => {
  const lines = Object.entries(INTEGRATION_NAMES).map(([name, file]) =>
    line(name, `agent-compliance/integrations/${file}`),
  );
  const program = [...lines, INTEGRATION_PROGRAM].join('\n');
  const { stdout, stderr } = await run(process.execPath, [`--input-type=${type}`, '-e', program], {
    cwd: project.folder,
    timeout: 240_000,
  });
  expect([JSON.parse(stdout), stderr]).toEqual([
    [
      ['specificationVersion', 'wrapGenerate', 'wrapStream'],
      'agent-compliance',
      ['inputProcessors', 'outputProcessors', 'hooks'],
      'function',
      'function',
    ],
    '',
  ]);
});

describe('the examples of the documentation', () => {
  const examples = examplesIn(['reporter/README.md', 'docs/guide/agent.md', 'docs/package.md']);
  const HEADERS = { 'x-request-id': 'r-1', 'content-type': 'text/plain' };
  const get = async (url: string): Promise<unknown> => (await fetch(url)).json();

  /** The programs by file name, with the checks in addition to the two routes. */
  const PROGRAMS: Readonly<Record<string, (url: string) => Promise<void>>> = {
    'http.js': async (url) => expect(await (await fetch(url)).text()).toBe("the agent's own routes"),
    'package.mjs': async (url) => expect(await (await fetch(url)).text()).toBe("the agent's own routes"),
    'express.js': async (url) => expect((await fetch(`${url}/platform/other`)).status).toBe(404),
    'fastify.js': async (url) => expect((await fetch(`${url}/platform/other`)).status).toBe(404),
    'hono.js': async (url) => expect((await fetch(`${url}/platform/other`)).status).toBe(404),
    'agent.mjs': async (url) => expect((await fetch(`${url}/platform/other`)).status).toBe(200),
    'chat.js': async (url) => {
      const chat = (body: string) => fetch(`${url}/v1/chat`, { method: 'POST', headers: HEADERS, body });
      const response = await chat('hello');
      expect([
        response.status,
        await response.text(),
        response.headers.get('x-platform-guardrails-invoked'),
      ]).toEqual([200, 'You said: hello', 'pii-detector']);
      expect(response.headers.get('x-platform-tools-called')).toBe('search');
      expect((await chat('123-45-6789')).status).toBe(422);
      expect(await get(`${url}/platform/usage`)).toMatchObject({ totalTokens: 38, totalCalls: 1 });
      // The manifest allows 60 tokens a day.
      await chat('again');
      const denied = await chat('once more');
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

  test('are all covered by this test', () => {
    expect([...examples.keys()].sort()).toEqual(['reporter.js', ...Object.keys(PROGRAMS)].sort());
  });

  test.each(Object.entries(PROGRAMS))('%s works', async (file, use) => {
    await runServer(project.folder, file, async (url) => {
      expect(await get(`${url}/platform/health`)).toMatchObject({
        agentName: 'shop',
        checks: expect.arrayContaining([expect.objectContaining({ id: 'tool:search', status: 'pass' })]),
      });
      await use(url);
    });
  });
});
