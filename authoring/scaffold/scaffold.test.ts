import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc, { anyCharacter, runs } from '../../testing/random/properties.ts';
import { FULL_MANIFEST, manifestText } from '../../testing/manifests/manifest-text.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { NO_CODE, type WrittenCode } from './written-code.ts';
import { FRAMEWORK_PROJECTS, TYPESCRIPT_TOOLS } from './framework-projects.ts';
import { FRAMEWORKS, type Framework } from './frameworks.ts';
import { javascriptVariables } from './javascript-body.ts';
import { needsSystemPrompt } from './prompt-files.ts';
import { projectOf } from './project.ts';
import { TEMPLATES } from './templates.generated.ts';
import { toolEntries } from './tool-entries.ts';

const MATRIX = join(import.meta.dirname, '../../testing/frameworks/packages');
const ROOT = join(import.meta.dirname, '../..');

function parsed(text: string): Manifest {
  const result = parseManifest(text);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.manifest;
}

interface Made {
  files: Map<string, string>;
  notes: string[];
}

function made(framework: Framework, manifest: Manifest, written: WrittenCode = NO_CODE): Made {
  const manifestText = JSON.stringify(manifest);
  const { files, notes } = projectOf({ manifest, manifestText, framework, written, version: '1.2.3' });
  return { files: new Map(files.map(({ path, content }) => [path, content])), notes };
}

const written = (bodies: Record<string, string>, systemPrompt = 'You help.'): WrittenCode => ({
  systemPrompt,
  bodies: new Map(Object.entries(bodies)),
  invalid: 0,
});

const MINIMAL = parsed(manifestText());
const withTools = (...names: string[]): Manifest => ({
  ...MINIMAL,
  spec: { ...MINIMAL.spec, tools: names.map((name) => ({ name })) },
});

const PYTHON_FILES = [
  ...[
    '.dockerignore',
    '.gitignore',
    'Dockerfile',
    'README.md',
    'agent.yaml',
    'app/__init__.py',
    'app/conversation.py',
  ],
  ...[
    'app/framework.py',
    'app/guardrails.py',
    'app/manifest.py',
    'app/personal_fields.json',
    'app/server.py',
    'app/settings.py',
  ],
  ...['app/tools/__init__.py', 'app/tools/search.py', 'app/tools/tools.json', 'main.py'],
  ...['platform_reporter/__init__.py', 'platform_reporter/behavior.py', 'platform_reporter/checks.py'],
  ...['platform_reporter/model_api.py', 'platform_reporter/references.py', 'platform_reporter/reporter.py'],
  ...['platform_reporter/tables.json', 'prompts/system.md', 'requirements.txt', 'tests/__init__.py'],
  'tests/test_agent.py',
];
const MASTRA_FILES = [
  ...[
    '.dockerignore',
    '.gitignore',
    'Dockerfile',
    'README.md',
    'agent.yaml',
    'package.json',
    'prompts/system.md',
  ],
  ...['src/agent.ts', 'src/conversation.ts', 'src/guardrails.ts', 'src/main.ts', 'src/manifest.ts'],
  ...[
    'src/model-api.json',
    'src/personal-fields.json',
    'src/reporter.ts',
    'src/server.ts',
    'src/settings.ts',
    'src/tools/index.ts',
  ],
  ...[
    'src/tools/search.ts',
    'src/tools/tools.json',
    'src/tools/worker.ts',
    'test/agent.test.ts',
    'tsconfig.json',
  ],
];

describe('the project of each framework', () => {
  test.each(FRAMEWORKS)('%s has all files and the code of the model', (framework) => {
    const body = 'return text';
    const { files, notes } = made(framework, withTools('search'), written({ search: body }));
    const isPython = FRAMEWORK_PROJECTS[framework].language === 'python';
    expect([...files.keys()].toSorted()).toEqual(isPython ? PYTHON_FILES : MASTRA_FILES);
    const folder = isPython ? 'app/tools' : 'src/tools';
    expect(notes).toEqual([
      `a model wrote the code of 1 of 1 tools in ${folder}: review it before you start the agent`,
    ]);
    expect(files.get(isPython ? 'app/tools/search.py' : 'src/tools/search.ts')).toContain(`  ${body}\n`);
    expect(files.get('prompts/system.md')).toBe('You help.\n');
    expect(files.get('agent.yaml')).toBe(JSON.stringify(withTools('search')));
  });

  test.each(FRAMEWORKS)(
    '%s has a stub for each tool and a default prompt without code of a model',
    (framework) => {
      const { files, notes } = made(framework, withTools('search'));
      const isPython = FRAMEWORK_PROJECTS[framework].language === 'python';
      const path = isPython ? 'app/tools/search.py' : 'src/tools/search.ts';
      expect(files.get(path)).toContain(
        isPython ? 'raise NotImplementedError' : "throw new Error('not implemented')",
      );
      expect(notes).toEqual([
        'prompts/system.md is a default text: the model wrote no system prompt',
        `${path} is a stub for the tool "search": the model wrote no code`,
      ]);
      expect(files.get('prompts/system.md')).toContain('You are minimal. The least that is a manifest.');
    },
  );

  test('uses every template', () => {
    const paths = FRAMEWORKS.flatMap((framework) => [...made(framework, MINIMAL).files.values()]);
    for (const [name, content] of Object.entries(TEMPLATES))
      expect([name, paths.includes(content)]).toEqual([name, true]);
  });
});

