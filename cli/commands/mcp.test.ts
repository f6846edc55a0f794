import { beforeEach, expect, test } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { CliContext } from '../context.ts';
import type { Rendered } from '../rendered.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { run, write } = commandFolder();

// cli/mcp/mcp.test.ts tests the server; these tests are about standard input and output.

let input: PassThrough;
let output: PassThrough;
let stop: AbortController;
let warnings: string[];

beforeEach(() => {
  write('agent.yaml', manifestText());
  [input, output, stop, warnings] = [new PassThrough(), new PassThrough(), new AbortController(), []];
});

function mcp(args: readonly string[] = [], context: Partial<CliContext> = {}): Promise<Rendered> {
  return run(['mcp', ...args], {
    warn: (line) => warnings.push(line),
    stdio: () => ({ input, output, stopped: stop.signal }),
    ...context,
  });
}

const HELLO = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a-test', version: '1' } },
};
const VALIDATE = {
  method: 'tools/call',
  params: { name: 'validate_manifest', arguments: { path: 'agent.yaml' } },
};
const message = (id: number, body: object) => `${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`;

interface Message {
  id: number;
  result: { structuredContent?: { valid: boolean } };
}

async function messages(): Promise<Message[]> {
  output.end();
  const lines = (await text(output)).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Message);
}

const ENDED = { output: '', errors: '', exitCode: 0 };

test('responds to every request and ends when the input ends; the output contains only the protocol', async () => {
  input.end(message(1, HELLO) + message(2, VALIDATE) + message(3, { method: 'resources/list' }));
  expect(await mcp()).toEqual(ENDED);
  const responses = await messages();
  expect(responses.map(({ id }) => id).toSorted()).toEqual([1, 2, 3]);
  expect(responses.find(({ id }) => id === 2)?.result.structuredContent).toMatchObject({ valid: true });
  expect(warnings).toEqual([]);
});

test('ends when it is stopped, while the input is open', async () => {
  const ended = mcp();
  input.write(message(1, HELLO));
  await new Promise((resolve) => output.once('readable', resolve));
  stop.abort();
  expect(await ended).toEqual(ENDED);
  expect(input.destroyed).toBe(true);
});

test('ignores an invalid message, with a warning that does not repeat it', async () => {
  input.end(`{"adminKey": "a-secret-key"\n${message(1, HELLO)}`);
  expect(await mcp()).toEqual(ENDED);
  expect((await messages()).map(({ id }) => id)).toEqual([1]);
  expect(warnings).toEqual(['warning: a message on standard input is not valid and was ignored']);
});

test('ends when a message is larger than the protocol library accepts', async () => {
  const ended = mcp();
  input.write('x'.repeat(10 * 1024 * 1024 + 1));
  expect(await ended).toEqual(ENDED);
});

test.each([
  ['nowhere', 'error: cannot read nowhere: does not exist\n'],
  ['agent.yaml', 'error: agent.yaml is not a directory\n'],
])('--root %s is rejected', async (root, errors) => {
  expect(await mcp(['--root', '.', '--root', root])).toEqual({ output: '', errors, exitCode: 1 });
});

test('--settings reads the names of editor settings; variables override them', async () => {
  const call = { method: 'tools/call', params: { name: 'list_agents', arguments: {} } };
  const errorWith = async (settings: unknown, env: Record<string, string> = {}): Promise<string> => {
    write('settings.json', JSON.stringify(settings));
    [input, output] = [new PassThrough(), new PassThrough()];
    input.end(message(1, HELLO) + message(2, call));
    expect(await mcp(['--settings', 'settings.json'], { env })).toEqual(ENDED);
    return JSON.stringify((await messages()).find(({ id }) => id === 2)?.result);
  };
  const [url, adminKey] = ['http://127.0.0.1:9/from-settings', 'an-admin-key-of-the-settings'];
  const reached = /cannot connect to the control plane at http:\/\/127\.0\.0\.1:9\/from-settings/;
  for (const settings of [
    { cluster: { controlPlaneUrl: url, adminKey } },
    { 'agentCompliance.cluster.controlPlaneUrl': url, 'agentCompliance.cluster.adminKey': adminKey },
    { agentCompliance: { cluster: { controlPlaneUrl: url, adminKey } }, 'editor.fontSize': 12 },
  ])
    expect(await errorWith(settings)).toMatch(reached);
  const env = { PLATFORM_CONTROL_PLANE_URL: 'http://127.0.0.1:9/from-variable' };
  expect(await errorWith({ cluster: { controlPlaneUrl: url, adminKey } }, env)).toMatch(/from-variable/);
  // The file can come from a repository: it must not direct the key of the environment to another address.
  const own = { PLATFORM_ADMIN_KEY: 'the-key-of-the-environment' };
  expect(await errorWith({ cluster: { controlPlaneUrl: url } }, own)).toMatch(/no control plane/);
});

test.each([
  ['absent.json', '', 'error: cannot read absent.json: does not exist\n'],
  ['list.json', '[]', 'error: list.json must contain a JSON object, without comments\n'],
  ['text.json', '// a comment\n{}', 'error: text.json must contain a JSON object, without comments\n'],
  ['number.json', '{"cluster.adminKey": 5}', 'error: number.json: cluster.adminKey must be a text\n'],
])('--settings %s is rejected', async (name, content, errors) => {
  if (content !== '') write(name, content);
  expect(await mcp(['--settings', name])).toEqual({ output: '', errors, exitCode: 1 });
});

test('an empty root is rejected', async () => {
  const { errors, exitCode } = await mcp(['--root=']);
  expect([errors.split('\n')[0], exitCode]).toEqual([
    "error: option '--root <dir>' argument '' is invalid. Must not be empty.",
    1,
  ]);
});

test('on a terminal it explains what it waits for', async () => {
  input.end();
  await mcp([], { ask: () => Promise.reject(new Error('no question')) });
  expect(warnings).toEqual([expect.stringMatching(/^waiting for messages of the Model Context Protocol/)]);
});
