import { mkdirSync } from 'node:fs';
import { type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import type { CliContext } from '../context.ts';
import type { Rendered } from '../rendered.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import { TestServers } from '../../testing/http/sockets.ts';

const { at, names, run, write } = commandFolder();

const ADMIN = 'admin-key-that-must-stay-hidden';
const GRANTED = { agentId: 'agt_1', apiKey: 'aaa.bbb.ccc', expiresAt: '2026-12-21T00:00:00.000Z' };

const servers = new TestServers();
let requests: { url: string | undefined; admin: unknown; body: unknown }[];

beforeEach(() => {
  write('agent.yaml', manifestText());
  requests = [];
});
afterEach(() => servers.close());

/** A server with the same response to every registration. */
async function respondingWith(status: number, body: unknown = GRANTED): Promise<string> {
  const handler: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({
        url: request.url,
        admin: request.headers['x-admin-key'],
        body: JSON.parse(Buffer.concat(chunks).toString()),
      });
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  };
  return `http://127.0.0.1:${await servers.http(handler)}`;
}

const platform = (args: string, context: Partial<CliContext> = {}): Promise<Rendered> =>
  run(`register ${args}`, { env: { PLATFORM_ADMIN_KEY: ADMIN }, ...context });

describe('platform register', () => {
  test('prints the variables to standard output and messages to standard error', async () => {
    const url = await respondingWith(201);
    expect(await platform(`agent.yaml --url ${url}/base/`)).toEqual({
      output: `PLATFORM_URL=${url}/base\nPLATFORM_KEY=aaa.bbb.ccc\n`,
      errors: 'registered minimal as agt_1; its key is valid until 2026-12-21T00:00:00.000Z\n',
      exitCode: 0,
    });
    expect(requests).toEqual([
      {
        url: '/base/api/v1/register',
        admin: ADMIN,
        body: { agentName: 'minimal', runtime: 'local', manifest: manifestText() },
      },
    ]);
  });

  test('warns before it sends the admin key over plain HTTP to another host', async () => {
    const url = await respondingWith(201);
    const warned: [line: string, requestCount: number][] = [];
    const warn = (line: string): void => void warned.push([line, requests.length]);
    // 0.0.0.0 reaches this machine but is not a loopback address.
    const other = url.replace('127.0.0.1', '0.0.0.0');
    expect((await platform(`agent.yaml --url ${other}`, { warn })).exitCode).toBe(0);
    expect(warned).toEqual([
      [`warning: the admin key and the new key are sent unencrypted to ${other}; use https://`, 0],
    ]);
    for (const loopback of [url, url.replace('127.0.0.1', 'localhost')])
      await platform(`agent.yaml --url ${loopback}`, { warn });
    expect([warned.length, requests[0]?.admin]).toEqual([1, ADMIN]);
  });

  test('accepts name, runtime and the URL from the environment', async () => {
    const url = await respondingWith(200);
    const env = { PLATFORM_ADMIN_KEY: ADMIN, PLATFORM_CONTROL_PLANE_URL: url };
    const { errors, exitCode } = await platform('--name shop --runtime docker', { env });
    expect([errors, exitCode]).toEqual([
      'registered shop as agt_1; its key is valid until 2026-12-21T00:00:00.000Z\n' +
        'the agent was already registered; its previous keys are no longer valid\n',
      0,
    ]);
    expect(requests[0]?.body).toEqual({ agentName: 'shop', runtime: 'docker' });
    await platform('agent.yaml --name other', { env });
    expect(requests[1]?.body).toMatchObject({ agentName: 'other', manifest: manifestText() });
  });

  test('--json prints one document', async () => {
    const url = await respondingWith(201);
    const { output, exitCode } = await platform(`--name shop --url ${url} --json`);
    expect([JSON.parse(output), exitCode]).toEqual([
      {
        agentId: 'agt_1',
        agentName: 'shop',
        expiresAt: '2026-12-21T00:00:00.000Z',
        isNew: true,
        settings: { PLATFORM_URL: url, PLATFORM_KEY: 'aaa.bbb.ccc' },
      },
      0,
    ]);
  });

  test('prefers the admin key from a file to the environment', async () => {
    const url = await respondingWith(201);
    write('admin', ' from-file\n');
    await platform(`--name shop --url ${url} --admin-key-file admin`);
    expect(requests[0]?.admin).toBe('from-file');
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['--name shop', {}, /^error: --url is required \(or set PLATFORM_CONTROL_PLANE_URL\)\n/],
    [
      '--name shop',
      { PLATFORM_CONTROL_PLANE_URL: 'x:hunter2@y' },
      /^error: PLATFORM_CONTROL_PLANE_URL must be an http\(s\) URL/,
    ],
    ['--url http://x --name Shop', {}, /argument 'Shop' is invalid\. Must be a DNS label/],
    [
      '--url http://x --name a --runtime mars',
      {},
      /Allowed choices are k8s, docker, local, bedrock, vertex, other/,
    ],
    ['--url http://x --name a --admin-key k', {}, /^error: unknown option '--admin-key'/],
  ])('rejects the command line %s with %j', async (args, env, expected) => {
    const { output, errors, exitCode } = await platform(args, { env: { PLATFORM_ADMIN_KEY: ADMIN, ...env } });
    expect([output, exitCode, errors.includes('hunter2')]).toEqual(['', 1, false]);
    expect(errors).toMatch(expected);
  });

  test.each<[string, string, Record<string, string>, string]>([
    [
      'no admin key',
      '',
      {},
      'no admin key of the control plane: set PLATFORM_ADMIN_KEY or pass --admin-key-file',
    ],
    [
      'a key that is not a valid header value',
      '',
      { PLATFORM_ADMIN_KEY: 'caf\u00e9\nx' },
      'PLATFORM_ADMIN_KEY does not contain a valid admin key: expected one line of printable ASCII characters',
    ],
    ['no key file', '--admin-key-file none', {}, 'cannot read the admin key from none: ENOENT'],
    [
      'an empty key file',
      '--admin-key-file empty',
      {},
      'empty does not contain a valid admin key: expected one line of printable ASCII characters',
    ],
    [
      'a CA for http',
      '--ca agent.yaml',
      { PLATFORM_ADMIN_KEY: ADMIN },
      '--ca requires an https:// URL, got http://127.0.0.1:9',
    ],
    [
      'a key file in a missing directory',
      '--out-file no/key',
      { PLATFORM_ADMIN_KEY: ADMIN },
      'cannot write no/key: its directory does not exist',
    ],
    [
      'a directory as the key file',
      '--out-file folder',
      { PLATFORM_ADMIN_KEY: ADMIN },
      'cannot write folder: it is a directory',
    ],
    [
      'an unreachable control plane',
      '',
      { PLATFORM_ADMIN_KEY: ADMIN },
      'cannot connect to http://127.0.0.1:9: connection refused',
    ],
  ])('reports %s and registers nothing', async (_name, args, env, reason) => {
    mkdirSync(at('folder'));
    write('empty', '\n');
    const { output, errors, exitCode } = await platform(
      `--name shop --url http://127.0.0.1:9 --json ${args}`,
      { env },
    );
    expect([JSON.parse(output), errors, exitCode]).toEqual([{ error: reason }, `error: ${reason}\n`, 1]);
    expect(names()).toEqual(['agent.yaml', 'empty', 'folder']);
  });

  test('never replaces the manifest by the key, and registers nothing', async () => {
    const env = { PLATFORM_ADMIN_KEY: ADMIN };
    expect(
      await platform('agent.yaml --url http://127.0.0.1:9 --out-file agent.yaml', { env }),
    ).toMatchObject({
      errors: 'error: cannot write agent.yaml: it is an input of this command; choose another file\n',
      exitCode: 1,
    });
  });

  test('reports the position of manifest problems', async () => {
    write('agent.yaml', manifestText('  tols: []\n'));
    expect(await platform('agent.yaml --url http://127.0.0.1:9')).toEqual({
      output: '',
      errors: 'error: agent.yaml:12:3 spec.tols: unknown key "tols" (did you mean "tools"?)\n',
      exitCode: 1,
    });
  });

  test.each<[number, unknown, string]>([
    [
      400,
      { detail: 'not valid', errors: [{ path: 'manifest.spec', message: 'is odd' }] },
      'did not register the agent (400: not valid; manifest.spec is odd)',
    ],
    [
      401,
      { detail: 'who are you' },
      'did not receive the admin key (401: who are you); check whether a proxy removes the header X-Admin-Key',
    ],
    [
      403,
      { detail: `${ADMIN} is wrong` },
      'rejected the admin key (403: [secret] is wrong); it differs from the PLATFORM_ADMIN_KEY of this control plane',
    ],
    [404, '<html>', 'is not a control plane: POST /api/v1/register returned 404'],
    [409, { detail: 'a workload' }, 'did not register the agent (409: a workload)'],
    [413, '', 'did not register the agent (413)'],
    [302, '', 'did not register the agent (302)'],
    [
      503,
      { detail: 'admin routes are off\u001b[31m' },
      'did not register the agent (503: admin routes are off\ufffd[31m)',
    ],
    [201, '<html>', 'returned 201 without a valid key; check that it is a control plane'],
    [
      201,
      { ...GRANTED, apiKey: 'a\nb' },
      'returned 201 without a valid key; check that it is a control plane',
    ],
  ])('reports a response %d %j', async (status, body, reason) => {
    const url = await respondingWith(status, body);
    const { output, errors, exitCode } = await platform(`--name shop --url ${url} --out-file key`);
    expect([output, errors, exitCode]).toEqual(['', `error: ${url} ${reason}\n`, 1]);
    expect(names()).toEqual(['agent.yaml']);
  });

  test('reports a wrong CA, a wrong host name and http instead of https', async () => {
    const validity = { now: new Date(), days: 1 };
    const ca = await issueCa(validity);
    const leaf = await issueLeaf(ca, ['other.test'], validity);
    const other = await issueCa(validity);
    const started = createTlsServer(leaf, (_request, response) => response.end());
    await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
    const { port } = started.address() as AddressInfo;
    write('ca.pem', ca.cert);
    write('other.pem', other.cert);
    const failing = async (args: string): Promise<string> =>
      (await platform(`--name shop ${args}`)).errors.replaceAll(String(port), 'PORT').trim();
    expect(await failing(`--url https://127.0.0.1:${port}`)).toBe(
      'error: cannot connect to https://127.0.0.1:PORT: its certificate is not signed by a trusted CA; pass the CA file with --ca',
    );
    expect(await failing(`--url https://localhost:${port} --ca other.pem`)).toBe(
      'error: cannot connect to https://localhost:PORT: its certificate is not signed by the CA in other.pem',
    );
    expect(await failing(`--url https://localhost:${port} --ca ca.pem`)).toBe(
      'error: cannot connect to https://localhost:PORT: its certificate is not valid for the host name localhost',
    );
    expect(await failing(`--url https://localhost:${port} --ca agent.yaml`)).toBe(
      'error: cannot read the CA from agent.yaml: it contains no PEM certificate',
    );
    expect(await failing(`--url http://127.0.0.1:${port}`)).toMatch(
      /; check whether the URL should start with https:\/\/$/,
    );
  });

  test('reports https instead of http', async () => {
    const url = (await respondingWith(201)).replace('http:', 'https:');
    expect((await platform(`--name shop --url ${url}`)).errors).toMatch(
      /; check whether the URL should start with http:\/\/\n$/,
    );
  });
});
