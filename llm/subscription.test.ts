import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { TestServers } from '../testing/http/sockets.ts';
import { LIMITS, type Limits } from './attempt.ts';
import { CLAUDE } from './claude-cli.ts';
import { CODEX } from './codex-cli.ts';
import type { CompletionRequest } from './provider.ts';
import { checkSubscription, type Cli } from './subscription.ts';

const CLAUDE_HELP = `Options:
  -p, --print
  --output-format <format>
  --tools <tools...>
  --system-prompt <prompt>
  --json-schema <schema>
  --strict-mcp-config
  --no-session-persistence
Commands:
  auth  Manage authentication
`;
const CODEX_HELP = `Usage: codex exec [OPTIONS] [PROMPT]
      --json
      --sandbox <MODE>
      --skip-git-repo-check
      --ephemeral
      --ignore-user-config
`;
const RESPONSE = '{"name": "order desk"}';
const REQUEST: CompletionRequest = {
  system: 'Name the agent.',
  prompt: 'It answers questions about orders.',
  schema: { name: 'agent', schema: { type: 'object' } },
  maxTokens: 200,
};

/** The directory on PATH. The commands find there what they have to print, and record there how they were called. */
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'subscription-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
const read = (name: string) => readFileSync(join(directory, name), 'utf8');

function install(command: string, script: string): void {
  write(command, script);
  chmodSync(join(directory, command), 0o755);
}

/** A command whose last case responds to requests. */
const script = (helpCase: string, loginCase: string) => `#!/bin/sh
PATH=/usr/bin:/bin
here=${directory}
case "$*" in
${helpCase}) cat $here/help ;;
${loginCase})
  echo checked > $here/checked
  cat $here/login
  test ! -e $here/logged-out ;;
*)
  printf '%s\\0' "$@" > $here/args
  env > $here/env
  pwd > $here/cwd
  ls -A . > $here/files
  cat > $here/input
  cat $here/response
  cat $here/errors >&2
  exit $(cat $here/code) ;;
esac
`;

const environment = (more: Record<string, string> = {}) => ({ PATH: directory, ...more });

const idle = () => new AbortController().signal;

interface Rig {
  cli: Cli;
  help: string;
  script: () => string;
}

const RIGS: Record<'claude' | 'codex', Rig> = {
  claude: { cli: CLAUDE, help: CLAUDE_HELP, script: () => script('--help', "'auth status'") },
  codex: { cli: CODEX, help: CODEX_HELP, script: () => script("'exec --help'", "'login status'") },
};

/** Installs the command; it is logged in and prints this response. */
function prepare({ cli, help, script: text }: Rig, response = '', { code = 0, errors = '' } = {}): void {
  install(cli.command, text());
  write('help', help);
  write('login', cli === CLAUDE ? '{"loggedIn": true, "authMethod": "claude.ai"}' : '');
  write('response', response);
  write('errors', errors);
  write('code', String(code));
}

async function complete(
  { cli }: Rig,
  env: Record<string, string> = {},
  limits: Partial<Limits> = {},
  options: { signal?: AbortSignal; onText?: (text: string) => void } = {},
) {
  const readiness = await checkSubscription(cli, environment(env), { ...LIMITS, ...limits });
  if (!readiness.ready) throw new Error(readiness.reason);
  return readiness.provider.complete(REQUEST, { signal: idle(), ...options });
}

const argumentsOf = () => read('args').split('\0').slice(0, -1);

