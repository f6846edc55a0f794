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
import fc from '../../testing/random/properties.ts';
import { SEED } from '../../testing/random/seed.ts';
import { Organisation } from './organisation.ts';

const POLICY = `apiVersion: platform.io/v1
kind: AgentPolicy
metadata: {name: production}
spec:
  rules:
  - {id: models, action: Deny, models: {allowed: ["openai/gpt-4o*", "anthropic/*"]}}
  - {id: tools, action: Deny, severity: critical, tools: {forbidden: ["shell*", "delete_all_*"]}}
  - {id: hosts, action: Warn, hosts: {allowed: ["*.example.com"]}}
  - {id: guardrails, action: Deny, guardrails: {input: [pii-detector]}}
  - {id: budget, action: Deny, budget: {maxMonthlyUSD: 500}}
  - {id: confirm, action: Audit, confirmation: {tools: destructive}}
`;

const model = fc.record({
  provider: fc.constantFrom('openai', 'anthropic', 'mistral'),
  id: fc.constantFrom('gpt-4o-mini', 'gpt-5', 'claude-x'),
  apiKey: fc.constant('$env:KEY'),
});
const names = (...of: string[]) => fc.uniqueArray(fc.constantFrom(...of), { maxLength: 3 });
const manifest = fc.record({
  apiVersion: fc.constant('platform.io/v1'),
  kind: fc.constant('PlatformAgent'),
  metadata: fc.record({
    name: fc.constant('shop'),
    version: fc.constantFrom('1.0.0', '9.9.9'),
    description: fc.constant('Sells.'),
  }),
  spec: fc.record({
    model: fc
      .tuple(model, fc.option(fc.integer({ min: 0, max: 1_000 }), { nil: undefined }))
      .map(([each, maxMonthlyUSD]) => ({
        ...each,
        ...(maxMonthlyUSD !== undefined && { costControls: { maxMonthlyUSD } }),
      })),
    tools: names('shell_exec', 'search', 'delete_all_rows', 'pay').map((all) =>
      all.map((name) => ({ name })),
    ),
    egress: fc.record({
      hosts: names('api.example.com', 'other.org', '*.org'),
      tools: names('web_search', 'she*', 'files_*'),
    }),
    guardrails: fc.constantFrom({}, { input: [{ type: 'pii-detector' }] }),
  }),
});

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
    for (const document of fc.sample(manifest, { numRuns: 300, seed: SEED })) {
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