describe('the packages', () => {
  test('have the versions that the framework matrix tests', () => {
    const python = new Map<string, string>();
    for (const [, name = '', version = ''] of readFileSync(join(MATRIX, 'requirements.txt'), 'utf8').matchAll(
      /^([\w.-]+)==([^\s\\]+)/gm,
    ))
      python.set(name, version);
    const { dependencies } = JSON.parse(readFileSync(join(MATRIX, 'package.json'), 'utf8')) as Dependencies;
    const typescript = new Map([...Object.entries(dependencies), ['yaml', versionOf('yaml')]]);
    const versions = { python, typescript };
    for (const { packages, language } of Object.values(FRAMEWORK_PROJECTS))
      for (const [name, version] of Object.entries(packages))
        expect([name, versions[language].get(name.toLowerCase().replace(/\[.*/, ''))]).toEqual([
          name,
          version,
        ]);
    for (const [name, version] of Object.entries(TYPESCRIPT_TOOLS))
      expect([name, versionOf(name)]).toEqual([name, version]);
  });

  interface Dependencies {
    dependencies: Record<string, string>;
  }
  const versionOf = (name: string): string =>
    (
      JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as {
        version: string;
      }
    ).version;

  test('are in requirements.txt and package.json', () => {
    expect(made('autogen', MINIMAL).files.get('requirements.txt')).toBe(
      'autogen-agentchat==0.7.5\nautogen-ext[openai]==0.7.5\nPyYAML==6.0.3\nstarlette==1.10.0\nuvicorn==0.54.0\n',
    );
    expect(JSON.parse(made('mastra', MINIMAL).files.get('package.json') ?? '')).toMatchObject({
      name: 'minimal',
      version: '1.0.0',
      dependencies: { 'agent-compliance': '1.2.3', '@mastra/core': '1.71.0' },
    });
  });

  test('a version that is a reference is not the version of the npm package', () => {
    const manifest = { ...MINIMAL, metadata: { ...MINIMAL.metadata, version: '$env:VERSION' } };
    expect(JSON.parse(made('mastra', manifest).files.get('package.json') ?? '')).toMatchObject({
      version: '0.0.0',
    });
  });
});

/** Files whose content may depend on texts of the manifest. */
const DATA = /^(?:agent\.yaml|README\.md|package\.json|.*\/tools\.json|src\/model-api\.json|prompts\/.*)$/;

test('no text of a manifest is in code', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter(), minLength: 1 }),
    fc.constantFrom(
      '"""',
      "'''",
      '*/',
      '`${1}`',
      "'; import os #",
      '\n\nimport os\n',
      '{{x}}',
      '\\',
      '../../x',
      '__init__',
    ),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...FRAMEWORKS),
      fc.record({ name: text, description: text, model: text, message: text, path: text }),
      fc.uniqueArray(text, { minLength: 1, maxLength: 5 }),
      (framework, { description, model, message, path }, names) => {
        const tools = names.map((name) => ({ name, description, module: path, function: name }));
        const manifest: Manifest = {
          ...MINIMAL,
          metadata: { ...MINIMAL.metadata, description, author: path },
          spec: {
            model: { provider: model, id: model, apiKey: message },
            prompts: { system: message, fallback: description },
            tools,
            guardrails: { input: [{ type: 'topic-filter', message, blockedTopics: [path] }] },
            api: { chatEndpoint: { path: `/${path}` } },
          },
        };
        const plain = made(framework, withTools(...names.map((_, index) => `t${index}`)));
        const { files } = made(framework, manifest);
        const code = (from: Made['files']) =>
          [...from].filter(([name]) => !DATA.test(name)).map(([, content]) => content);
        expect(code(files).toSorted()).toEqual(code(plain.files).toSorted());
        for (const name of files.keys()) expect(name).toMatch(/^[\w./-]+$/);
      },
    ),
    { numRuns: runs(300) },
  );
});