describe.each(Object.entries(RIGS))('the command %s', (command, rig) => {
  const check = (env = environment()) => checkSubscription(rig.cli, env);

  test('is ready if it is on PATH and logged in', async () => {
    prepare(rig);
    const readiness = await check();
    expect(readiness).toMatchObject({ ready: true, provider: { name: rig.cli.provider, model: null } });
    expect(existsSync(join(directory, 'args'))).toBe(false);
  });

  test.each<[what: string, arrange: () => void]>([
    ['missing', () => undefined],
    ['a directory', () => mkdirSync(join(directory, command))],
    ['not executable', () => write(command, '#!/bin/sh')],
  ])('is not ready if it is %s', async (_what, arrange) => {
    arrange();
    expect(await check()).toEqual({
      ready: false,
      reason: `the command ${command} is not on PATH`,
      remedy: `Install ${rig.cli.product} and run: ${rig.cli.login}.`,
    });
    expect(await check({ PATH: '' })).toMatchObject({ ready: false });
  });

  test('is not taken from a relative directory of PATH', async () => {
    prepare(rig);
    const env = environment();
    expect(await check({ ...env, PATH: relative(process.cwd(), directory) })).toMatchObject({ ready: false });
  });

  test.each(['an older command\n', ''])('with the help %j is not run further', async (help) => {
    prepare(rig);
    write('help', help);
    expect(await check()).toEqual({
      ready: false,
      reason: `${join(directory, command)} does not have the required options`,
      remedy: `Update ${rig.cli.product}.`,
    });
    expect(existsSync(join(directory, 'checked'))).toBe(false);
  });

  test('that is not logged in is not ready', async () => {
    prepare(rig);
    write('logged-out', '');
    expect(await check()).toEqual({
      ready: false,
      reason: `${command} is not logged in`,
      remedy: `Run: ${rig.cli.login}.`,
    });
  });

  test('that cannot be run is not ready', async () => {
    install(command, '#!/no/such/interpreter\n');
    expect(await check()).toMatchObject({ ready: false, remedy: `Update ${rig.cli.product}.` });
  });

  test('gets the prompt by standard input, in an empty directory, without the keys', async () => {
    prepare(rig, 'no response');
    const keys = Object.fromEntries(rig.cli.hidden.map((name) => [name, 'not-for-the-command']));
    await complete(rig, { ...keys, LANG: 'C.UTF-8' });
    expect(read('input')).toContain(REQUEST.prompt);
    expect(read('env')).toContain('LANG=C.UTF-8\n');
    expect(read('env')).not.toContain('not-for-the-command');
    expect(read('files')).toBe('');
    expect(existsSync(read('cwd').trim())).toBe(false);
    expect(argumentsOf().join(' ')).not.toContain(REQUEST.prompt);
  });

  test('that prints nothing useful is a failure with its exit code and its message', async () => {
    prepare(rig, 'not JSON', { code: 3, errors: 'usage limit\nreached for sk-proj-1234567' });
    expect(await complete(rig)).toEqual({
      ok: false,
      reason: `${command} ended with exit code 3 without a response: usage limit reached for [key]`,
    });
  });

  test('that prints too much is ended', async () => {
    prepare(rig, 'x'.repeat(100_000));
    expect(await complete(rig, {}, { transferBytes: 1_000 })).toEqual({
      ok: false,
      reason: `the output of ${command} is larger than the limit of 1000 bytes`,
    });
  });

  test('that does not end in time is ended', async () => {
    prepare(rig);
    install(command, rig.script().replace('cat > $here/input', 'exec sleep 600'));
    expect(await complete(rig, {}, { timeoutMs: 100 })).toEqual({
      ok: false,
      reason: `${command} did not complete the response within 0.1 s`,
    });
  });

  test('ends with the signal', async () => {
    const servers = new TestServers();
    try {
      const controller = new AbortController();
      const closed = Promise.withResolvers<void>();
      const port = await servers.tcp((socket) => {
        socket.once('close', () => closed.resolve());
        controller.abort();
      });
      prepare(rig);
      const program = `require('node:net').connect(${port}, '127.0.0.1'); setInterval(() => {}, 1e6)`;
      const call = `exec ${process.execPath} -e "${program}"`;
      install(command, rig.script().replace('cat > $here/input', call));
      expect(await complete(rig, {}, {}, { signal: controller.signal })).toEqual({
        ok: false,
        reason: 'the request was interrupted',
      });
      await closed.promise;
    } finally {
      await servers.close();
    }
  });
});

describe('claude', () => {
  const result = (members: object = {}) =>
    JSON.stringify({
      ...{ type: 'result', subtype: 'success', is_error: false, result: RESPONSE, stop_reason: 'end_turn' },
      usage: { input_tokens: 31, output_tokens: 5 },
      modelUsage: { 'claude-x': { inputTokens: 31 } },
      ...members,
    });

  test('responds without tools, servers and a session', async () => {
    prepare(RIGS.claude, result());
    const pieces: string[] = [];
    expect(await complete(RIGS.claude, {}, {}, { onText: (piece) => pieces.push(piece) })).toEqual({
      ok: true,
      text: RESPONSE,
      model: 'claude-x',
      usage: { inputTokens: 31, outputTokens: 5 },
    });
    expect(pieces).toEqual([RESPONSE]);
    expect(read('input')).toBe(REQUEST.prompt);
    expect(read('env')).toContain('CLAUDE_CODE_MAX_OUTPUT_TOKENS=200\n');
    const args = argumentsOf();
    expect(args.slice(0, -1)).toEqual([
      ...['-p', '--output-format', 'json', '--tools', '', '--strict-mcp-config', '--no-session-persistence'],
      ...['--json-schema', '{"type":"object"}', '--system-prompt'],
    ]);
    expect(args.at(-1)).toContain(`${REQUEST.system}\n`);
    expect(args.at(-1)).toContain('{"type":"object"}');
  });

  test('gets only options that it has, and the model of PLATFORM_LLM_MODEL', async () => {
    const required = CLAUDE_HELP.replace(/.*(json-schema|strict-mcp|no-session).*\n/g, '');
    prepare({ ...RIGS.claude, help: required }, result({ modelUsage: undefined }));
    expect(await complete(RIGS.claude, { PLATFORM_LLM_MODEL: 'haiku' })).toMatchObject({ model: 'haiku' });
    expect(argumentsOf().slice(0, -1)).toEqual([
      ...['-p', '--output-format', 'json', '--tools', '', '--model', 'haiku', '--system-prompt'],
    ]);
  });

  test.each<[what: string, printed: string, text: string]>([
    ['the structured output', result({ structured_output: { name: 'x' }, result: 'done' }), '{"name":"x"}'],
    ['the last object of a list', `[{"type":"system"},${result()}]`, RESPONSE],
    ['a result without usage', result({ usage: null }), RESPONSE],
  ])('reads %s', async (_what, printed, text) => {
    prepare(RIGS.claude, printed);
    expect(await complete(RIGS.claude)).toMatchObject({ ok: true, text });
  });

  test.each<[what: string, printed: string, reason: string]>([
    ['an error', result({ is_error: true, result: 'Credit is too low' }), 'claude failed: Credit is too low'],
    [
      'another end',
      result({ subtype: 'error_max_turns', result: undefined }),
      'claude failed: error_max_turns',
    ],
    ['a refusal', result({ stop_reason: 'refusal' }), 'the model refused the request'],
    ['a cut response', result({ stop_reason: 'max_tokens' }), 'the response was cut at the token limit'],
    ['no text', result({ result: 7 }), 'claude printed a result without text'],
    ['an empty text', result({ result: ' ' }), 'the response of the model is empty'],
    ['no object', '[]', 'claude ended with exit code 0 without a response'],
  ])('%s is a failure', async (_what, printed, reason) => {
    prepare(RIGS.claude, printed);
    expect(await complete(RIGS.claude)).toEqual({ ok: false, reason });
  });

  test('a response that is too large is a failure', async () => {
    prepare(RIGS.claude, result());
    expect(await complete(RIGS.claude, {}, { responseBytes: 10 })).toEqual({
      ok: false,
      reason: 'the text of the response is larger than the limit of 10 bytes',
    });
  });

  test('an exit code of 0 with loggedIn false is not a login', async () => {
    prepare(RIGS.claude);
    write('login', '{\n  "loggedIn": false\n}');
    expect(await checkSubscription(CLAUDE, environment())).toMatchObject({ ready: false });
  });
});

