import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decide } from '../../core/injection/decide.ts';
import { inject } from '../../core/injection/inject.ts';
import type { Container } from '../../core/injection/pod.ts';
import { denyPathOf } from '../../core/policy/package-name.ts';
import { clusterBinary } from '../../testing/machine/cluster-binary.ts';
import { whyNoOpa } from '../../testing/sidecar/opa.ts';
import { injectionSettings, optedInPod } from '../../testing/cluster/pods.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { terminationLogAt } from '../../testing/machine/termination-log.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import { createOpaEngine } from './opa-engine.ts';
import { until } from '../../testing/time/until.ts';

/** The containers that the injector adds to a pod with an engine next to the sidecar. */
function injectedContainers(): Record<string, Container> {
  const resources = { cpuRequest: '10m', cpuLimit: '500m', memoryRequest: '96Mi', memoryLimit: '192Mi' };
  const settings = injectionSettings({ engine: { image: 'opa:1', resources } });
  const decision = decide(optedInPod(), settings);
  if (decision.action !== 'inject') throw new Error('not injected');
  const containers = inject(optedInPod(), decision, settings).spec.initContainers ?? [];
  return Object.fromEntries(containers.map((container) => [container.name, container]));
}

const argsOf = (name: string): string[] => injectedContainers()[name]?.['args'] as string[];

/** Runs the command of the init container with another directory and manifest. */
async function render(
  manifest: string,
  folder: string,
  variables: Record<string, string> = {},
): Promise<{ code: number | null; errors: string }> {
  const args = argsOf('platform-policy').map((arg) => (arg === '/policy' ? folder : arg));
  const child = spawn(process.execPath, args, {
    env: { MANIFEST_PATH: manifest, ...variables },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, errors };
}

describe('the init container of a pod', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'render-policy-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.each([
    ['a missing manifest', 'none.yaml', 'none.yaml: does not exist'],
    ['an invalid manifest', 'bad.yaml', 'bad.yaml:1:1'],
  ])('exits with the reason for %s and writes nothing', async (_case, name, reason) => {
    await writeFile(join(folder, 'bad.yaml'), 'kind: Nothing\n');
    const out = await mkdtemp(join(folder, 'out-'));
    const { code, errors } = await render(join(folder, name), out, terminationLogAt(join(folder, 'log')));
    expect(errors).toMatch(/^sidecar cannot start:\n/);
    expect(errors).toContain(reason);
    expect([code, await readdir(out)]).toEqual([65, []]);
    expect(await readFile(join(folder, 'log'), 'utf8')).toContain(`\n${reason}`);
  });

  test('exits with the reason when the directory cannot be written', async () => {
    const file = join(folder, 'agent.yaml');
    await writeFile(file, JSON.stringify(plainManifest('corner-shop', ['pii_detector_not_invoked'])));
    const { code, errors } = await render(file, join(folder, 'nowhere'));
    expect([code, errors]).toEqual([1, expect.stringContaining('failed to write the policy rules: ENOENT')]);
  });
});

(whyNoOpa() ? describe.skip : describe)('the engine of a pod', () => {
  test('starts with the rendered rules, serves queries on loopback and health for the kubelet', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'engine-in-the-pod-'));
    const manifest = join(folder, 'agent.yaml');
    await writeFile(manifest, JSON.stringify(plainManifest('corner-shop', ['pii_detector_not_invoked'])));
    const rules = await mkdtemp(join(folder, 'policy-'));
    expect(await render(manifest, rules)).toEqual({ code: 0, errors: '' });
    const servers = new TestServers();
    const [port, health] = [await servers.closedPort(), await servers.closedPort()];
    const args = argsOf('platform-opa').map((arg) =>
      arg
        .replace('/run/platform-engine', folder)
        .replace('/policy', rules)
        .replace(':8181', `:${port}`)
        .replace(':8282', `:${health}`),
    );
    const socketPath = join(folder, 'opa.sock');
    expect(args).toEqual(expect.arrayContaining([`--addr=127.0.0.1:${port}`, `--addr=unix://${socketPath}`]));
    const child = spawn(clusterBinary('opa'), args, { env: { GOMEMLIMIT: '153MiB' }, stdio: 'ignore' });
    try {
      await until(() => isOk(`http://127.0.0.1:${health}/health`));
      const query = async (at: number) =>
        fetch(`http://127.0.0.1:${at}${denyPathOf('corner-shop')}`, {
          method: 'POST',
          body: JSON.stringify({ input: { request_type: 'llm_call', guardrails_invoked: [] } }),
        });
      const response = await query(port);
      expect([response.status, await response.text()]).toEqual([
        200,
        expect.stringContaining('pii_detector_not_invoked'),
      ]);
      const url = new URL('http://127.0.0.1:1');
      const engine = createOpaEngine({ url, socketPath, timeoutMs: 30_000 });
      expect(
        await engine.evaluate({
          agent_name: 'corner-shop',
          request_type: 'llm_call',
          guardrails_invoked: [],
        }),
      ).toEqual({ state: 'answered', denials: ['pii_detector_not_invoked'] });
      expect(await engine.isHealthy()).toBe(true);
      await engine.close();
      // The address that is reachable from the pod network does not serve policy queries.
      expect((await query(health)).status).toBe(404);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
      await rm(folder, { recursive: true });
    }
  });
});

async function isOk(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => null);
  await response?.body?.cancel();
  return response?.ok === true;
}