describe('the names of a tool', () => {
  test.each([
    ['search', 'search', 'search'],
    ['search-flights', 'search-flights', 'search_flights'],
    ['searchWeb', 'searchWeb', 'search_web'],
    ['Löschen: alles', 'l_schen_alles', 'l_schen_alles'],
    ['поиск', 'tool', 'tool'],
    ['3d', '3d', 'tool_3d'],
    ['test_order', 'test_order', 'tool_test_order'],
    ['__init__', '__init__', 'init'],
    ['../../etc/passwd', 'etc_passwd', 'etc_passwd'],
    ['NUL', 'NUL', 'tool_nul'],
    ['index', 'index', 'tool_index'],
  ])('%j is called %j and is in the file %j', (name, callName, module) => {
    expect(toolEntries([{ name }])).toEqual([{ name, callName, module }]);
  });

  test('are unique', () => {
    expect(toolEntries(['a b', 'a_b', 'a-b', 'A B'].map((name) => ({ name })))).toEqual([
      { name: 'a b', callName: 'a_b_2', module: 'a_b' },
      { name: 'a_b', callName: 'a_b', module: 'a_b_2' },
      { name: 'a-b', callName: 'a-b', module: 'a_b_3' },
      { name: 'A B', callName: 'a_b_4', module: 'a_b_4' },
    ]);
  });

  test('are safe for every name', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: anyCharacter(), minLength: 1 })), (names) => {
        const entries = toolEntries(names.map((name) => ({ name })));
        for (const { callName, module } of entries) {
          expect(callName).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(module).toMatch(/^[a-z][a-z0-9_]{0,48}$/);
        }
        for (const member of ['callName', 'module'] as const)
          expect(new Set(entries.map((entry) => entry[member])).size).toBe(names.length);
      }),
    );
  });
});

describe('the system prompt', () => {
  const withPrompt = (system: string): Manifest => ({
    ...MINIMAL,
    spec: { ...MINIMAL.spec, prompts: { system } },
  });

  test.each([
    ['$file:prompts/orders.md', 'prompts/orders.md'],
    ['$file:./texts/a prompt.txt', 'texts/a prompt.txt'],
  ])('%s is a file of the project', (system, path) => {
    const { files, notes } = made('langgraph', withPrompt(system), written({}));
    expect([files.get(path), files.has('prompts/system.md'), notes]).toEqual(['You help.\n', false, []]);
  });

  test.each([
    ...[
      'main.py',
      'MAIN.py',
      'app',
      'app/server.py/x',
      '.env',
      'a/../main.py',
      'a\\b',
      'k8s/deployment.yaml',
      'con',
    ],
    ...['helm', 'a:b', 'prompts/', '1/2/3/4/5/6/7/8/9'],
  ])('a file %j is left to the developer', (path) => {
    const plain = made('langgraph', MINIMAL);
    const { files, notes } = made('langgraph', withPrompt(`$file:${path}`), written({}));
    expect(files.size).toBe(plain.files.size - 1);
    expect(files.get('main.py')).toBe(plain.files.get('main.py'));
    expect(notes).toEqual([expect.stringMatching(/^add the system prompt ".*" to the project$/)]);
  });

  test('and other prompts that the user has are copied unchanged', () => {
    const prompts = {
      system: '$file:./a.md',
      fallback: '$file:b.md',
      variables: [{ name: 'x', value: '$file:c.md' }],
    };
    const manifest = { ...MINIMAL, spec: { ...MINIMAL.spec, prompts } };
    const texts = new Map([
      ['./a.md', '\ufeffMine\r\n '],
      ['b.md', ''],
    ]);
    const { files, notes } = projectOf({
      ...{ manifest, manifestText: '', framework: 'mastra', written: written({}), version: '1.2.3', texts },
    });
    const found = files.filter(({ path }) => path.endsWith('.md') && path !== 'README.md');
    expect(found).toEqual([
      { path: 'a.md', content: '\ufeffMine\r\n ' },
      { path: 'b.md', content: '' },
    ]);
    expect(notes).toEqual([
      'add the prompt file "c.md" to the project: it is not in the folder of the manifest',
    ]);
    expect([needsSystemPrompt(manifest, texts), needsSystemPrompt(manifest, new Map())]).toEqual([
      false,
      true,
    ]);
  });

  test.each(['You sell.', '$env:PROMPT', '$secret:prompt'])('%s needs no file', (system) => {
    const { files, notes } = made('mastra', withPrompt(system), written({}));
    expect([files.has('prompts/system.md'), notes]).toEqual([false, []]);
  });

  test('has no control characters and at most 20,000 characters', () => {
    const { files } = made('langgraph', MINIMAL, written({}, `a\u0000b\u202ec\r\n${'x'.repeat(30_000)}`));
    const text = files.get('prompts/system.md') ?? '';
    expect([text.slice(0, 5), text.length]).toEqual(['abc\nx', 20_001]);
  });
});

