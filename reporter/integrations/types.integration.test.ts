// The types of the integrations, which describe the frameworks, against the types that the frameworks publish.
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  linkPackages,
  makeConsumerProject,
  type ConsumerProject,
} from '../../testing/machine/consumer-project.ts';
import { folderOf, whyNoPackages } from '../../testing/frameworks/programs.ts';

const run = promisify(execFile);
const COMPILER = join(import.meta.dirname, '../../node_modules/typescript-native/bin/tsc');

let project: ConsumerProject;
beforeAll(async () => {
  project = await makeConsumerProject();
}, 120_000);
afterAll(() => project?.remove());

const REPORTER = [
  `import { createReporter } from 'agent-compliance/reporter';`,
  `const reporter = createReporter({ manifest: 'agent.json' });`,
];
const aiSdk = (sdk: string, openai: string): readonly string[] => [
  `import { wrapLanguageModel } from '${sdk}';`,
  `import { createOpenAI } from '${openai}';`,
  `import { compliance } from 'agent-compliance/integrations/ai-sdk';`,
  `export const model = wrapLanguageModel({ model: createOpenAI({}).chat('gpt'), middleware: compliance(reporter, { checkPolicy: true }) });`,
];
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  ai: aiSdk('ai', '@ai-sdk/openai'),
  'ai 6': aiSdk('ai-6', 'ai-6-openai'),
  'ai 5': aiSdk('ai-5', 'ai-5-openai'),
  mastra: [
    `import { Agent } from '@mastra/core/agent';`,
    `import { PIIDetector } from '@mastra/core/processors';`,
    `import { compliance } from 'agent-compliance/integrations/mastra';`,
    `const inputProcessors = [new PIIDetector({ model: 'openai/gpt' })];`,
    `const config = { id: 'a', name: 'a', instructions: '', model: 'openai/gpt' };`,
    `export const guarded = new Agent({ ...config, ...compliance(reporter, { inputProcessors, guardrails: ['own'] }) });`,
    `export const plain = new Agent({ ...config, ...compliance(reporter) });`,
  ],
  agents: [
    `import * as agents from '@openai/agents';`,
    `import { install } from 'agent-compliance/integrations/openai-agents';`,
    `install(reporter);`,
    `install(reporter, { agents, checkPolicy: true, guardrails: { own: 'pii-detector' } });`,
  ],
  langchain: [
    `import { ChatOpenAI } from '@langchain/openai';`,
    `import { createAgent } from 'langchain';`,
    `import { ComplianceHandler } from 'agent-compliance/integrations/langchain';`,
    `const callbacks = [new ComplianceHandler(reporter)];`,
    `export const model = new ChatOpenAI({ model: 'gpt', callbacks });`,
    `export const answer = createAgent({ model, tools: [] }).invoke({ messages: [] }, { callbacks });`,
  ],
};
const MCP = [
  `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';`,
  `import { install } from 'agent-compliance/integrations/mcp';`,
  `const server = new McpServer({ name: 'a', version: '1.0.0' });`,
  `install(reporter, server, { checkPolicy: true });`,
  `install(reporter, server.server);`,
];

/** The compiler's errors in this program, and in the same program with a wrong option. */
async function errorsIn(lines: readonly string[]): Promise<string[]> {
  const wrong = lines.map((line) => line.replaceAll('(reporter', '(42'));
  for (const [file, text] of Object.entries({ 'use.mts': lines, 'misuse.mts': wrong }))
    writeFileSync(join(project.folder, file), [...REPORTER, ...text].join('\n'));
  const compilerOptions = {
    ...{ target: 'es2024', module: 'nodenext', strict: true, exactOptionalPropertyTypes: true },
    ...{ noEmit: true, skipLibCheck: true, types: ['node'] },
  };
  writeFileSync(
    join(project.folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['use.mts', 'misuse.mts'] }),
  );
  const { stdout } = await run(process.execPath, [COMPILER, '-p', '.', '--pretty', 'false'], {
    cwd: project.folder,
    env: {},
  }).catch((error: unknown) => error as { stdout: string });
  return stdout.split('\n').filter((line) => line.includes('error TS'));
}

async function expectToFit(lines: readonly string[]): Promise<void> {
  const errors = await errorsIn(lines);
  expect(errors.filter((line) => !line.startsWith('misuse.mts'))).toEqual([]);
  // The compiler has read the types: the misuse is an error.
  expect(errors.length).toBeGreaterThan(0);
}

test('the integration for MCP fits the types of the SDK', async () => {
  linkPackages(project, ['@types/node', '@modelcontextprotocol/sdk', 'zod']);
  await expectToFit(MCP);
});

const reason = whyNoPackages('node', process.env['SOAK'] === '1');
describe('with the packages of the frameworks', () => {
  if (reason !== undefined) {
    test.skip(reason, () => undefined);
    return;
  }
  beforeAll(() => {
    const packages = join(folderOf('node'), 'node_modules');
    const names = [
      'ai',
      '@ai-sdk/openai',
      ...['ai-6', 'ai-6-openai', 'ai-5', 'ai-5-openai'],
      '@mastra/core',
      '@openai/agents',
      '@langchain/openai',
      'langchain',
    ];
    for (const name of names) {
      const link = join(project.folder, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(packages, name), link);
    }
  });
  test.each(Object.entries(PROGRAMS))(
    'the integration for %s fits the types of the framework',
    (_name, lines) => expectToFit(lines),
  );
});
