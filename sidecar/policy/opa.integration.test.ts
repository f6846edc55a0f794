import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { startOpa, whyNoOpa, writePolicy, type Opa } from '../../testing/sidecar/opa.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { ask } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';
import { startSidecarRig, withoutTimes, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';

/** Time-out of one query, long enough for an engine on a busy machine. */
const TIMEOUT_MS = 30_000;
/** Milliseconds between two background checks of an unreachable engine. */
const CHECK_MS = 5_000;
const NOON = '2026-03-01T12:00:00Z';
const BACK = 'policy engine reachable again';
const ENFORCE = { OPENAI_API_KEY: 'x', POLICY_PROXY_MODE: 'enforce' };
const MANIFEST = plainManifest('corner-shop', [
  'pii_detector_not_invoked',
  'destructive_tool_without_confirmation',
]);

(whyNoOpa() ? describe.skip : describe)('the sidecar with a real policy engine', () => {
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

  /** The gap report of a sidecar without an engine, after the same requests. */
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

  test('blocks responses that the engine denies and forwards allowed responses', async () => {
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

  test('fails open while the engine is down and recovers afterwards', async () => {
    const port = Number(new URL(opa.url).port);
    const before = (await outcomes(rig)).length;
    await opa.close();
    // The decision also has the denials before the outage.
    const withoutVerdict = (report: unknown): unknown =>
      withoutTimes({ ...(report as object), compliant: null });
    expect(withoutVerdict(await rig.report('/gap'))).toEqual(withoutVerdict(await gapWithoutEngine()));
    for (let i = 0; i < 7; i++)
      expect((await ask(rig.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(200);
    opa = await startOpa([join(folder, 'policy')], { port });
    await clock.pass(CHECK_MS);
    await until(() => rig.log.some(([, message]) => message === BACK), 'the end of the outage');
    expect((await ask(rig.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
    expect((await outcomes(rig)).slice(before)).toEqual([...Array<string>(7).fill('failOpen'), 'deny']);
    expect(rig.log.filter(([level]) => level === 'warn')).toHaveLength(1);
  });

  test('checks the rules when the manifest changes and still enforces the loaded rules', async () => {
    const before = await startBefore({});
    try {
      expect(await gapOf(before)).toEqual([]);
      const changed = plainManifest('corner-shop', [
        'pii_detector_not_invoked',
        'daily_token_limit_exceeded',
      ]);
      await writeFile(before.manifestPath, JSON.stringify(changed));
      const stale = 'policy engine rules missing or from another manifest';
      await until(() => before.log.some(([, message]) => message === stale), 'the warning');
      expect(before.log.find(([, message]) => message === stale)?.[2]).toEqual({
        missing: ['daily_token_limit_exceeded'],
      });
      expect(await gapOf(before)).toEqual(['policy.not-loaded']);
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
      expect(await gapOf(before)).toEqual(['policy.pii_detector_not_invoked', 'policy.not-loaded']);
      await writeFile(before.manifestPath, JSON.stringify(MANIFEST));
      const renewed = 'policy engine rules loaded';
      await until(() => before.log.some(([, message]) => message === renewed), 'the new rules');
      expect(await gapOf(before)).toEqual(['policy.pii_detector_not_invoked']);
    } finally {
      await before.close();
    }
  });

  test('applies the rules of each agent when several agents share an engine', async () => {
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

  const NONE = 'an element of the result is an object without a text in msg or reason';
  test.each<[string, string[], string[]]>([
    ['deny contains {"msg": sprintf("%s denies", ["a rule"])}', ['a rule denies'], []],
    ['deny contains "pii"\n\ndeny contains {"reason": "why", "details": {"a": 1}}', ['pii', 'why'], []],
    ['deny contains {"code": 7}', ['policy_result_invalid'], [NONE]],
    ['deny := {"msg": "no"}', ['no'], []],
    [
      'deny.pii := true',
      ['policy_result_invalid'],
      ['the result is an object without a text in msg or reason'],
    ],
    ['default deny := true', ['policy_result_invalid'], ['the result is a boolean']],
    ['default deny := false', [], []],
  ])('blocks with the reasons of the rule %j', async (rule, reasons, problems) => {
    const own = await mkdtemp(join(folder, 'own-'));
    await writeFile(join(own, 'policy.rego'), `package platform.agent.corner_shop\n\n${rule}\n`);
    const engine = await startOpa([own]);
    const before = await startBefore({ POLICY_URL: engine.url });
    try {
      for (let i = 0; i < 6; i++) {
        const { status, headers } = await ask(before.sidecar.proxyPort, { path: '/unsafe' });
        const header = headers['x-platform-policy-violations'];
        expect([status, header]).toEqual(reasons.length === 0 ? [200, undefined] : [403, reasons.join(',')]);
      }
      const denials = reasons.map((reason) => `policy.${reason}`);
      expect(await gapOf(before)).toEqual(['policy.not-loaded', ...denials]);
      const warned = before.log.filter(([, message]) => message.startsWith('policy engine'));
      const invalid = 'policy engine result invalid, counted as a denial';
      expect(warned.filter(([, message]) => message === invalid)).toEqual(
        problems.map((reason) => ['warn', invalid, { reason }]),
      );
      expect(warned.map(([, message]) => message).join()).not.toContain('unreachable');
    } finally {
      await before.close();
      await engine.close();
    }
  });

  test('detects an engine with the rules of an older manifest', async () => {
    const older = join(folder, 'older');
    await writePolicy(older, plainManifest('corner-shop', ['pii_detector_not_invoked']));
    const stale = await startOpa([older]);
    const before = await startBefore({ POLICY_URL: stale.url });
    try {
      await until(() => before.log.some(([level]) => level === 'warn'), 'the warning');
      expect(before.log.filter(([level]) => level === 'warn')).toEqual([
        [
          'warn',
          'policy engine rules missing or from another manifest',
          { missing: ['destructive_tool_without_confirmation'] },
        ],
      ]);
      expect(await gapOf(before)).toEqual(['policy.not-loaded']);
      // The canary only reports; the loaded rules are still enforced and part of the gap.
      expect((await ask(before.sidecar.proxyPort, { path: '/unsafe' })).status).toBe(403);
      expect(await gapOf(before)).toEqual(['policy.pii_detector_not_invoked', 'policy.not-loaded']);
    } finally {
      await before.close();
      await stale.close();
    }
  });

  test('does not evaluate with an engine without the agent’s rules', async () => {
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
