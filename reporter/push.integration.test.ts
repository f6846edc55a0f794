import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Manifest } from '../core/manifest/manifest.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { ProcessRig } from '../testing/machine/process-rig.ts';
import { SteppingClock } from '../testing/time/stepping-clock.ts';
import { until as untilSo } from '../testing/time/until.ts';
import { createReporter, type Reporter, type ReporterOptions } from './index.ts';

// What reporters in every language have in common is tested in testing/conformance.

const ADMIN_KEY = 'an-admin-key-of-the-test';
const MANIFEST: Manifest = {
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
  spec: { model: { provider: 'unknown-provider', id: 'gpt', apiKey: 'k' } },
};

let rig: ProcessRig;
let url: string;
let created: Reporter | null;
let warnings: string[];
/** The clock of the reporter. Intervals, pauses and limits end when a test advances the clock. */
let clock: SteppingClock;

beforeEach(async () => {
  rig = await ProcessRig.open();
  const port = await new TestServers().closedPort();
  url = `http://127.0.0.1:${port}`;
  await rig.start('control-plane', `${url}/readyz`, {
    ...{ DATA_DIR: join(rig.folder, 'data'), PORT: String(port) },
    ...{ PLATFORM_ADMIN_KEY: ADMIN_KEY, RATE_LIMIT_SECONDS: '0' },
  });
  [created, warnings] = [null, []];
  // Starts at the current time, so that a new key of the control plane is valid on this clock.
  clock = new SteppingClock(new Date().toISOString());
});
afterEach(async () => {
  // First, so that the reporter does not wait for a last heartbeat.
  await rig.close();
  await created?.stop();
});

const until = (isSo: () => boolean | Promise<boolean>): Promise<void> => untilSo(isSo, () => warnings.join());

/** Like `until`, and advances the clock of the reporter by one second per check. */
const untilLater = (condition: () => boolean | Promise<boolean>): Promise<void> =>
  until(async () => {
    await clock.pass(1_000);
    return condition();
  });

const asAdmin = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/api/v1${path}`, {
    ...init,
    headers: { 'x-admin-key': ADMIN_KEY, 'content-type': 'application/json' },
  });

const stored = async (part: string): Promise<Record<string, unknown> | null> => {
  const response = await asAdmin(`/agents/shop/${part}`);
  const body = (await response.json()) as Record<string, unknown>;
  return response.ok ? body : null;
};

/** The reporter of a registered agent. Only a heartbeat that is sent early arrives before the clock passes a minute. */
async function createRegistered(options: Partial<ReporterOptions>): Promise<Reporter> {
  const body = JSON.stringify({ agentName: 'shop', runtime: 'local' });
  const response = await asAdmin('/register', { method: 'POST', body });
  const { apiKey: key } = (await response.json()) as { apiKey: string };
  const logger = {
    warn: (message: string) => void warnings.push(message),
    info: () => undefined,
    debug: () => undefined,
  };
  created = createReporter({
    ...{ manifest: MANIFEST, env: {}, push: { url, key, intervalSeconds: 60 }, logger, clock },
    ...options,
  });
  return created;
}

describe('push mode with a real control plane', () => {
  test('proofs: a proof in the control plane counts in score and evidence until it is removed', async () => {
    const evaluation = { datasets: [{ name: 'orders', path: 'orders.jsonl' }] };
    const manifest = { ...MANIFEST, spec: { ...MANIFEST.spec, evaluation } };
    const reporter = await createRegistered({ manifest });
    const proof = '/agents/shop/proof/rule/EVAL-01';
    const body = JSON.stringify({ verifiedBy: 'ci', method: 'automated' });
    expect((await asAdmin(proof, { method: 'POST', body })).ok).toBe(true);
    reporter.start();
    const gapHas = async (property: string): Promise<boolean | undefined> => {
      const gap = (await stored('gap')) as { issues: { property: string }[] } | null;
      return gap?.issues.some((issue) => issue.property === property);
    };
    await until(async () => (await gapHas('evaluated')) === true);
    await until(() => clock.left().some((ms) => ms <= 1_000));
    await clock.pass(1_000);
    await until(async () => (await gapHas('evaluated')) === false);
    expect([await stored('gap'), await stored('proof')]).toMatchObject([
      {
        score: 70,
        evidence: { items: expect.arrayContaining([expect.objectContaining({ tier: 'proved' })]) },
      },
      [{ ruleId: 'EVAL-01', origin: 'control-plane', verifiedBy: 'ci' }],
    ]);
    expect((await asAdmin(proof, { method: 'DELETE' })).ok).toBe(true);
    await clock.pass(1.1 * 60_000, 60_000);
    await untilLater(async () => (await gapHas('evaluated')) === true);
    expect(await stored('proof')).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test('body limit: a report far above 64 KiB is truncated and accepted with its usage', async () => {
    const tools = Array.from({ length: 2_000 }, (_, n) => ({ name: `tool-${n}-${'x'.repeat(100)}` }));
    const reporter = await createRegistered({
      manifest: { ...MANIFEST, spec: { ...MANIFEST.spec, tools } },
      tools: [],
    });
    reporter.recordUsage('gpt', 7, 0);
    reporter.start();
    await until(async () => (await stored('usage')) !== null);
    expect([(await stored('usage'))?.['totalTokens'], (await stored('gap'))?.['grade']]).toEqual([7, 'F']);
    expect(warnings).toEqual(['heartbeat shortened to the size limit']);
  });
});
