import { describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync } from 'node:fs';
import { FULL_MANIFEST, manifestText } from '../testing/manifests/manifest-text.ts';
import { MANIFEST_SCHEMA } from '../core/manifest/schema.ts';
import type { HealthReport } from '../core/shapes/health.ts';
import type { Ask } from './context.ts';
import { COMMAND_NAMES, commandPaths } from './program.ts';
import type { Rendered } from './rendered.ts';
import { commandFolder } from '../testing/cli/command-folder.ts';
import { TestServers } from '../testing/http/sockets.ts';

const { at, read, run, write } = commandFolder();

describe('platform', () => {
  test.each(['', '--help', 'help'])('"%s" lists every command and exits with 0', async (args) => {
    const { output, errors, exitCode } = await run(args);
    for (const command of COMMAND_NAMES) expect(output).toContain(`  ${command} `);
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  });

  test('--help has the commands in groups, run first, with an example', async () => {
    const { output } = await run('--help');
    const groups = [...output.matchAll(/^(\S.*:)\n((?: {2,}.*\n)+)/gm)].map(([, heading, lines = '']) => [
      heading,
      [...lines.matchAll(/^ {2}([a-z][\w-]*) /gm)].map(([, name]) => name).join(' '),
    ]);
    expect(groups.slice(1, -1)).toEqual([
      ['Observe and limit the calls of an agent:', 'run observe generate-egress'],
      ['Write a first manifest:', 'init scan'],
      ['Check a manifest:', 'validate audit diff generate-policy'],
      ['Check a running agent:', 'gap health evaluate evidence proof'],
      ['Stop a running agent:', 'stop resume'],
      ['Read the record of an agent:', 'audit-log'],
      ['Convert a manifest, or generate files:', 'migrate export generate provider-status'],
      ['Change workloads, or check a cluster:', 'inject uninject register check uninstall'],
      ['Use it in an editor, an assistant or a shell:', 'mcp completion help'],
    ]);
    expect(output).toContain('Examples:\n  $ platform run -- python main.py\n');
  });

  test.each(COMMAND_NAMES)('%s --help has examples and exit codes', async (command) => {
    const { output, exitCode } = await run(`${command} --help`);
    expect(output).toMatch(
      new RegExp(`Usage: platform ${command}[^]*Examples:\n  \\$ platform ${command}[^]*Exit codes: 0`),
    );
    expect(exitCode).toBe(0);
    expect(await run(`help ${command}`)).toEqual({ output, errors: '', exitCode: 0 });
  });

  test('every subcommand has examples and exit codes in its help', async () => {
    const context = { env: {}, cwd: at(), now: () => new Date(0), color: false, ask: null };
    const subcommands = (await commandPaths(context)).filter((path) => path.includes(' '));
    expect(subcommands).toContain('audit-log verify');
    for (const path of subcommands)
      expect((await run(`${path} --help`)).output).toMatch(
        new RegExp(`Usage: platform ${path}[^]*Examples:\n  \\$ platform ${path}[^]*Exit codes: 0`),
      );
    expect((await run('audit-log verify')).errors).toBe(
      "error: missing required argument 'files'\n(run platform audit-log verify --help for usage)\n",
    );
  });

  test('--version prints only the version', async () => {
    expect(await run('--version')).toEqual({ output: '0.0.0-source\n', errors: '', exitCode: 0 });
  });

  test.each([
    ['validat agent.yaml', "error: unknown command 'validat'\n(Did you mean validate?)"],
    ['banana', "error: unknown command 'banana'"],
    ['help validat', "error: unknown command 'validat'\n(Did you mean validate?)"],
    [
      'completion powershell',
      "error: command-argument value 'powershell' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.",
    ],
    ['diff', "error: missing required argument 'from'"],
    ['validate a b', "error: too many arguments for 'validate'. Expected 1 argument but got 2: a, b."],
    ['validate a --jsn', "error: unknown option '--jsn'\n(Did you mean --json?)"],
    [
      'health a --fail-on all',
      "error: option '--fail-on <severity>' argument 'all' is invalid. Allowed choices are error, warning, info.",
    ],
    [
      'health a --format xml',
      "error: option '--format <format>' argument 'xml' is invalid. Allowed choices are text, json.",
    ],
  ])('rejects the command line %s: %s', async (args, message) => {
    const command = /^(?:validate|health|diff|completion)(?= |$)/.exec(args)?.[0];
    const advice =
      command === undefined
        ? 'run platform --help for a list of commands'
        : `run platform ${command} --help for usage`;
    expect(await run(args)).toEqual({
      output: '',
      errors: `${message}\n(${advice})\n`,
      exitCode: 1,
    });
  });

  test.each([
    [['validate', ''], "command-argument value '' is invalid for argument 'file'. Must not be empty."],
    [['init', ''], "command-argument value '' is invalid for argument 'dir'. Must not be empty."],
    [
      ['inject', 'a.yaml', ''],
      "command-argument value '' is invalid for argument 'paths'. Must not be empty.",
    ],
    [['audit', 'a', '--output', ''], "option '--output <file>' argument '' is invalid. Must not be empty."],
    [
      ['generate-policy', 'a', '--out', ''],
      "option '--out <dir>' argument '' is invalid. Must not be empty.",
    ],
    [
      ['register', 'a', '--out-file='],
      "option '--out-file <file>' argument '' is invalid. Must not be empty.",
    ],
  ])('rejects empty values, such as from an unset shell variable: %j', async (words, message) => {
    const { output, errors, exitCode } = await run(words);
    expect([output, errors.split('\n')[0], exitCode]).toEqual(['', `error: ${message}`, 1]);
  });

  test('a usage error with --json prints JSON', async () => {
    const { output, errors, exitCode } = await run('diff --json');
    expect(JSON.parse(output)).toEqual({ error: "missing required argument 'from'" });
    expect(errors).toContain('missing required argument');
    expect(exitCode).toBe(1);
  });
});

