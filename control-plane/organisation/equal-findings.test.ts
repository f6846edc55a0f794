// One file of rules gives the same findings in CI, at admission and in the control plane.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { judgeManifest } from '../../cli/organisation.ts';
import { gateReply } from '../../core/organisation/gate.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { loadPolicies } from '../../runtime/organisation-files.ts';
import { startControlPlaneRig } from '../../testing/fleet/control-plane-rig.ts';
import { POLICY, ruledManifest } from '../../testing/manifests/ruled-manifests.ts';
import fc from '../../testing/random/properties.ts';
import { SEED } from '../../testing/random/seed.ts';
import { Organisation } from './organisation.ts';

test('300 manifests have the same findings through the CLI, the control plane and the webhook', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'equal-'));
  writeFileSync(join(cwd, 'org.yaml'), POLICY);
  const loaded = await loadPolicies(join(cwd, 'org.yaml'), 'org.yaml');
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  const { policies } = loaded;
  const worker = new ManifestWorker();
  const rules = { policies: () => policies, problem: () => null, invalid: () => [], labelsOf: () => ({}) };
  const rig = await startControlPlaneRig({ organisation: new Organisation(rules, worker) });
  const { apiKey } = await rig.register('shop');
  const now = () => new Date('2026-11-28T12:00:00Z');
  let broken = 0;
  try {
    for (const document of fc.sample(ruledManifest, { numRuns: 300, seed: SEED })) {
      const text = stringify(document);
      const parsed = parseManifest(text);
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
      const about = { path: 'org.yaml', flags: {}, proofs: null };
      const inCi = await judgeManifest(parsed.manifest, about, { cwd, now });
      const { body } = await rig.send('PUT', '/api/v1/manifest', {
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/yaml' },
        body: text,
      });
      if (!inCi.ok) throw new Error(inCi.reason);
      const { findings } = inCi.judgement;
      expect((body as { findings: object[] }).findings).toEqual(findings);
      const { denied } = gateReply('shop', policies, inCi.judgement);
      const denials = findings.filter(({ action }) => action === 'Deny');
      expect(denied?.split('\n').slice(1) ?? []).toHaveLength(denials.length);
      expect((body as { allowed: boolean }).allowed).toBe(denied === null);
      broken += denials.length > 0 ? 1 : 0;
    }
  } finally {
    await rig.close();
    await worker.close();
    rmSync(cwd, { recursive: true });
  }
  // Both results occur.
  expect(broken).toBeGreaterThan(100);
  expect(broken).toBeLessThan(300);
});
