import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync } from 'node:fs';
import { type ServerResponse } from 'node:http';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import { TestServers } from '../../testing/http/sockets.ts';

const { at, read, run, write } = commandFolder();

const CARD = JSON.stringify({
  name: 'Recipe Agent',
  description: 'Finds recipes.',
  version: '1.2.0',
  supportedInterfaces: [],
  capabilities: { streaming: true, pushNotifications: false },
  skills: [{ id: 'find', name: 'Find' }],
});
const NOTES = [
  'note: not imported: capabilities.pushNotifications\n',
  'note: not imported: skills[].name\n',
].join('');

const servers = new TestServers();
let base: string;

/** Responses by path. */
const RESPONSES: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/card': (response) => response.end(CARD),
  '/moved': (response) => response.writeHead(302, { location: '/card' }).end(),
  '/loop': (response) => response.writeHead(301, { location: '/loop' }).end(),
  '/file': (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/nowhere': (response) => response.writeHead(302).end(),
  '/binary': (response) => response.end(Buffer.from([0xff, 0xfe])),
  '/large': (response) => response.end(Buffer.alloc(1_100_000, ' ')),
};

beforeAll(async () => {
  const port = await servers.http((request, response) => {
    const respond = RESPONSES[request.url ?? ''];
    if (respond === undefined) response.writeHead(404).end();
    else respond(response);
  });
  base = `http://127.0.0.1:${port}`;
});

afterAll(() => servers.close());

describe('init --from', () => {
  test('writes a valid manifest from a file, and lists what has no place in it', async () => {
    write('card.json', CARD);
    expect(await run('init recipes --from card.json')).toEqual({
      output:
        'wrote recipes/agent.yaml and recipes/agent.schema.json\nnext: platform validate recipes/agent.yaml, then platform health recipes/agent.yaml\n',
      errors: NOTES,
      exitCode: 0,
    });
    expect((await run('validate recipes/agent.yaml')).output).toBe(
      'recipes/agent.yaml is valid: recipe-agent 1.2.0\n',
    );
  });

  test('reads standard input', async () => {
    const stdin = () => Promise.resolve(Buffer.from(CARD));
    expect(await run('init --from -', { stdin })).toMatchObject({ exitCode: 0, errors: NOTES });
    expect(read('agent.yaml')).toContain('name: recipe-agent');
  });

  test.each(['/card', '/moved'])('reads the URL %s', async (path) => {
    const { exitCode, errors } = await run(['init', '--from', `${base}${path}`]);
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: NOTES });
    expect(read('agent.yaml')).toContain('name: recipe-agent');
  });

  test('never overwrites an existing file', async () => {
    write('card.json', CARD);
    write('agent.yaml', 'mine');
    expect(await run('init --from card.json')).toEqual({
      output: '',
      errors: 'error: agent.yaml already exists; nothing was written\n',
      exitCode: 1,
    });
    expect(read('agent.yaml')).toBe('mine');
  });
});

describe('errors, with exit code 1 and nothing written', () => {
  test.each<[string, () => string, string]>([
    ['a missing file', () => 'none.json', 'error: cannot read none.json: does not exist\n'],
    ['a directory', () => 'folder', 'error: cannot read folder: is a directory\n'],
    ['a large file', () => 'large.json', 'error: large.json exceeds the maximum size of 1 MiB\n'],
    ['no standard input', () => '-', 'error: cannot read standard input: no standard input\n'],
    [
      'another scheme',
      () => 'ftp://example.com/card',
      'error: the URL of --from is not a valid http(s) URL\n',
    ],
    ['a status', () => `${base}/none`, `error: BASE/none returned 404\n`],
    ['too many redirects', () => `${base}/loop`, 'error: more than 5 redirects from BASE/loop\n'],
    [
      'a redirect to a file',
      () => `${base}/file`,
      'error: BASE/file redirects to an address that is not an http(s) URL\n',
    ],
    [
      'a redirect without an address',
      () => `${base}/nowhere`,
      'error: BASE/nowhere redirects to an address that is not an http(s) URL\n',
    ],
    [
      'a binary response',
      () => `${base}/binary`,
      'error: the response of BASE/binary is not valid UTF-8 text\n',
    ],
    [
      'a large response',
      () => `${base}/large`,
      'error: BASE/large did not send a response of at most 1 MiB within 15 s\n',
    ],
    [
      'a kagent source without a name',
      () => 'kagent:team',
      'error: --from kagent: must be followed by <namespace>/<name>\n',
    ],
    [
      'a cluster without a kubeconfig',
      () => 'kagent:team/helper',
      'error: no cluster configured; pass --kubeconfig or set KUBECONFIG\n',
    ],
  ])('%s', async (_what, from, errors) => {
    mkdirSync(at('folder'));
    write('large.json', Buffer.alloc(1_100_000, ' '));
    const result = await run(['init', 'new', '--from', from()], { env: { HOME: at() } });
    expect({ ...result, errors: result.errors.replaceAll(base, 'BASE') }).toEqual({
      output: '',
      errors,
      exitCode: 1,
    });
    expect(existsSync(at('new'))).toBe(false);
  });

  test('a connection failure does not show the password of the URL', async () => {
    const { errors } = await run('init --from http://me:secret@127.0.0.1:9/card?key=secret');
    expect(errors).toContain('error: cannot connect to http://127.0.0.1:9/card: ');
    expect(errors).not.toContain('secret');
  });

  test('--kubeconfig without a kagent source', async () => {
    const { errors } = await run('init --from card.json --kubeconfig x');
    expect(errors).toBe('error: --kubeconfig and --context are only for --from kagent:<namespace>/<name>\n');
  });

  test('values of the wrong type are listed with file, line and column', async () => {
    write('card.json', CARD.replace('"Finds recipes."', '5').replaceAll(',"', ',\n"'));
    expect(await run('init --from card.json')).toEqual({
      output: '',
      errors:
        'error: card.json is not a valid A2A agent card (0.3 or 1.0)\nerror: card.json:2:15 description: must be a string\n',
      exitCode: 1,
    });
  });

  test('a control character in the source is not printed', async () => {
    write('card.json', '{"apiVersion": "a\\u001b[2Jb"}');
    const { errors } = await run('init --from card.json');
    expect(errors).toContain('is not one of the known formats');
    expect(errors).not.toContain('\u001b');
  });
});

test('a target that is a file is named as such', async () => {
  write('f', '');
  expect(await run('init f --yes')).toEqual({
    output: '',
    errors: 'error: cannot write f/agent.yaml: a parent path is not a directory\n',
    exitCode: 1,
  });
});

test('the next commands can be copied', async () => {
  expect((await run(['init', 'My Agent!', '--yes'])).output).toContain(
    "\nnext: platform validate 'My Agent!/agent.yaml', then platform health 'My Agent!/agent.yaml'\n",
  );
});

test.each(['--context', '--kubeconfig'])('%s needs --from', async (option) => {
  expect(await run(['init', option, 'x', '--yes'])).toEqual({
    output: '',
    errors: 'error: --kubeconfig and --context are only for --from kagent:<namespace>/<name>\n',
    exitCode: 1,
  });
  expect(existsSync(at('agent.yaml'))).toBe(false);
});