const BROKEN = `${manifestText('  tols: []\n')}x-owner: me\n`.replace('1.0.0', '1.0');

describe('platform validate', () => {
  test('reports a valid manifest', async () => {
    write('agent.yaml', manifestText());
    expect(await run('validate agent.yaml')).toEqual({
      output: 'agent.yaml is valid: minimal 1.0.0\n',
      errors: '',
      exitCode: 0,
    });
  });

  test('prints each problem on a line that starts with file, line and column', async () => {
    write('agent.yaml', BROKEN);
    expect(await run('validate agent.yaml')).toEqual({
      output:
        'agent.yaml:5:12 metadata.version: must be a semantic version such as 1.2.3; got the number 1.0 (did you mean "1.0.0"?)\n' +
        'agent.yaml:12:3 spec.tols: unknown key "tols" (did you mean "tools"?)\n',
      errors: 'error: agent.yaml is not valid: 2 problems\n',
      exitCode: 1,
    });
  });

  test('--json of a valid manifest', async () => {
    write('agent.yaml', FULL_MANIFEST);
    const { output, errors, exitCode } = await run('validate agent.yaml --json');
    expect(JSON.parse(output)).toEqual({
      valid: true,
      agentName: 'travel-planner',
      version: '2.3.0-rc.1+build.7',
      apiVersion: 'platform.io/v1',
      problems: [],
      warnings: [],
    });
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  });

  test('SARIF has the hint at the problem, with its YAML type, and nothing of one problem at the rule', async () => {
    write('agent.yaml', manifestText('  api: { port: "8000" }\n  tols: []\n'));
    const { output, exitCode } = await run('validate agent.yaml --format sarif');
    const { runs } = JSON.parse(output) as {
      runs: [{ tool: { driver: { rules: object[] } }; results: { message: { text: string } }[] }];
    };
    expect(runs[0].results.map(({ message }) => message.text)).toEqual([
      'spec.api.port: must be an integer from 1 to 65535; got "8000" (did you mean 8000?)',
      'spec.tols: unknown key "tols" (did you mean "tools"?)',
    ]);
    expect(runs[0].tool.driver.rules).toMatchObject([{ help: { text: 'The manifest is not valid.' } }]);
    expect(exitCode).toBe(1);
    const junit = await run('validate agent.yaml --format junit');
    for (const path of ['spec.api.port', 'spec.tols'])
      expect(junit.output).toContain(`<testcase name="manifest.invalid ${path}" classname="agent.yaml">`);
  });

  test('warns about a literal key, and exits with 0', async () => {
    write('agent.yaml', manifestText().replace(/apiKey: .*/, 'apiKey: sk-literal'));
    const { errors, exitCode } = await run('validate agent.yaml');
    expect(errors).toMatch(
      /^warning: agent\.yaml: spec\.model\.apiKey: a secret is written into the manifest;/,
    );
    expect(errors).not.toContain('sk-literal');
    expect(exitCode).toBe(0);
  });

  test('warns about a literal key next to any other problem', async () => {
    write('agent.yaml', manifestText('  tols: []\n').replace(/apiKey: .*/, 'apiKey: sk-literal'));
    const { output, errors, exitCode } = await run('validate agent.yaml');
    expect({ output, exitCode }).toEqual({
      output: 'agent.yaml:12:3 spec.tols: unknown key "tols" (did you mean "tools"?)\n',
      exitCode: 1,
    });
    expect(errors).toMatch(
      /^error: agent\.yaml is not valid: 1 problem\nwarning: agent\.yaml: spec\.model\.apiKey: a secret is written/,
    );
    expect(JSON.parse((await run('validate agent.yaml --json')).output)).toMatchObject({
      problems: [{ path: 'spec.tols' }],
      warnings: [{ path: 'spec.model.apiKey' }],
    });
    const { output: annotations } = await run('validate agent.yaml --format github');
    expect(annotations).toMatch(/^::error .*line=12.*\n::notice .*line=11,col=5.* a secret is written into/);
    write('agent.yaml', 'apiVersion: agentspec.io/v1\nspec: { model: { apiKey: sk-literal } }\n');
    expect((await run('validate agent.yaml')).errors).toContain('a secret is written into the manifest');
  });

  test('--strict makes warnings problems', async () => {
    write('agent.yaml', manifestText());
    expect(await run('validate agent.yaml --strict')).toEqual(await run('validate agent.yaml'));
    write('agent.yaml', manifestText().replace(/apiKey: .*/, 'apiKey: sk-literal'));
    const { output, errors, exitCode } = await run('validate agent.yaml --strict');
    expect(output).toMatch(/^agent\.yaml:11:5 spec\.model\.apiKey: a secret is written into the manifest;/);
    expect({ errors, exitCode }).toEqual({
      errors: 'error: agent.yaml is not valid: 1 problem\n',
      exitCode: 1,
    });
    expect(JSON.parse((await run('validate agent.yaml --strict --json')).output)).toMatchObject({
      valid: false,
      problems: [{ path: 'spec.model.apiKey', line: 11, column: 5 }],
    });
    expect(await run('validate agent.yaml --strict --format github')).toMatchObject({
      output: expect.stringMatching(
        /^::error file=agent\.yaml,line=11,col=5,title=manifest\.invalid::/,
      ) as unknown,
      exitCode: 1,
    });
  });

  test('warns about names that a plain header cannot contain and about a cost limit without a price', async () => {
    const tools = ['search', 'löschen', 'drop,all', 'x'.repeat(600)].map((name) => `    - name: "${name}"\n`);
    const text = manifestText(`  tools:\n${tools.join('')}`).replace(
      /(\n +)apiKey: .*/,
      '$&$1costControls: { maxMonthlyUSD: 10, usdPerMillionTokens: { input: 1 } }',
    );
    write('agent.yaml', text);
    const plain = await run('validate agent.yaml');
    expect(plain).toMatchObject({ output: 'agent.yaml is valid: minimal 1.0.0\n', exitCode: 0 });
    const lines = plain.errors.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe(
      'warning: agent.yaml: spec.tools[1].name: "löschen" cannot be sent unencoded in a header; the agent must percent-encode it in X-Platform-Tools-Called as "l%C3%B6schen" (the reporter does this)',
    );
    expect(lines[2]).toContain('has 600 characters; only the first 500 are compared');
    expect(lines[3]).toContain('spec.model.costControls.maxMonthlyUSD: declared, not checked');
    const { warnings } = JSON.parse((await run('validate agent.yaml --json')).output) as {
      warnings: { path: string }[];
    };
    expect(warnings.map(({ path }) => path)).toEqual([
      'spec.tools[1].name',
      'spec.tools[2].name',
      'spec.tools[3].name',
      'spec.model.costControls.maxMonthlyUSD',
    ]);
  });

  test('--json of an invalid manifest', async () => {
    write('agent.yaml', BROKEN);
    const { output, errors, exitCode } = await run('validate agent.yaml --json');
    expect(JSON.parse(output)).toEqual({
      valid: false,
      problems: [
        {
          path: 'metadata.version',
          message: 'must be a semantic version such as 1.2.3; got the number 1.0',
          file: 'agent.yaml',
          line: 5,
          column: 12,
          suggestion: '1.0.0',
        },
        {
          path: 'spec.tols',
          message: 'unknown key "tols"',
          file: 'agent.yaml',
          line: 12,
          column: 3,
          suggestion: 'tools',
        },
      ],
    });
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 1 });
  });

  test.each<[string, () => void, Rendered]>([
    ['missing', () => undefined, { output: '', errors: 'error: agent.yaml: does not exist\n', exitCode: 1 }],
    [
      'a directory',
      () => mkdirSync(at('agent.yaml')),
      { output: '', errors: 'error: agent.yaml: is a directory, not a file\n', exitCode: 1 },
    ],
    [
      'binary',
      () => write('agent.yaml', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1])),
      { output: '', errors: 'error: agent.yaml: is not a UTF-8 text file\n', exitCode: 1 },
    ],
    [
      'empty',
      () => write('agent.yaml', ''),
      {
        output: 'agent.yaml:1:1 file is empty; apiVersion, kind, metadata and spec are required\n',
        errors: 'error: agent.yaml is not valid: 1 problem\n',
        exitCode: 1,
      },
    ],
  ])('reports a file that is %s', async (_what, prepare, expected) => {
    prepare();
    expect(await run('validate agent.yaml')).toEqual(expected);
    const { output, exitCode } = await run('validate agent.yaml --json');
    expect(JSON.parse(output)).toMatchObject({ valid: false, problems: [{ file: 'agent.yaml', line: 1 }] });
    expect(exitCode).toBe(1);
  });

  test('--schema prints the JSON Schema without a file argument', async () => {
    const { output, exitCode } = await run('validate --schema');
    expect(JSON.parse(output)).toEqual(MANIFEST_SCHEMA);
    expect(exitCode).toBe(0);
  });
});

