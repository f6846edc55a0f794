import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { startOpa, whyNoOpa, writePolicy, type Opa } from '../../testing/opa.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { ask, until } from '../../testing/proxy-rig.ts';
import { startSidecarRig, type SidecarRig } from '../../testing/sidecar-rig.ts';
import { stopProcess } from '../../testing/stop-process.ts';

/** Looks every half second whether the engine is back, and not every five. */
const HASTY: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 10, signal) };
const ENFORCE = { OPENAI_API_KEY: 'x', POLICY_PROXY_MODE: 'enforce' };
const MANIFEST = plainManifest('corner-shop', [
  'pii_detector_not_invoked',
  'destructive_tool_without_confirmation',
]);

(whyNoOpa() ? describe.skip : describe)('the sidecar before the real policy engine', () => {
  let folder: string;
  let opa: Opa;
  let rig: SidecarRig;

  const startBefore = async (
    env: Record<string, string>,
    manifest = MANIFEST,
    clock = systemClock,
  ): Promise<SidecarRig> => {
    const started = await startSidecarRig({
      clock,
      manifest: JSON.stringify(manifest),
      // An engine on a busy machine is not one that does not answer.
      env: { ...ENFORCE, POLICY_URL: opa.url, POLICY_TIMEOUT_MS: '30000', ...env },
      agent: { '/health': {}, '/capabilities': { tools: ['drop'] } },
    });
    started.agent.otherwise = (request, response) => {
      const guardrails = request.url === '/safe' ? 'pii-detector' : '';
      response.writeHead(200, { 'X-Platform-Guardrails-Invoked': guardrails }).end('the answer');
    };
    return started;
  };
  const outcomes = async (from: SidecarRig): Promise<(string | undefined)[]> =>
    (await from.report<AuditEntry[]>('/audit')).map(({ outcome }) => outcome);
  const gapOf = async (from: SidecarRig): Promise<string[]> =>
    (await from.report<{ issues: { property: string }[] }>('/gap')).issues
      .map(({ property }) => property)
      .filter((property) => property.startsWith('policy.'));

  /** What a sidecar reports that never had an engine, of an agent that did the same. */
  const gapWithoutEngine = async (): Promise<unknown> => {
    const without = await startBefore({ POLICY_URL: '' });
    try {
      for (const path of ['/unsafe', '/safe']) await ask(without.sidecar.proxyPort, { path });
      return await without.report('/gap');
    } finally {
      await without.close();
    }
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sidecar-opa-'));
    await writePolicy(join(folder, 'policy'), MANIFEST);
    opa = await startOpa([join(folder, 'policy')]);
    rig = await startBefore({});
  });
  afterAll(async () => {
    await rig.close();
    await opa.close();
    await rm(folder, { recursive: true });
  });

  test('blocks what the engine denies and passes what it allows', async () => {
    const denied = await ask(rig.sidecar.proxyPort, { path: '/unsafe' });
    expect([denied.status, denied.headers['x-platform-policy-violations']]).toEqual([
      403,
      'pii_detector_not_invoked',
    ]);
    expect(await gapOf(rig)).toEqual(['policy.pii_detector_not_invoked']);
    const allowed = await ask(rig.sidecar.proxyPort, { path: '/safe' });
    expect([allowed.status, allowed.body]).toEqual([200, 'the answer']);
    expect(await gapOf(rig)).toEqual([]);
    expect(await outcomes(rig)).toEqual(['deny', 'allow']);
  });

  test('fails open while the engine is away, and is back after it', async () => {
    const port = Number(new URL(opa.url).port);
    const before = (await outcomes(rig)).length;
    await opa.close();
    expect(await rig.report('/gap')).toEqual(await gapWithoutEngine());
    for (let i = 0; i < 7; i++)
      expect((await ask(rig.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(200);
    opa = await startOpa([join(folder, 'policy')], port);
    const isBack = () => rig.log.some(([, message]) => message === 'the policy engine answers again');
    while (!isBack()) await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await ask(rig.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
    expect((await outcomes(rig)).slice(before)).toEqual([...Array<string>(7).fill('failOpen'), 'deny']);
    expect(rig.log.filter(([level]) => level === 'warn')).toHaveLength(1);
  });

  test('waits for an engine that hangs five times, then for none, until it runs again', async () => {
    const before = await startBefore({ POLICY_TIMEOUT_MS: '1500' }, MANIFEST, HASTY);
    const warnings = () => before.log.filter(([level]) => level === 'warn');
    try {
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
      await stopProcess(opa.pid);
      const startedAt = performance.now();
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(200);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_490);
      for (let i = 1; i < 40; i++)
        expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(200);
      // Five waited, a canary that hung meanwhile among them; one more may have hung beside the last of them.
      const failed = before.log.filter(([, message]) =>
        /policy engine (still )?does not answer/.test(message),
      );
      expect([5, 6]).toContain(failed.length);
      // The first look finds it hanging.
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      process.kill(opa.pid, 'SIGCONT');
      while (!before.log.some(([, message]) => message === 'the policy engine answers again'))
        await new Promise((resolve) => setTimeout(resolve, 50));
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
      expect(await outcomes(before)).toEqual(['deny', ...Array<string>(40).fill('failOpen'), 'deny']);
      expect(warnings()).toHaveLength(1);
    } finally {
      process.kill(opa.pid, 'SIGCONT');
      await before.close();
    }
  });

  test('a manifest that changes is asked about at once, and what the engine does know is still enforced', async () => {
    const before = await startBefore({});
    try {
      expect(await gapOf(before)).toEqual([]);
      const changed = plainManifest('corner-shop', [
        'pii_detector_not_invoked',
        'daily_token_limit_exceeded',
      ]);
      await writeFile(before.manifestPath, JSON.stringify(changed));
      const stale = "the policy engine does not have this agent's rules, or those of another manifest";
      while (!before.log.some(([, message]) => message === stale))
        await new Promise((resolve) => setTimeout(resolve, 20));
      expect(before.log.find(([, message]) => message === stale)?.[2]).toEqual({
        missing: ['daily_token_limit_exceeded'],
      });
      expect(await gapOf(before)).toEqual(['policy.not-loaded']);
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
      expect(await gapOf(before)).toEqual(['policy.pii_detector_not_invoked', 'policy.not-loaded']);
      await writeFile(before.manifestPath, JSON.stringify(MANIFEST));
      while (!before.log.some(([, message]) => message === "the policy engine has this agent's rules now"))
        await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await gapOf(before)).toEqual(['policy.pii_detector_not_invoked']);
    } finally {
      await before.close();
    }
  });

  test('several agents in one engine are each judged by their own rules', async () => {
    const other = plainManifest('3d-agent', ['destructive_tool_without_confirmation']);
    await writePolicy(join(folder, 'other'), other);
    const both = await startOpa([join(folder, 'policy'), join(folder, 'other')]);
    const shop = await startBefore({ POLICY_URL: both.url });
    const agent = await startBefore({ POLICY_URL: both.url }, other);
    try {
      expect((await ask(shop.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
      expect((await ask(agent.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(200);
      expect([await outcomes(shop), await outcomes(agent)]).toEqual([['deny'], ['allow']]);
      expect([await gapOf(shop), await gapOf(agent)]).toEqual([['policy.pii_detector_not_invoked'], []]);
    } finally {
      await shop.close();
      await agent.close();
      await both.close();
    }
  });

  test('an engine with the rules of an older manifest is found out', async () => {
    const older = join(folder, 'older');
    await writePolicy(older, plainManifest('corner-shop', ['pii_detector_not_invoked']));
    const stale = await startOpa([older]);
    const before = await startBefore({ POLICY_URL: stale.url });
    try {
      await until(() => before.log.some(([level]) => level === 'warn'), 'the warning');
      expect(before.log.filter(([level]) => level === 'warn')).toEqual([
        [
          'warn',
          "the policy engine does not have this agent's rules, or those of another manifest",
          { missing: ['destructive_tool_without_confirmation'] },
        ],
      ]);
      expect(await gapOf(before)).toEqual(['policy.not-loaded']);
      // The canary only reports: what the engine does know is still enforced, and in the gap.
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
      expect(await gapOf(before)).toEqual(['policy.pii_detector_not_invoked', 'policy.not-loaded']);
    } finally {
      await before.close();
      await stale.close();
    }
  });

  test('an engine without the agent’s rules evaluates nothing', async () => {
    const empty = await startOpa([]);
    const before = await startBefore({ POLICY_URL: empty.url });
    try {
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(200);
      expect(await outcomes(before)).toEqual(['notEvaluated']);
      expect(await gapOf(before)).toEqual(['policy.not-loaded']);
    } finally {
      await before.close();
      await empty.close();
    }
  });
});
