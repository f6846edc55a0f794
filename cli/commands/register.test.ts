import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import type { CliContext } from '../context.ts';
import { runCommandLine } from '../program.ts';
import type { Rendered } from '../rendered.ts';

const ADMIN = 'admin-key-that-nobody-sees';
const GRANTED = { agentId: 'agt_1', apiKey: 'aaa.bbb.ccc', expiresAt: '2026-12-21T00:00:00.000Z' };

let cwd: string;
let server: Server | null = null;
let asked: { url: string | undefined; admin: unknown; body: unknown }[];

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'cli-register-'));
  writeFileSync(join(cwd, 'agent.yaml'), manifestText());
  asked = [];
});
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
  server = null;
  rmSync(cwd, { recursive: true, force: true });
});

async function listening(started: Server): Promise<number> {
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return (started.address() as AddressInfo).port;
}

/** A server that answers every registration alike. */
async function answering(status: number, body: unknown = GRANTED): Promise<string> {
  const handler: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      asked.push({
        url: request.url,
        admin: request.headers['x-admin-key'],
        body: JSON.parse(Buffer.concat(chunks).toString()),
      });
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  };
  return `http://127.0.0.1:${await listening(createServer(handler))}`;
}

const platform = (args: string, context: Partial<CliContext> = {}): Promise<Rendered> =>
  runCommandLine(['register', ...args.split(' ').filter(Boolean)], {
    env: { PLATFORM_ADMIN_KEY: ADMIN },
    cwd,
    now: () => new Date('2026-03-01T12:00:00Z'),
    color: false,
    ask: null,
    ...context,
  });