describe('codex', () => {
  const events = (...more: object[]) =>
    [
      { type: 'thread.started', thread_id: 't' },
      { type: 'turn.started' },
      { type: 'item.completed', item: { id: '0', type: 'reasoning', text: 'thinking' } },
      ...more,
    ]
      .map((event) => `${JSON.stringify(event)}\n`)
      .join('');
  const message = (text: unknown) => ({
    type: 'item.completed',
    item: { id: '1', type: 'agent_message', text },
  });
  const completed = { type: 'turn.completed', usage: { input_tokens: 31, output_tokens: 5 } };

  test('responds in a sandbox without tools and a session', async () => {
    prepare(RIGS.codex, `warning: not an event\n${events(message('first'), message(RESPONSE), completed)}`);
    expect(await complete(RIGS.codex)).toEqual({
      ok: true,
      text: RESPONSE,
      model: 'default of codex',
      usage: { inputTokens: 31, outputTokens: 5 },
    });
    const args = argumentsOf();
    expect(args.slice(0, 7)).toEqual([
      ...['exec', '--json', '--sandbox', 'read-only', '--skip-git-repo-check', '--ephemeral'],
      '--ignore-user-config',
    ]);
    expect(args).toEqual(expect.arrayContaining(['features.shell_tool=false', 'web_search="disabled"']));
    expect(args.at(-1)).toBe('-');
    expect(read('input')).toContain(`${REQUEST.system}\n`);
    expect(read('input')).toContain('{"type":"object"}');
  });

  test('gets only options that it has, and the model of PLATFORM_LLM_MODEL', async () => {
    const required = CODEX_HELP.replace(/.*--(ephemeral|ignore-user-config).*\n/g, '');
    prepare({ ...RIGS.codex, help: required }, events(message(RESPONSE), completed));
    expect(await complete(RIGS.codex, { PLATFORM_LLM_MODEL: 'gpt-x' })).toMatchObject({ model: 'gpt-x' });
    const args = argumentsOf();
    expect(args.slice(-3)).toEqual(['-m', 'gpt-x', '-']);
    expect(args.join(' ')).not.toMatch(/--ephemeral|--ignore-user-config|credentials/);
  });

  test.each<[what: string, printed: string, reason: string]>([
    [
      'a failed turn',
      events({ type: 'turn.failed', error: { message: 'usage limit reached' } }),
      'codex failed: usage limit reached',
    ],
    [
      'an error',
      events(message('x'), { type: 'error', message: 'stream lost' }),
      'codex failed: stream lost',
    ],
    ['a turn without a message', events(completed), 'codex ended with exit code 0 without a response'],
    [
      'a message without text',
      events(message(7), completed),
      'codex ended with exit code 0 without a response',
    ],
    ['an empty message', events(message(''), completed), 'the response of the model is empty'],
  ])('%s is a failure', async (_what, printed, reason) => {
    prepare(RIGS.codex, printed);
    expect(await complete(RIGS.codex)).toEqual({ ok: false, reason });
  });

  test('an error that Codex recovered from is not a failure', async () => {
    prepare(RIGS.codex, events({ type: 'error', message: 'reconnecting' }, message(RESPONSE), completed));
    expect(await complete(RIGS.codex)).toMatchObject({ ok: true, text: RESPONSE });
  });
});
