import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { startLlmEndpoint, type LlmEndpoint } from '../../testing/sidecar/llm-endpoint.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { writeTree } from '../generate/write-tree.ts';
import type { Rendered } from '../rendered.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, names, read, run, write } = commandFolder();

beforeEach(() => write('agent.yaml', manifestText()));

const filesIn = (directory: string): string[] =>
  readdirSync(at(directory), { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(at(`${directory}/${name}`)).isFile())
    .sort();

const platform = (args: string, env: Record<string, string> = {}): Promise<Rendered> => run(args, { env });

const K8S = [
  'k8s/deployment.yaml',
  'k8s/service.yaml',
  'k8s/configmap.yaml',
  'k8s/manifest-configmap.yaml',
  'k8s/secret.yaml.example',
];

describe('platform generate --deploy', () => {
  test('k8s writes to ./generated and prints the next steps', async () => {
    expect(await platform('generate agent.yaml --deploy k8s')).toEqual({
      output: [
        ...K8S.map((path) => `wrote generated/${path}`),
        'next: set the images in generated/k8s/deployment.yaml',
        'next: copy generated/k8s/secret.yaml.example to generated/k8s/secret.yaml and set the values',
        'next: kubectl apply -f generated/k8s',
        '',
      ].join('\n'),
      errors: '',
      exitCode: 0,
    });
    expect(filesIn('generated')).toEqual([...K8S].sort());
    expect(names()).toEqual(['agent.yaml', 'generated']);
    expect(read('generated/k8s/deployment.yaml')).toContain(
      '          image: agent-compliance/sidecar:0.0.0-source\n',
    );
  });

  test('helm writes a chart to --output', async () => {
    const { output, exitCode } = await platform('generate agent.yaml --deploy helm --output deep/er');
    expect(exitCode).toBe(0);
    expect(output).toContain('wrote deep/er/helm/Chart.yaml\n');
    expect(output).toContain('next: helm install minimal deep/er/helm --set image.repository=');
    expect(filesIn('deep/er/helm')).toEqual(
      expect.arrayContaining(['Chart.yaml', 'README.md', 'templates/_helpers.tpl', 'values.yaml']),
    );
  });

  test('--dry-run prints every file with its content and writes nothing', async () => {
    const { output, errors, exitCode } = await platform('generate agent.yaml --deploy k8s --push --dry-run');
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
    expect(names()).toEqual(['agent.yaml']);
    await platform('generate agent.yaml --deploy k8s --push');
    const contents = [...K8S, '.env.platform'].map(
      (path) => `==> generated/${path} <==\n${read(`generated/${path}`)}`,
    );
    expect(output).toBe(contents.join('\n'));
  });
});

describe('platform generate --push', () => {
  test('writes .env.platform with placeholders', async () => {
    expect(await platform('generate agent.yaml --push')).toEqual({
      output: 'wrote generated/.env.platform\n',
      errors: '',
      exitCode: 0,
    });
    const lines = read('generated/.env.platform').split('\n');
    expect(lines.filter((line) => !line.startsWith('#'))).toEqual([
      'PLATFORM_URL=<PLATFORM_URL>',
      'PLATFORM_KEY=<PLATFORM_KEY>',
      '',
    ]);
  });

  test('with --deploy, the sidecar reads the values from a Secret', async () => {
    const { output } = await platform('generate agent.yaml --deploy k8s --push');
    expect(output).toContain(
      'next: kubectl create secret generic minimal-platform --from-env-file=generated/.env.platform,',
    );
    expect(read('generated/k8s/deployment.yaml')).toContain('name: minimal-platform\n');
  });

  test.each(['', ' --force'])('keeps an existing file, which may contain a key%s', async (option) => {
    write('generated/.env.platform', 'PLATFORM_KEY=mine\n');
    expect(await platform(`generate agent.yaml --push${option}`)).toEqual({
      output: './generated is up to date\n',
      errors: 'note: generated/.env.platform exists and was kept\n',
      exitCode: 0,
    });
    expect(read('generated/.env.platform')).toBe('PLATFORM_KEY=mine\n');
  });
});

describe('existing files', () => {
  beforeEach(async () => {
    await platform('generate agent.yaml --deploy k8s');
  });

  test('with the same content are not written again', async () => {
    const before = statSync(at('generated/k8s/deployment.yaml')).ino;
    const { output, exitCode } = await platform('generate agent.yaml --deploy k8s');
    expect([output.split('\n')[0], exitCode]).toEqual(['./generated is up to date', 0]);
    expect(statSync(at('generated/k8s/deployment.yaml')).ino).toBe(before);
  });

  test('with other content are an error, and nothing is written', async () => {
    write('generated/k8s/deployment.yaml', 'mine');
    rmSync(at('generated/k8s/service.yaml'));
    expect(await platform('generate agent.yaml --deploy k8s')).toEqual({
      output: '',
      errors:
        'error: generated/k8s/deployment.yaml has other content; pass --force to replace it\nerror: nothing was written\n',
      exitCode: 1,
    });
    expect(read('generated/k8s/deployment.yaml')).toBe('mine');
    expect(existsSync(at('generated/k8s/service.yaml'))).toBe(false);
  });

  test('are replaced with --force, and files of the user stay', async () => {
    write('generated/k8s/deployment.yaml', 'mine');
    write('generated/k8s/secret.yaml', 'key');
    const { output } = await platform('generate agent.yaml --deploy k8s --force');
    expect(output.split('\n')[0]).toBe('wrote generated/k8s/deployment.yaml');
    expect(read('generated/k8s/deployment.yaml')).toContain('kind: Deployment');
    expect(read('generated/k8s/secret.yaml')).toBe('key');
  });

  test('a second target is written next to the first', async () => {
    expect(await platform('generate agent.yaml --deploy helm')).toMatchObject({ errors: '', exitCode: 0 });
    expect(names('generated')).toEqual(['helm', 'k8s']);
  });
});

describe('a project', () => {
  let endpoint: LlmEndpoint;
  beforeEach(async () => {
    const tools = [{ name: 'search', body: 'return text' }];
    endpoint = await startLlmEndpoint(JSON.stringify({ systemPrompt: 'Of a model.', tools }));
    mkdirSync(at('prompts'));
    write(
      'agent.yaml',
      manifestText('  tools: [{ name: search }]\n  prompts: { system: $file:prompts/system.md }\n'),
    );
  });
  afterEach(() => endpoint.close());

  const generate = (options = '') =>
    platform(`generate agent.yaml --framework langgraph${options}`, endpoint.env);

  test('has the prompt of the user, also in the folder of the manifest', async () => {
    write('prompts/system.md', 'Mine.');
    for (const output of ['generated', '.']) {
      expect(await generate(` --force --output ${output}`)).toMatchObject({ exitCode: 0 });
      expect([read(`${output}/prompts/system.md`), read('prompts/system.md')]).toEqual(['Mine.', 'Mine.']);
    }
  });

  test('keeps an edited prompt of a model', async () => {
    await generate();
    expect(read('generated/prompts/system.md')).toBe('Of a model.\n');
    write('generated/prompts/system.md', 'Edited.');
    const { errors, exitCode } = await generate(' --force');
    expect([errors, exitCode]).toEqual([
      expect.stringContaining('note: generated/prompts/system.md exists and was kept\n'),
      0,
    ]);
    expect(read('generated/prompts/system.md')).toBe('Edited.');
  });

  test('is compared with the existing files before a model is asked', async () => {
    await generate();
    write('generated/main.py', 'mine');
    expect(await generate()).toEqual({
      output: '',
      errors: ['README.md', 'main.py', 'app/tools/search.py']
        .map((path) => `error: generated/${path} exists; pass --force to replace it\n`)
        .join('')
        .concat('error: nothing was written\n'),
      exitCode: 1,
    });
    expect(endpoint.requests).toHaveLength(1);
  });

  test.each([
    [
      'a link out of the folder',
      () => symlinkSync('/etc/hostname', at('prompts/system.md')),
      'it is outside the folder of the manifest',
    ],
    [
      'a large file',
      () => write('prompts/system.md', 'x'.repeat(1024 * 1024 + 1)),
      'it is larger than 1 MiB',
    ],
    ['a directory', () => mkdirSync(at('prompts/system.md')), 'it is not a file'],
    ['other bytes', () => write('prompts/system.md', Buffer.of(255)), 'it is not a UTF-8 text file'],
  ])('is not generated with a prompt that is %s', async (_name, prepare, reason) => {
    prepare();
    const errors = `error: cannot read the prompt file prompts/system.md: ${reason}\n`;
    expect(await generate()).toEqual({ output: '', errors, exitCode: 1 });
    expect([endpoint.requests, existsSync(at('generated'))]).toEqual([[], false]);
  });
});

test('--dry-run names the files that a run would refuse to replace', async () => {
  await platform('generate agent.yaml --deploy k8s');
  write('generated/k8s/service.yaml', 'mine');
  const before = 'note: generated/k8s/service.yaml has other content; ';
  expect(await platform('generate agent.yaml --deploy k8s --dry-run')).toMatchObject({
    errors: `${before}without --force, nothing would be written\n`,
    exitCode: 0,
  });
  expect((await platform('generate agent.yaml --deploy k8s --dry-run --force')).errors).toBe(
    `${before}it would be replaced\n`,
  );
});

test('--image is the image of the agent', async () => {
  const { output } = await platform('generate agent.yaml --deploy k8s --image r.example/a:1');
  expect(output).toContain('next: set the image of the sidecar in generated/k8s/deployment.yaml\n');
  expect(read('generated/k8s/deployment.yaml')).toContain('image: r.example/a:1\n');
});

test.each([
  ['', ['k8s']],
  [' --dry-run', null],
])('the deployment files need no provider%s', async (option, written) => {
  const given = await platform(`generate agent.yaml --framework langgraph --deploy k8s${option}`);
  const { output, exitCode } = await platform(`generate agent.yaml --deploy k8s --output elsewhere${option}`);
  expect(given.output).toBe(output.replaceAll('elsewhere', 'generated'));
  expect(given.errors).toMatch(
    /^warning: the project for langgraph was not generated: no LLM provider is ready; set up one of these:\n {2}claude-/,
  );
  expect([given.exitCode, exitCode]).toEqual([0, 0]);
  expect(existsSync(at('generated')) ? names('generated') : null).toEqual(written);
});

describe('errors, with exit code 1 and nothing written', () => {
  test.each([
    ['', 'error: pass --framework for a project, or --deploy for deployment files\n'],
    ['--dry-run', 'error: pass --framework for a project, or --deploy for deployment files\n'],
    ['--deploy k8s --provider openai-api', 'error: --provider is only for --framework\n'],
    ['--push --image a', 'error: --image is only for --deploy\n'],
    ['--deploy k8s --image A', 'error: --image A is not a valid image name\n'],
    ['--deploy k8s --deploy helm', 'Give the option once, and generate each target by itself.'],
    ['--framework mastra --framework crewai', 'Give the option once, and generate each target by itself.'],
    ['--deploy docker', "argument 'docker' is invalid. Allowed choices are k8s, helm."],
    ['--framework rails', 'Allowed choices are langgraph, crewai, mastra, autogen.'],
    ['--framework langgraph --provider x', 'Allowed choices are claude-subscription, '],
    [
      '--deploy k8s --output agent.yaml',
      'error: cannot write agent.yaml: a parent path is not a directory\n',
    ],
    // Node's recursive mkdir never returns for /proc.
    ['--deploy k8s --output /proc/x', 'error: cannot write /proc/x: the directory cannot be created\n'],
    [
      '--deploy k8s --output taken',
      'error: cannot write taken: a directory has the name of a generated file\n',
    ],
  ])('generate agent.yaml %s', async (options, message) => {
    mkdirSync(at('taken/k8s/deployment.yaml'), { recursive: true });
    const { output, errors, exitCode } = await platform(`generate agent.yaml ${options}`.trimEnd());
    expect({ output, exitCode }).toEqual({ output: '', exitCode: 1 });
    expect(errors).toContain(message);
    expect(names()).toEqual(['agent.yaml', 'taken']);
  });

  test('an invalid manifest', async () => {
    write('agent.yaml', manifestText('  tols: []\n'));
    expect(await platform('generate agent.yaml --deploy k8s')).toEqual({
      output: '',
      errors: 'error: agent.yaml:12:3 spec.tols: unknown key "tols" (did you mean "tools"?)\n',
      exitCode: 1,
    });
  });

  test('a project without a provider', async () => {
    const { output, errors, exitCode } = await platform('generate agent.yaml --framework langgraph');
    expect({ output, exitCode }).toEqual({ output: '', exitCode: 1 });
    expect(errors).toMatch(/^error: [^]*ANTHROPIC_API_KEY/);
    expect(names()).toEqual(['agent.yaml']);
  });

  test('an agent on a port of the sidecar', async () => {
    write('agent.yaml', manifestText('  api: { port: 4001 }\n'));
    expect(await platform('generate agent.yaml --deploy helm')).toEqual({
      output: '',
      errors: 'error: spec.api.port: 4001 is reserved for the sidecar (4000, 4001); use another port\n',
      exitCode: 1,
    });
    expect(names()).toEqual(['agent.yaml']);
  });
});

describe('the writer of generated files', () => {
  test.each(['new', '.'])(
    'makes files for secrets readable by their owner only, in %s',
    async (directory) => {
      const files = [{ path: 'a/secret', content: 'x', isSecret: true as const }];
      expect(await writeTree(files, at(directory), false)).toMatchObject({ ok: true });
      expect(statSync(at(`${directory}/a/secret`)).mode & 0o777).toBe(0o600);
    },
  );

  test.each(['../outside', '/outside', 'a/../../outside'])('refuses the path %s', async (path) => {
    expect(await writeTree([{ path, content: '' }], at('new'), false)).toEqual({
      ok: false,
      reason: `the generated path ${path} is outside the output directory`,
    });
    expect(names()).toEqual(['agent.yaml']);
  });

  test('leaves nothing behind if one file cannot be written', async () => {
    const files = [
      { path: 'a', content: '' },
      { path: 'a/b', content: '' },
    ];
    expect(await writeTree(files, at('new'), false)).toMatchObject({ ok: false });
    expect(names()).toEqual(['agent.yaml']);
  });
});
