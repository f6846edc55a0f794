import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Check } from '../core/shapes/health.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';
import { TestServers } from '../testing/http/sockets.ts';

/** Each kind of check without a report from the agent, by what the sidecar can access. */

const servers = new TestServers();
let rig: SidecarRig | null = null;
let port: number;
let closed: number;
beforeEach(async () => {
  port = await servers.tcp(() => undefined);
  closed = await servers.closedPort();
});
afterEach(async () => {
  await rig?.close();
  await servers.close();
  rig = null;
});

async function checksWith(
  env: Record<string, string>,
  spec: object,
  prepare: (folder: string) => Promise<unknown> = () => Promise.resolve(),
): Promise<string[]> {
  rig = await startSidecarRig({
    manifest: manifestText({ model: { provider: 'openai', id: 'm', apiKey: 'literal' }, ...spec }),
    agent: { '/health': 200 },
    env,
  });
  await prepare(rig.folder);
  const { checks } = await rig.report<{ checks: Check[] }>('/health/ready');
  return checks
    .filter(({ id }) => id !== 'agent:upstream')
    .map(
      ({ id, status, severity, message }) => `${id} ${status} ${severity}${message ? `: ${message}` : ''}`,
    );
}

describe('checks of variables and of services that use them', () => {
  const spec = () => ({
    requires: {
      envVars: ['SET', 'UNSET'],
      services: [
        { name: 'db', address: '$env:SET', critical: true },
        { name: 'queue', address: '$env:UNSET' },
      ],
    },
  });

  test('when the sidecar shares the agent’s environment', async () => {
    expect(await checksWith({ SET: `127.0.0.1:${port}` }, spec())).toEqual([
      'env:SET pass error',
      'env:UNSET fail error: UNSET is not set in the environment',
      'service:db pass error',
      'service:queue skip warning: requires env:UNSET, which failed',
    ]);
  });

  test.each<[string, string, string[]]>([
    [
      'all names are known',
      'SET',
      [
        'env:SET pass error',
        "env:UNSET fail error: UNSET is not set in the agent's container",
        "service:db skip error: the agent's variable SET cannot be read from here",
        'service:queue skip warning: requires env:UNSET, which failed',
      ],
    ],
    [
      'the container has envFrom',
      'SET,*',
      [
        'env:SET pass error',
        'env:UNSET skip error: the variable may come from an envFrom source of the container, which cannot be read from here',
        "service:db skip error: the agent's variable SET cannot be read from here",
        'service:queue skip warning: requires env:UNSET, which cannot be checked here',
      ],
    ],
    [
      'the container has no variables',
      ',',
      [
        "env:SET fail error: SET is not set in the agent's container",
        "env:UNSET fail error: UNSET is not set in the agent's container",
        'service:db skip error: requires env:SET, which failed',
        'service:queue skip warning: requires env:UNSET, which failed',
      ],
    ],
  ])('in a cluster, when %s', async (_name, names, expected) => {
    // The sidecar's own variable with that name must not be used.
    expect(await checksWith({ AGENT_ENV_NAMES: names, SET: `127.0.0.1:${port}` }, spec())).toEqual(expected);
  });
});

describe('checks of secrets', () => {
  const spec = () => ({
    requires: {
      services: [
        { name: 'db', address: '$secret:db-url' },
        { name: 'queue', address: '$secret:queue-url' },
      ],
    },
  });
  const found = [
    'secret:db-url pass warning',
    'secret:queue-url fail warning: the secret backend BACKEND does not contain this secret',
    'service:db pass warning',
    'service:queue skip warning: requires secret:queue-url, which failed',
  ];
  const of = (backend: string): string[] => found.map((line) => line.replace('BACKEND', backend));

  test('in variables of the sidecar', async () => {
    expect(await checksWith({ PLATFORM_SECRET_DB_URL: `127.0.0.1:${port}` }, spec())).toEqual(of('env'));
  });

  test('in a mounted directory with the layout that Kubernetes uses', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'secrets-'));
    await mkdir(join(folder, '..data'));
    await writeFile(join(folder, '..data', 'db-url'), `127.0.0.1:${port}\n`);
    await symlink('..data/db-url', join(folder, 'db-url'));
    // Secrets in variables are ignored then.
    const env = { PLATFORM_SECRET_DIR: folder, PLATFORM_SECRET_QUEUE_URL: `127.0.0.1:${port}` };
    expect(await checksWith(env, spec())).toEqual(of('file'));
    await rm(folder, { recursive: true });
  });

  test.each<[string, string, string[]]>([
    [
      'when all variables are known',
      'PLATFORM_SECRET_DB_URL',
      [
        'secret:db-url pass warning',
        'secret:queue-url fail warning: the secret backend env does not contain this secret',
        "service:db skip warning: the agent's variable PLATFORM_SECRET_DB_URL cannot be read from here",
        'service:queue skip warning: requires secret:queue-url, which failed',
      ],
    ],
    [
      'when envFrom may add variables',
      '*',
      [
        'secret:db-url skip warning: no secret backend can be read from here',
        'secret:queue-url skip warning: no secret backend can be read from here',
        'service:db skip warning: requires secret:db-url, which cannot be checked here',
        'service:queue skip warning: requires secret:queue-url, which cannot be checked here',
      ],
    ],
  ])('of an agent in a cluster, %s', async (_name, names, expected) => {
    expect(await checksWith({ AGENT_ENV_NAMES: names }, spec())).toEqual(expected);
  });
});

describe('checks of files', () => {
  const spec = { prompts: { system: '$file:prompts/system.md', fallback: '$file:escape.md' } };
  const prepare = async (folder: string): Promise<void> => {
    await mkdir(join(folder, 'prompts'));
    await writeFile(join(folder, 'prompts/system.md'), 'You sell things.');
    await symlink('/etc/hostname', join(folder, 'escape.md'));
  };

  test('next to the manifest, and of a file outside its directory', async () => {
    expect(await checksWith({}, spec, prepare)).toEqual([
      'file:prompts/system.md pass warning',
      "file:escape.md fail warning: the file cannot be read inside the manifest's directory",
    ]);
  });

  test('of an agent in a cluster are skipped', async () => {
    expect(await checksWith({ AGENT_ENV_NAMES: ',' }, spec, prepare)).toEqual([
      "file:prompts/system.md skip warning: the agent's files cannot be read from here",
      "file:escape.md skip warning: the agent's files cannot be read from here",
    ]);
  });
});

test('checks memory by role, tracing, and services without an address', async () => {
  const url = (at: number): string => `redis://:secret@127.0.0.1:${at}/0`;
  const spec = {
    memory: {
      backend: 'redis',
      shortTerm: { connection: url(port) },
      longTerm: { backend: 'sqlite', connectionString: 'sqlite:///data/agent.db' },
      vector: { backend: 'qdrant', connectionString: `http://127.0.0.1:${closed}` },
    },
    requires: { services: [{ name: 'files' }] },
    observability: { tracing: { backend: 'otlp', endpoint: `http://127.0.0.1:${port}/v1/traces` } },
  };
  expect(await checksWith({}, spec)).toEqual([
    'service:files skip warning: the manifest declares no address',
    'memory:backend pass warning',
    'memory:shortTerm pass warning',
    'memory:longTerm skip warning: the address has no host and port',
    'memory:vector fail warning: connection refused',
    'tracing:otlp pass info',
  ]);
});
