import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Organisation as Rules } from '../../control-plane/organisation/organisation.ts';
import type { AgentPolicy } from '../../core/organisation/finding.ts';
import { parsePolicy } from '../../core/organisation/parse-policy.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { startControlPlaneRig, type ControlPlaneRig } from '../../testing/fleet/control-plane-rig.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { post } from '../../testing/sidecar/egress-rig.ts';
import { startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { until } from '../../testing/time/until.ts';

const policyOf = (rules: object[]): AgentPolicy => {
  const parsed = parsePolicy({
    apiVersion: 'platform.io/v1',
    kind: 'AgentPolicy',
    metadata: { name: 'production' },
    spec: { rules },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
};
const NO_SHELL = policyOf([{ id: 'tools', action: 'Deny', tools: { forbidden: ['shell*'] } }]);
const GOOD = manifestText('  tools: [{ name: search }]\n');
const BAD = manifestText('  tools: [{ name: shell_exec }]\n');

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

let policies: AgentPolicy[] | null;

/** A real control plane with the policies of the test. */
async function startPlane(): Promise<{ plane: ControlPlaneRig; env: Record<string, string> }> {
  policies = [NO_SHELL];
  const worker = new ManifestWorker();
  const rules = { policies: () => policies, problem: () => null, invalid: () => [], labelsOf: () => ({}) };
  const plane = await startControlPlaneRig({ organisation: new Rules(rules, worker) });
  open.push(worker, plane);
  const { apiKey } = await plane.register('minimal');
  const env = { PLATFORM_URL: `http://127.0.0.1:${plane.listener.port}`, PLATFORM_KEY: apiKey };
  return { plane, env };
}

async function startSidecar(
  manifest: string,
  env: Record<string, string>,
  clock?: Clock,
): Promise<SidecarRig> {
  const rig = await startSidecarRig({ manifest, env, ...(clock && { clock }) });
  open.push(rig);
  return rig;
}

const readyz = async (rig: SidecarRig): Promise<[number, { status: string; findings?: object[] }]> => {
  const response = await rig.control('/readyz');
  return [response.status, (await response.json()) as { status: string; findings?: object[] }];
};
const passUntilReady = (rig: SidecarRig, clock: SteppingClock): Promise<void> =>
  until(async () => {
    await clock.pass(500, 500);
    return isReady(rig);
  });

const isReady = async (rig: SidecarRig): Promise<boolean> => (await readyz(rig))[0] === 200;

describe('the start of a pod', () => {
  test('is allowed with a manifest that breaks no Deny rule', async () => {
    const { env } = await startPlane();
    const rig = await startSidecar(GOOD, env);
    await until(() => isReady(rig));
  });

  test('waits with a manifest that breaks one, until it is corrected; then it never waits again', async () => {
    const { env } = await startPlane();
    const rig = await startSidecar(BAD, env);
    await until(async () => (await readyz(rig))[1].status === 'not-allowed');
    expect(await readyz(rig)).toMatchObject([
      503,
      { status: 'not-allowed', findings: [{ policy: 'production', rule: 'tools' }] },
    ]);
    expect(rig.log.map(([, message]) => message)).toContain(
      'manifest not allowed by the organisation, the agent does not start',
    );
    await writeFile(rig.manifestPath, GOOD);
    await until(() => isReady(rig));
    // A new rule does not stop a running agent.
    policies = [policyOf([{ id: 'all', action: 'Deny', tools: { allowed: ['none'] } }])];
    await writeFile(rig.manifestPath, manifestText('  tools: [{ name: find }]\n'));
    const gap = async () => JSON.stringify(await rig.report('/gap'));
    await until(async () => (await gap()).includes('tool find is not one of none'));
    expect(await gap()).toContain('the organisation does not allow it');
    expect(await isReady(rig)).toBe(true);
    // The manifest that was allowed stays in force.
    expect(JSON.stringify(await rig.report('/explore'))).toContain('search');
  });

  test('does not wait for a control plane that is away', async () => {
    const clock = new SteppingClock('2026-11-28T12:00:00Z');
    const env = { PLATFORM_URL: 'http://127.0.0.1:9', PLATFORM_KEY: 'key' };
    const rig = await startSidecar(BAD, env, clock);
    await clock.pass(4_500, 500);
    expect((await readyz(rig))[1].status).toBe('judging');
    await passUntilReady(rig, clock);
    expect(rig.log.map(([, message]) => message)).toContain(
      'agent starts without a judgement of its manifest by the organisation',
    );
  });

  test('waits while the control plane is busy with other manifests of the namespace', async () => {
    const busy = createServer((_request, response) =>
      response.writeHead(429, { 'retry-after': '10' }).end('{}'),
    ).listen(0, '127.0.0.1');
    await once(busy, 'listening');
    open.push({ close: async () => void busy.close() });
    const { port } = busy.address() as AddressInfo;
    const clock = new SteppingClock('2026-11-28T12:00:00Z');
    const env = { PLATFORM_URL: `http://127.0.0.1:${port}`, PLATFORM_KEY: 'key' };
    const rig = await startSidecar(BAD, env, clock);
    await clock.pass(60_000, 500);
    expect((await readyz(rig))[1].status).toBe('judging');
  });

  test('waits for it with ORGANISATION_ON_UNKNOWN=wait', async () => {
    const { env } = await startPlane();
    policies = null;
    const clock = new SteppingClock('2026-11-28T12:00:00Z');
    const rig = await startSidecar(GOOD, { ...env, ORGANISATION_ON_UNKNOWN: 'wait' }, clock);
    await clock.pass(60_000);
    expect((await readyz(rig))[1].status).toBe('judging');
    policies = [NO_SHELL];
    await passUntilReady(rig, clock);
  });

  test('a changed manifest is used once it was judged, with ORGANISATION_ON_UNKNOWN=wait', async () => {
    const { env } = await startPlane();
    const clock = new SteppingClock('2026-11-28T12:00:00Z');
    const rig = await startSidecar(GOOD, { ...env, ORGANISATION_ON_UNKNOWN: 'wait' }, clock);
    await passUntilReady(rig, clock);
    policies = null;
    await writeFile(rig.manifestPath, manifestText('  tools: [{ name: find }]\n'));
    const textOf = async (path: string) => JSON.stringify(await rig.report(path));
    await until(async () => (await textOf('/gap')).includes('the organisation has not judged it yet'));
    expect(await textOf('/explore')).toContain('search');
    policies = [NO_SHELL];
    // Asked again after the next heartbeat.
    await until(async () => {
      await clock.pass(10_000, 1_000);
      return (await textOf('/explore')).includes('find');
    });
    expect(await textOf('/gap')).not.toContain('has not judged');
  });

  test('does not depend on rules without a control plane', async () => {
    expect(await isReady(await startSidecar(BAD, {}))).toBe(true);
  });
});

test('lanes deny every call until the rules are received, as after a restart of the sidecar', async () => {
  const { env } = await startPlane();
  policies = null;
  const [port = 0] = await freePorts(1);
  const lanes = { EGRESS_LANES: 'openai=http://127.0.0.1:9', EGRESS_PORT: `${port}`, EGRESS_MODE: 'enforce' };
  const clock = new SteppingClock('2026-11-28T12:00:00Z');
  const rig = await startSidecar(GOOD, { ...env, ...lanes, ORGANISATION_ON_UNKNOWN: 'wait' }, clock);
  const call = async (tool: string): Promise<string> => {
    const tools = [{ type: 'function', function: { name: tool, parameters: {} } }];
    const body = { model: 'gpt-4.1', messages: [], tools };
    return (await post(port, '/openai/v1/chat/completions', body)).body;
  };
  expect(await call('search')).toContain('policy_unavailable');
  policies = [NO_SHELL];
  await passUntilReady(rig, clock);
  expect(await call('shell_exec')).toContain('tool_not_allowed');
  expect(await call('search')).not.toContain('policy_unavailable');
});

describe('heartbeats', () => {
  test('send the manifest and get the rules for the lanes', async () => {
    const { plane, env } = await startPlane();
    const clock = new SteppingClock('2026-11-28T12:00:00Z');
    const rig = await startSidecar(GOOD, env, clock);
    await passUntilReady(rig, clock);
    await until(async () => {
      plane.clock.advance(10_000);
      await clock.pass(10_000, 1_000);
      const { body } = await plane.admin('GET', '/agents/minimal');
      return JSON.stringify(body).includes('the agent breaks no organisation rule');
    });
  });
});
