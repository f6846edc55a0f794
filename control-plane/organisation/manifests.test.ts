import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import type { AgentPolicy, Subject } from '../../core/organisation/finding.ts';
import { judge } from '../../core/organisation/judge.ts';
import type { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { Manifests } from './manifests.ts';

const { signal } = new AbortController();
const BAD = Buffer.from(manifestText('  tools: [{ name: shell_exec }]\n'));
const HASH = createHash('sha256').update(BAD).digest('hex');
const AT = new Date('2026-11-29T12:00:00Z');
const DAY_MS = 86_400_000;

const policyWith = (more: Partial<AgentPolicy['spec']> = {}): AgentPolicy => ({
  name: 'production',
  spec: { rules: [{ id: 'tools', action: 'Deny', tools: { forbidden: ['shell*'] } }], ...more },
});

/** A thread that counts its jobs. `isSlow`: none of them ends in time. */
function countingWorker() {
  const counts = { parsed: 0, judged: 0, isSlow: false };
  const worker = {
    parse(text: string) {
      counts.parsed += 1;
      return Promise.resolve(parseManifest(text));
    },
    judge(...[policies, subject, part]: Parameters<ManifestWorker['judge']>) {
      counts.judged += 1;
      return Promise.resolve(counts.isSlow ? null : judge(policies, subject, undefined, part));
    },
  };
  return { counts, manifests: new Manifests(worker as unknown as ManifestWorker) };
}

async function setUp() {
  const { counts, manifests } = countingWorker();
  await manifests.remember(BAD, { namespace: 'shop', signal });
  const manifest = manifests.get(HASH);
  if (manifest === null) throw new Error('not remembered');
  const subject: Subject = {
    ...{ namespace: 'shop', labels: {}, names: ['chat'], manifest, observation: null, at: AT },
  };
  const brokenBy = async (policies: AgentPolicy[], change: Partial<Subject> = {}) =>
    (await manifests.judge(HASH, policies, { subject: { ...subject, ...change }, signal }))?.judgement
      ?.brokenTotal;
  return { counts, manifests, brokenBy };
}

test('parses a manifest once', async () => {
  const { counts, manifests } = await setUp();
  await manifests.remember(BAD, { namespace: 'other', signal });
  expect(counts.parsed).toBe(1);
});

test('judges a manifest once for the same rules and subject', async () => {
  const { counts, brokenBy } = await setUp();
  const policies = [policyWith()];
  expect([await brokenBy(policies), await brokenBy([policyWith()])]).toEqual([1, 1]);
  expect(counts.judged).toBe(1);
});

test.each<[string, AgentPolicy, Partial<Subject>, number]>([
  ['the rules', policyWith({ rules: [] }), {}, 0],
  ['the namespace', policyWith(), { namespace: 'other' }, 1],
  ['the labels', policyWith(), { labels: { env: 'test' } }, 1],
  ['the names', policyWith(), { names: ['chat', 'shop'] }, 1],
])('judges it again after a change of %s', async (_, policy, change, broken) => {
  const { counts, brokenBy } = await setUp();
  await brokenBy([policyWith()]);
  expect(await brokenBy([policy], change)).toBe(broken);
  expect(counts.judged).toBe(2);
});

test('judges it again when an exception ends', async () => {
  const { brokenBy } = await setUp();
  const expires = new Date(AT.getTime() + DAY_MS).toISOString();
  const policies = [
    policyWith({ exceptions: [{ namespace: 'shop', rules: ['tools'], reason: 'pilot', expires }] }),
  ];
  expect(await brokenBy(policies)).toBe(0);
  expect(await brokenBy(policies, { at: new Date(AT.getTime() + DAY_MS) })).toBe(1);
});

test('does not try a manifest that takes too long at each heartbeat', async () => {
  const { counts, brokenBy } = await setUp();
  counts.isSlow = true;
  const policies = [policyWith()];
  expect([await brokenBy(policies), await brokenBy(policies)]).toEqual([undefined, undefined]);
  expect(counts.judged).toBe(1);
  counts.isSlow = false;
  expect(await brokenBy(policies, { at: new Date(AT.getTime() + 600_000) })).toBe(1);
});