test('the README lists variables and the declared parts that are not generated', () => {
  const readme = made('mastra', parsed(FULL_MANIFEST)).files.get('README.md') ?? '';
  for (const name of ['ANTHROPIC_API_KEY', 'REDIS_URL', 'DATABASE_URL', 'OPENAI_BASE_URL'])
    expect(readme).toContain(`- \`${name}\``);
  for (const path of [
    'spec.model.fallback',
    'spec.mcp.servers',
    'spec.memory',
    'spec.api.auth',
    'spec.subagents',
  ])
    expect(readme).toContain(`- \`${path}\``);
  expect(made('mastra', MINIMAL).files.get('README.md')).not.toContain('Not generated');
});

const modelled = (model: object): Manifest => ({
  ...MINIMAL,
  spec: { ...MINIMAL.spec, model: { ...MINIMAL.spec.model, ...model } },
});
const readmeLines = (manifest: Manifest, code?: WrittenCode): string[] =>
  (made('langgraph', manifest, code).files.get('README.md') ?? '').split('\n');

test('the README lists the variables of secrets and of tools', () => {
  const manifest = { ...modelled({ apiKey: '$secret:k' }) };
  manifest.spec = { ...manifest.spec, tools: [{ name: 'search' }] };
  const body = 'import os\nreturn os.environ["A"] + os.environ.get(\'B\', "") + os.getenv("C")';
  expect(readmeLines(manifest, written({ search: body }))).toEqual(
    expect.arrayContaining([
      '- `PLATFORM_SECRET_K`: a secret',
      '- `PLATFORM_SECRET_DIR`: a directory with one file per secret, instead of the variables of the secrets (optional)',
      ...['A', 'B', 'C'].map((name) => `- \`${name}\`: read by a tool that a model wrote`),
    ]),
  );
  expect(javascriptVariables('process.env.A; process.env["B"]; process.env?.C; env.D')).toEqual([
    'A',
    'B',
    'C',
  ]);
});

test.each([
  ['openai', "- `OPENAI_BASE_URL`: another address of the model's API (optional)"],
  ['foo', "- `FOO_BASE_URL`: the address of the model's API (required)"],
  ['cohere', "- `COHERE_BASE_URL`: the address of the model's API (required)"],
])('the README names the address of %s', (provider, line) => {
  expect(readmeLines(modelled({ provider }))).toContain(line);
});

test('the README names the declared fields without a pattern', () => {
  const fields = ['Credit-Card', 'passport', '`x`'];
  const guardrails = { input: [{ type: 'pii-detector' as const, fields }] };
  const manifest = { ...MINIMAL, spec: { ...MINIMAL.spec, guardrails } };
  expect(readmeLines(manifest)).toContain(
    '  `pii-detector` has no pattern for these declared fields: `passport`, 1 with other characters.',
  );
});

test.each([
  ['openai', { variable: 'OPENAI_BASE_URL', baseUrl: 'https://api.openai.com/v1', path: '' }],
  ['gemini', { variable: 'GOOGLE_BASE_URL', path: '/v1beta/openai' }],
  ['azure', { variable: 'AZURE_OPENAI_ENDPOINT', baseUrl: null, path: '/openai/v1' }],
  ['cohere', { variable: 'COHERE_BASE_URL', path: null }],
  ['my gateway', { variable: 'MY_GATEWAY_BASE_URL', baseUrl: null, path: '' }],
])('a project in TypeScript has the address of %s', (provider, expected) => {
  const manifest = { ...MINIMAL, spec: { model: { ...MINIMAL.spec.model, provider } } };
  expect(JSON.parse(made('mastra', manifest).files.get('src/model-api.json') ?? '')).toMatchObject(expected);
});