/** Answers questions in order. An empty answer selects the default; after the last answer the input ends. */
function answering(...answers: string[]): Ask {
  return async (_question, fallback) => {
    const answer = answers.shift();
    if (answer === undefined) throw new Error('the input ended');
    return answer || fallback;
  };
}

describe('platform init', () => {
  test.each(['init travel --yes', 'init travel'])(
    '%s writes a valid manifest without questions',
    async (args) => {
      expect(await run(args)).toEqual({
        output:
          'wrote travel/agent.yaml and travel/agent.schema.json\nnext: platform validate travel/agent.yaml, then platform health travel/agent.yaml\n',
        errors: '',
        exitCode: 0,
      });
      expect((await run('validate travel/agent.yaml')).output).toBe(
        'travel/agent.yaml is valid: travel 0.1.0\n',
      );
    },
  );

  test('the first line of the manifest names the schema next to it, for editors', async () => {
    await run('init travel --yes');
    expect(read('travel/agent.yaml').split('\n')[0]).toBe(
      '# yaml-language-server: $schema=agent.schema.json',
    );
    expect(JSON.parse(read('travel/agent.schema.json'))).toEqual(MANIFEST_SCHEMA);
    expect(read('travel/agent.schema.json')).toBe((await run('validate --schema')).output);
  });

  test('an existing schema is kept', async () => {
    write('agent.schema.json', '{}');
    expect((await run('init --yes')).output).toContain('wrote agent.yaml\n');
    expect(read('agent.schema.json')).toBe('{}');
  });

  test('the first line names the schema of the package if a parent directory has it', async () => {
    const schema = 'node_modules/agent-compliance/dist/schema/agent.schema.json';
    write(schema, '{}');
    expect((await run('init agents/travel --yes')).output).toContain('wrote agents/travel/agent.yaml\n');
    expect(read('agents/travel/agent.yaml').split('\n')[0]).toBe(
      `# yaml-language-server: $schema=../../${schema}`,
    );
    expect(existsSync(at('agents/travel/agent.schema.json'))).toBe(false);
  });

  test('--yes does not prompt on a terminal', async () => {
    const { exitCode } = await run('init --yes', { ask: answering() });
    expect(exitCode).toBe(0);
  });

  test('prompts on a terminal, and repeats the prompt until the name is valid', async () => {
    const ask = answering('My Agent', 'trip-planner', 'Plans "trips": all of them\\', 'Anthropic', '');
    expect((await run('init .', { ask })).exitCode).toBe(0);
    expect(read('agent.yaml')).toContain('name: trip-planner');
    expect(read('agent.yaml')).toContain('apiKey: $env:ANTHROPIC_API_KEY');
    const { output } = await run('validate agent.yaml --json');
    expect(JSON.parse(output)).toMatchObject({ valid: true, agentName: 'trip-planner' });
  });

  test.each(['OpenAI\n  evil: true', '9 providers', '💥', '- a', '$foo:x'])(
    'writes a valid manifest or nothing for the provider %j',
    async (provider) => {
      const { exitCode, errors } = await run('init', { ask: answering('a', '', provider, '') });
      if (exitCode === 0) expect((await run('validate agent.yaml')).exitCode).toBe(0);
      else
        expect({ errors, exists: existsSync(at('agent.yaml')) }).toEqual({
          errors: expect.stringContaining(
            'error: these answers do not make a valid manifest: "$foo:" is not a valid reference prefix',
          ),
          exists: false,
        });
    },
  );

  test('writes nothing when the user ends the input', async () => {
    expect(await run('init', { ask: answering('a') })).toEqual({
      output: '',
      errors: 'error: input ended before all questions were answered; nothing was written\n',
      exitCode: 1,
    });
    expect(existsSync(at('agent.yaml'))).toBe(false);
  });

  test('never overwrites an existing file', async () => {
    write('agent.yaml', 'mine');
    expect(await run('init --yes')).toEqual({
      output: '',
      errors: 'error: agent.yaml already exists; nothing was written\n',
      exitCode: 1,
    });
    expect(read('agent.yaml')).toBe('mine');
  });

  test('derives the agent name from the directory if possible', async () => {
    await run('init My_Agent(2) --yes');
    expect(read('My_Agent(2)/agent.yaml')).toContain('name: my-agent-2\n');
    await run('init ___ --yes');
    expect(read('___/agent.yaml')).toContain('name: my-agent\n');
  });

  test('reports why it cannot write', async () => {
    write('file', '');
    expect((await run('init file/below --yes')).errors).toBe(
      'error: cannot write file/below/agent.yaml: a parent path is not a directory\n',
    );
    // Node's recursive mkdir never returns for /proc.
    expect(await run('init /proc/x --yes')).toEqual({
      output: '',
      errors: expect.stringContaining('proc/x/agent.yaml: the directory cannot be created\n'),
      exitCode: 1,
    });
  });
});

