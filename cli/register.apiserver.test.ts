import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePorts } from '../examples/demo/free-ports.ts';
import { runBuiltCommand, type Ended } from '../testing/machine/built-command.ts';
import { ProcessRig } from '../testing/machine/process-rig.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';

/** The built command against a real control plane, over HTTP and over TLS with a private CA. */

const ADMIN = 'the-admin-key-of-this-test';

let rig: ProcessRig;
beforeAll(async () => {
  rig = await ProcessRig.open();
});
afterAll(() => rig.close());

const register = (
  args: string[],
  env: Record<string, string> = { PLATFORM_ADMIN_KEY: ADMIN },
): Promise<Ended> => runBuiltCommand(['register', ...args], { cwd: rig.folder, env });

async function startControlPlane(name: string, env: Record<string, string>): Promise<string> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  await rig.start('control-plane', `${url}/readyz`, {
    PORT: String(port),
    STORE: 'sqlite',
    DATA_DIR: join(rig.folder, name),
    RATE_LIMIT_SECONDS: '0',
    ...env,
  });
  return url;
}

/** Response status of a heartbeat with this key. */
async function heartbeat(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/heartbeat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ health: { status: 'healthy', checks: [] }, gap: { score: 100, issues: [] } }),
  });
  await response.arrayBuffer();
  return response.status;
}

const keyIn = (output: string): string => /^PLATFORM_KEY=(\S+)$/m.exec(output)?.[1] ?? '';

describe('platform register with a control plane', () => {
  let url: string;
  beforeAll(async () => {
    url = await startControlPlane('good', { PLATFORM_ADMIN_KEY: ADMIN });
  });

  test('creates a valid key and invalidates the previous key', async () => {
    const first = await register(['--name', 'shop', '--url', url]);
    expect(first).toMatchObject({
      exitCode: 0,
      errors: expect.stringMatching(/^registered shop as agt_\w+; /),
    });
    expect(first.output).toMatch(new RegExp(`^PLATFORM_URL=${url}\nPLATFORM_KEY=[\\w.-]+\n$`));
    expect(await heartbeat(url, keyIn(first.output))).toBe(204);

    const second = await register(['--name', 'shop', '--out-file', 'shop.key'], {
      PLATFORM_ADMIN_KEY: ADMIN,
      PLATFORM_CONTROL_PLANE_URL: url,
    });
    const path = join(rig.folder, 'shop.key');
    expect(second).toMatchObject({
      exitCode: 0,
      output: `PLATFORM_URL=${url}\nPLATFORM_TOKEN_FILE=${path}\n`,
      errors: expect.stringContaining(
        'the agent was already registered; its previous keys are no longer valid\nwrote the key to shop.key\n',
      ),
    });
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
    expect(await heartbeat(url, readFileSync(path, 'utf8').trim())).toBe(204);
    expect(await heartbeat(url, keyIn(first.output))).toBe(401);
  });

  test('registers the manifest with the agent', async () => {
    const manifest = join(dirname(import.meta.dirname), 'examples/agents/gappy/agent.yaml');
    const { output, exitCode } = await register([manifest, '--url', url, '--json']);
    expect(exitCode).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ agentName: 'gappy', isNew: true });
  });

  test('reports a control plane without an admin key', async () => {
    const open = await startControlPlane('none', {});
    expect(await register(['--name', 'shop', '--url', open])).toEqual({
      output: '',
      errors: `error: ${open} did not register the agent (503: admin routes are disabled: PLATFORM_ADMIN_KEY is not set on the control plane)\n`,
      exitCode: 1,
    });
  });

  test('over TLS trusts only the CA from --ca', async () => {
    const validity = { now: new Date(), days: 1 };
    const ca = await issueCa(validity);
    const leaf = await issueLeaf(ca, ['localhost'], validity);
    await rig.file('ca.pem', ca.cert);
    const [port = 0] = await freePorts(1);
    await rig.start('control-plane', /listening/, {
      PORT: String(port),
      STORE: 'sqlite',
      DATA_DIR: join(rig.folder, 'tls'),
      PLATFORM_ADMIN_KEY: ADMIN,
      TLS_CERT_FILE: await rig.file('tls.crt', leaf.cert),
      TLS_KEY_FILE: await rig.file('tls.key', leaf.key),
    });
    const url = `https://localhost:${port}`;
    const untrusted = await register(['--name', 'shop', '--url', url]);
    expect(untrusted).toMatchObject({ exitCode: 1, output: '' });
    expect(untrusted.errors).toContain('its certificate is not signed by a trusted CA');
    const trusted = await register(['--name', 'shop', '--url', url, '--ca', 'ca.pem']);
    expect(trusted.exitCode).toBe(0);
    expect(trusted.output).toMatch(
      new RegExp(`^PLATFORM_URL=${url}\nPLATFORM_KEY=\\S+\nPLATFORM_CA_FILE=${rig.folder}/ca\\.pem\n$`),
    );
  });
});