describe('platform register', () => {
  test('prints what to set, and tells the rest beside it', async () => {
    const url = await answering(201);
    expect(await platform(`agent.yaml --url ${url}/base/`)).toEqual({
      output: `PLATFORM_URL=${url}/base\nPLATFORM_KEY=aaa.bbb.ccc\n`,
      errors: 'registered minimal as agt_1; its key is valid until 2026-12-21T00:00:00.000Z\n',
      exitCode: 0,
    });
    expect(asked).toEqual([
      {
        url: '/base/api/v1/register',
        admin: ADMIN,
        body: { agentName: 'minimal', runtime: 'local', manifest: manifestText() },
      },
    ]);
  });

  test('warns before it sends the admin key over plain HTTP to another host', async () => {
    const url = await answering(201);
    const warned: [line: string, requests: number][] = [];
    const warn = (line: string): void => void warned.push([line, asked.length]);
    // 0.0.0.0 leads to this machine, and is not an address of loopback.
    const other = url.replace('127.0.0.1', '0.0.0.0');
    expect((await platform(`agent.yaml --url ${other}`, { warn })).exitCode).toBe(0);
    expect(warned).toEqual([
      [
        `warning: the admin key and the new key go to ${other} unencrypted: whoever reads the network gets them; use https://`,
        0,
      ],
    ]);
    for (const loopback of [url, url.replace('127.0.0.1', 'localhost')])
      await platform(`agent.yaml --url ${loopback}`, { warn });
    expect([warned.length, asked[0]?.admin]).toEqual([1, ADMIN]);
  });

  test('takes name, runtime and the address of the environment', async () => {
    const url = await answering(200);
    const env = { PLATFORM_ADMIN_KEY: ADMIN, PLATFORM_CONTROL_PLANE_URL: url };
    const { errors, exitCode } = await platform('--name shop --runtime docker', { env });
    expect([errors, exitCode]).toEqual([
      'registered shop as agt_1; its key is valid until 2026-12-21T00:00:00.000Z\n' +
        'it was registered before: its older keys no longer work\n',
      0,
    ]);
    expect(asked[0]?.body).toEqual({ agentName: 'shop', runtime: 'docker' });
    await platform('agent.yaml --name other', { env });
    expect(asked[1]?.body).toMatchObject({ agentName: 'other', manifest: manifestText() });
  });

  test('--json prints one document', async () => {
    const url = await answering(201);
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

  test('takes the admin key from a file before the environment', async () => {
    const url = await answering(201);
    writeFileSync(join(cwd, 'admin'), ' from-file\n');
    await platform(`--name shop --url ${url} --admin-key-file admin`);
    expect(asked[0]?.admin).toBe('from-file');
  });

  test.each<[string, Record<string, string>, RegExp]>([
    [
      '--name shop',
      {},
      /^error: where is the control plane\? Give --url, or set PLATFORM_CONTROL_PLANE_URL\n/,
    ],
    [
      '--name shop',
      { PLATFORM_CONTROL_PLANE_URL: 'x:hunter2@y' },
      /^error: PLATFORM_CONTROL_PLANE_URL is no URL/,
    ],
    ['--url http://x', {}, /^error: which agent\? Give its manifest, or --name\n/],
    ['--url http://x --name Shop', {}, /argument 'Shop' is invalid\. It must be a DNS label/],
    [
      '--url http://x --name a --runtime mars',
      {},
      /Allowed choices are k8s, docker, local, bedrock, vertex, other/,
    ],
    ['--url http://x --name a --admin-key k', {}, /^error: unknown option '--admin-key'/],
  ])('%s with %j is a wrong command line', async (args, env, expected) => {
    const { output, errors, exitCode } = await platform(args, { env: { PLATFORM_ADMIN_KEY: ADMIN, ...env } });
    expect([output, exitCode, errors.includes('hunter2')]).toEqual(['', 1, false]);
    expect(errors).toMatch(expected);
  });

  test.each<[string, string, Record<string, string>, string]>([
    [
      'no admin key',
      '',
      {},
      'PLATFORM_ADMIN_KEY is not set: it is the admin key of the control plane; or name a file with --admin-key-file',
    ],
    [
      'a key no header carries',
      '',
      { PLATFORM_ADMIN_KEY: 'caf\u00e9\nx' },
      'PLATFORM_ADMIN_KEY holds no admin key: one line of visible ASCII characters',
    ],
    ['no key file', '--admin-key-file none', {}, 'the admin key cannot be read from none: ENOENT'],
    [
      'an empty key file',
      '--admin-key-file empty',
      {},
      'empty holds no admin key: one line of visible ASCII characters',
    ],
    [
      'a CA for http',
      '--ca agent.yaml',
      { PLATFORM_ADMIN_KEY: ADMIN },
      '--ca is for an address that begins with https://, not http://127.0.0.1:9',
    ],
    [
      'no folder for the key',
      '--out-file no/key',
      { PLATFORM_ADMIN_KEY: ADMIN },
      'no/key cannot be written: its folder does not exist',
    ],
    [
      'a folder for the key',
      '--out-file folder',
      { PLATFORM_ADMIN_KEY: ADMIN },
      'folder cannot be written: it is a folder',
    ],
    [
      'nobody there',
      '',
      { PLATFORM_ADMIN_KEY: ADMIN },
      'http://127.0.0.1:9 cannot be asked: connection refused',
    ],
  ])('with %s says so and asks nobody', async (_name, args, env, reason) => {
    mkdirSync(join(cwd, 'folder'));
    writeFileSync(join(cwd, 'empty'), '\n');
    const { output, errors, exitCode } = await platform(
      `--name shop --url http://127.0.0.1:9 --json ${args}`,
      { env },
    );
    expect([JSON.parse(output), errors, exitCode]).toEqual([{ error: reason }, `${reason}\n`, 1]);
    expect(readdirSync(cwd).sort()).toEqual(['agent.yaml', 'empty', 'folder']);
  });

  test('of a manifest that is not valid says where', async () => {
    writeFileSync(join(cwd, 'agent.yaml'), manifestText('  tols: []\n'));
    expect(await platform('agent.yaml --url http://127.0.0.1:9')).toEqual({
      output: '',
      errors: 'agent.yaml:12:3 spec.tols: unknown key "tols" (did you mean "tools"?)\n',
      exitCode: 1,
    });
  });

  test.each<[number, unknown, string]>([
    [
      400,
      { detail: 'not valid', errors: [{ path: 'manifest.spec', message: 'is odd' }] },
      'does not register the agent (400: not valid; manifest.spec is odd)',
    ],
    [
      401,
      { detail: 'who are you' },
      'does not see the admin key (401: who are you): does something before it drop the header X-Admin-Key?',
    ],
    [
      403,
      { detail: `${ADMIN} is wrong` },
      'refuses the admin key (403: [secret] is wrong): it is not the PLATFORM_ADMIN_KEY of this control plane',
    ],
    [404, '<html>', 'is no control plane: it answers POST /api/v1/register with 404'],
    [409, { detail: 'a workload' }, 'does not register the agent (409: a workload)'],
    [413, '', 'does not register the agent (413)'],
    [302, '', 'does not register the agent (302)'],
    [
      503,
      { detail: 'admin routes are off\u001b[31m' },
      'does not register the agent (503: admin routes are off\ufffd[31m)',
    ],
    [201, '<html>', 'answers 201 without a key: is it a control plane?'],
    [201, { ...GRANTED, apiKey: 'a\nb' }, 'answers 201 without a key: is it a control plane?'],
  ])('tells an answer %d %j', async (status, body, reason) => {
    const url = await answering(status, body);
    const { output, errors, exitCode } = await platform(`--name shop --url ${url} --out-file key`);
    expect([output, errors, exitCode]).toEqual(['', `${url} ${reason}\n`, 1]);
    expect(readdirSync(cwd)).toEqual(['agent.yaml']);
  });

  test('tells a wrong CA, another name, and http where there is https', async () => {
    const validity = { now: new Date(), days: 1 };
    const authority = await issueCa(validity);
    const leaf = await issueLeaf(authority, ['other.test'], validity);
    const other = await issueCa(validity);
    const started = createTlsServer(leaf, (_request, response) => response.end());
    const port = await listening(started);
    writeFileSync(join(cwd, 'ca.pem'), authority.cert);
    writeFileSync(join(cwd, 'other.pem'), other.cert);
    const failing = async (args: string): Promise<string> =>
      (await platform(`--name shop ${args}`)).errors.replaceAll(String(port), 'PORT').trim();
    expect(await failing(`--url https://127.0.0.1:${port}`)).toBe(
      'https://127.0.0.1:PORT cannot be asked: its certificate is from no CA that is trusted here: name the file of its CA with --ca',
    );
    expect(await failing(`--url https://localhost:${port} --ca other.pem`)).toBe(
      'https://localhost:PORT cannot be asked: its certificate is not from the CA in other.pem',
    );
    expect(await failing(`--url https://localhost:${port} --ca ca.pem`)).toBe(
      'https://localhost:PORT cannot be asked: its certificate is for other names than localhost',
    );
    expect(await failing(`--url https://localhost:${port} --ca agent.yaml`)).toBe(
      'the CA cannot be read from agent.yaml: it holds no certificate in PEM form',
    );
    expect(await failing(`--url http://127.0.0.1:${port}`)).toMatch(/; does it speak https:\/\/ there\?$/);
  });

  test('tells https where there is http', async () => {
    const url = (await answering(201)).replace('http:', 'https:');
    expect((await platform(`--name shop --url ${url}`)).errors).toMatch(
      /; does it speak http:\/\/ there\?\n$/,
    );
  });
});
