import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { holdTimers } from '../../testing/held-timers.ts';
import { startOpa, whyNoOpa, writePolicy, type Opa } from '../../testing/opa.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { ask, until } from '../../testing/proxy-rig.ts';
import { startQuestionRelay } from '../../testing/question-relay.ts';
import { startSidecarRig, withoutTimes, type SidecarRig } from '../../testing/sidecar-rig.ts';
import { TestServers } from '../../testing/sockets.ts';
import { SteppingClock } from '../../testing/stepping-clock.ts';
import { stopProcess } from '../../testing/stop-process.ts';

/** Of one question to the engine. An engine on a busy machine is not one that does not answer. */
const TIMEOUT_MS = 30_000;
/** Between two looks at an engine that is left alone. */
const LOOK_MS = 5_000;
const NOON = '2026-03-01T12:00:00Z';
const BACK = 'the policy engine answers again';
const ENFORCE = { OPENAI_API_KEY: 'x', POLICY_PROXY_MODE: 'enforce' };
const MANIFEST = plainManifest('corner-shop', [
  'pii_detector_not_invoked',
  'destructive_tool_without_confirmation',
]);

(whyNoOpa() ? describe.skip : describe)('the sidecar before the real policy engine', () => {
  let folder: string;
  let opa: Opa;
  let rig: SidecarRig;
  const clock = new SteppingClock(NOON);

  const startBefore = async (
    env: Record<string, string>,
    manifest = MANIFEST,
    clock: Clock = systemClock,
  ): Promise<SidecarRig> => {
    const started = await startSidecarRig({
      clock,
      manifest: JSON.stringify(manifest),
      env: { ...ENFORCE, POLICY_URL: opa.url, POLICY_TIMEOUT_MS: String(TIMEOUT_MS), ...env },
      agent: { '/health': {}, '/capabilities': { tools: ['drop'] }, '/platform/health': 404 },
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
    rig = await startBefore({}, MANIFEST, clock);
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
    expect(withoutTimes(await rig.report('/gap'))).toEqual(withoutTimes(await gapWithoutEngine()));
    for (let i = 0; i < 7; i++)
      expect((await ask(rig.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(200);
    opa = await startOpa([join(folder, 'policy')], port);
    await clock.pass(LOOK_MS);
    await until(() => rig.log.some(([, message]) => message === BACK), 'the end of the outage');
    expect((await ask(rig.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
    expect((await outcomes(rig)).slice(before)).toEqual([...Array<string>(7).fill('failOpen'), 'deny']);
    expect(rig.log.filter(([level]) => level === 'warn')).toHaveLength(1);
  });

  test('waits for an engine that hangs five times, then for none, until it runs again', async () => {
    const servers = new TestServers();
    const relay = await startQuestionRelay(servers, Number(new URL(opa.url).port));
    const ownClock = new ManualClock(NOON);
    const before = await startBefore({ POLICY_URL: `http://127.0.0.1:${relay.port}` }, MANIFEST, ownClock);
    const said = (pattern: RegExp) => before.log.filter(([, message]) => pattern.test(message)).length;
    const statusOfUnsafe = async (): Promise<number> =>
      (await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status;
    try {
      // The first round of canaries is over when their watch sleeps.
      await ownClock.nextSleep();
      expect(await statusOfUnsafe()).toBe(403);
      await stopProcess(opa.pid);
      let nextLook;
      {
        using timers = holdTimers();
        for (let i = 1; i <= 5; i++) {
          const heard = relay.questions();
          let status = 0;
          const asking = statusOfUnsafe().then((given) => (status = given));
          await until(() => relay.questions() > heard, 'the question');
          await timers.pass(TIMEOUT_MS - 1);
          expect(status).toBe(0);
          await timers.pass(1);
          expect(await asking).toBe(200);
        }
        // From here on no time passes for a request.
        const heard = relay.questions();
        for (let i = 5; i < 40; i++) expect(await statusOfUnsafe()).toBe(200);
        expect([relay.questions(), said(/policy engine (still )?does not answer/)]).toEqual([heard, 5]);
        const pause = await ownClock.nextSleep();
        expect(pause.ms).toBe(LOOK_MS);
        pause.wake();
        await until(() => relay.questions() > heard, 'the first look');
        await timers.pass(TIMEOUT_MS);
        // It finds the engine hanging, and another one will follow.
        nextLook = await ownClock.nextSleep();
        expect([await statusOfUnsafe(), relay.questions()]).toEqual([200, heard + 1]);
      }
      process.kill(opa.pid, 'SIGCONT');
      nextLook.wake();
      await until(() => said(new RegExp(BACK)) === 1, 'the end of the outage');
      expect(await statusOfUnsafe()).toBe(403);
      expect(await outcomes(before)).toEqual(['deny', ...Array<string>(41).fill('failOpen'), 'deny']);
      expect(before.log.filter(([level]) => level === 'warn')).toHaveLength(1);
    } finally {
      process.kill(opa.pid, 'SIGCONT');
      await before.close();
      await servers.close();
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
      await until(() => before.log.some(([, message]) => message === stale), 'the warning');
      expect(before.log.find(([, message]) => message === stale)?.[2]).toEqual({
        missing: ['daily_token_limit_exceeded'],
      });
      expect(await gapOf(before)).toEqual(['policy.not-loaded']);
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
      expect(await gapOf(before)).toEqual(['policy.pii_detector_not_invoked', 'policy.not-loaded']);
      await writeFile(before.manifestPath, JSON.stringify(MANIFEST));
      const renewed = "the policy engine has this agent's rules now";
      await until(() => before.log.some(([, message]) => message === renewed), 'the new rules');
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