describe('platform health', () => {
  const MANIFEST = manifestText(`  requires:
    services: [{ name: cache, type: redis, address: $env:CACHE }]
  prompts: { system: $file:prompt.md }
  memory: { shortTerm: { connection: $env:CACHE } }
  mcp:
    servers:
      - { name: files, transport: stdio, command: ${JSON.stringify(process.execPath)} }
      - { name: search, transport: stdio, command: no-such-command }
`);

  /** Runs a server that responds to PING while `act` runs. */
  async function withServer<T>(act: (address: string) => Promise<T>): Promise<T> {
    const servers = new TestServers();
    const port = await servers.tcp((socket) => socket.once('data', () => socket.end('+PONG\r\n')));
    try {
      return await act(`127.0.0.1:${port}`);
    } finally {
      await servers.close();
    }
  }

  const statuses = (output: string): Record<string, string> =>
    Object.fromEntries((JSON.parse(output) as HealthReport).checks.map(({ id, status }) => [id, status]));

  test('checks from this machine: variables, files, addresses', async () => {
    write('agent.yaml', MANIFEST);
    write('prompt.md', 'hello');
    const result = await withServer((address) =>
      run('health agent.yaml --json --no-model', { env: { OPENAI_API_KEY: 'sk-1', CACHE: address } }),
    );
    expect(result).toMatchObject({ errors: '', exitCode: 0 });
    expect(JSON.parse(result.output)).toMatchObject({
      agentName: 'minimal',
      timestamp: '2026-01-02T03:04:05.000Z',
      status: 'degraded',
    });
    expect(statuses(result.output)).toEqual({
      'env:OPENAI_API_KEY': 'pass',
      'env:CACHE': 'pass',
      'file:prompt.md': 'pass',
      'service:cache': 'pass',
      'memory:shortTerm': 'pass',
      'mcp:files': 'skip',
      'mcp:search': 'fail',
    });
  });

  test.each([
    ['sk-right', 'pass', 0],
    ['sk-wrong', 'fail', 1],
  ])('asks the provider of the model with the key %s', async (key, status, exitCode) => {
    const servers = new TestServers();
    const port = await servers.http((request, response) =>
      response.writeHead(request.headers.authorization === 'Bearer sk-right' ? 200 : 401).end('{}'),
    );
    write('agent.yaml', manifestText());
    const env = { OPENAI_API_KEY: key, OPENAI_BASE_URL: `http://127.0.0.1:${port}` };
    const ended = await run('health agent.yaml --json', { env });
    await servers.close();
    expect(ended.exitCode).toBe(exitCode);
    expect(statuses(ended.output)['model:openai/gpt-4.1']).toBe(status);
    expect(ended.output).not.toContain(key);
  });

  test('skips the checks that --no-memory and --no-mcp exclude', async () => {
    write('agent.yaml', MANIFEST);
    const { output } = await withServer((address) =>
      run('health agent.yaml --format json --no-model --no-memory --no-mcp', {
        env: { CACHE: address },
      }),
    );
    expect(statuses(output)).toMatchObject({ 'memory:shortTerm': 'skip', 'service:cache': 'pass' });
  });

  test.each([
    ['', 1],
    ['--fail-on error', 1],
    ['--fail-on info', 1],
  ])('a missing variable is an error: exit code with "%s" is %i', async (flags, exitCode) => {
    write('agent.yaml', manifestText());
    expect((await run(`health agent.yaml ${flags}`)).exitCode).toBe(exitCode);
  });

  test.each([
    ['', 0],
    ['--fail-on error', 0],
    ['--fail-on warning', 1],
    ['--fail-on info', 1],
  ])('a missing file is a warning: exit code with "%s" is %i', async (flags, exitCode) => {
    write('agent.yaml', manifestText('  prompts: { system: $file:none.md }\n'));
    const env = { OPENAI_API_KEY: 'sk-1' };
    expect((await run(`health agent.yaml --no-model ${flags}`, { env })).exitCode).toBe(exitCode);
  });

  test('prints a table with remediation, in colour only if enabled', async () => {
    write('agent.yaml', manifestText());
    const { output } = await run('health agent.yaml');
    expect(output).toBe(`minimal is unhealthy: 0 passed, 1 failed, 0 warnings, 1 skipped

STATUS  CHECK                 SEVERITY  LATENCY  MESSAGE
fail    env:OPENAI_API_KEY    error              OPENAI_API_KEY is not set in the environment
skip    model:openai/gpt-4.1  error              requires env:OPENAI_API_KEY, which failed

Remediation:
  env:OPENAI_API_KEY: Set the environment variable OPENAI_API_KEY for the agent.
`);
    const colored = await run('health agent.yaml', { color: true });
    expect(colored.output).toContain('\u001b[31mfail\u001b[39m');
    // oxlint-disable-next-line no-control-regex -- this removes the colour codes
    expect(colored.output.replaceAll(/\u001b\[\d+m/g, '')).toBe(output);
  });

  test('prints no control characters from a manifest', async () => {
    write('agent.yaml', manifestText('  requires: { services: [{ name: "a\\e[2Jb", address: "x:1" }] }\n'));
    const { output } = await run('health agent.yaml --no-model');
    expect(output).toContain('service:a\ufffd[2Jb');
    expect(output).not.toContain('\u001b');
  });

  test('a missing file is not called invalid', async () => {
    const { output } = await run('health none.yaml --json');
    expect(JSON.parse(output)).toMatchObject({ error: 'the manifest cannot be read' });
  });

  test('names the variable of a missing secret', async () => {
    write('agent.yaml', manifestText().replace(/apiKey: .*/, 'apiKey: $secret:openai-key'));
    const { output } = await run('health agent.yaml --no-model');
    expect(output).toContain('  secret:openai-key: Set the variable PLATFORM_SECRET_OPENAI_KEY.\n');
  });

  test('reports an invalid manifest, with --json as JSON', async () => {
    write('agent.yaml', BROKEN);
    const lines = (await run('validate agent.yaml')).output.replaceAll(/^(?=.)/gm, 'error: ');
    expect(await run('health agent.yaml')).toEqual({ output: '', errors: lines, exitCode: 1 });
    const { output, errors, exitCode } = await run('health agent.yaml --json');
    expect(JSON.parse(output)).toEqual({
      error: 'the manifest is not valid',
      problems: [expect.objectContaining({ line: 5 }), expect.objectContaining({ line: 12 })],
    });
    expect({ errors, exitCode }).toEqual({ errors: lines, exitCode: 1 });
  });
});
