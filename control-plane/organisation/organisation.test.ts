import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AgentPolicy, RuleSource } from '../../core/organisation/finding.ts';
import { parsePolicy } from '../../core/organisation/parse-policy.ts';
import type { ManifestChange } from '../../core/shapes/manifest-change.ts';
import type { NotJudged, OrganisationStatus } from '../../core/shapes/organisation.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { startControlPlaneRig, type ControlPlaneRig } from '../../testing/fleet/control-plane-rig.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { Organisation } from './organisation.ts';

const worker = new ManifestWorker();
afterAll(() => worker.close());

const policyOf = (spec: object): AgentPolicy => {
  const parsed = parsePolicy({
    apiVersion: 'platform.io/v1',
    kind: 'AgentPolicy',
    metadata: { name: 'production' },
    spec,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
};
const FORBIDDEN = policyOf({
  rules: [
    { id: 'tools', action: 'Deny', tools: { forbidden: ['shell*'] } },
    { id: 'version', action: 'Warn', expression: 'manifest.metadata.version == "1.0.0"' },
    { id: 'proofs', action: 'Audit', proofs: { required: ['MEM-01'] } },
  ],
});

const GOOD = manifestText('  tools: [{ name: search }]\n');
const BAD = manifestText('  tools: [{ name: shell_exec }]\n');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const { signal } = new AbortController();
const AGENT = { namespace: 'a', name: 'minimal' };
const sender = { namespace: 'a', signal };

let policies: AgentPolicy[] | null;
let problem: string | null;
let invalid: NotJudged[];
let labels: Record<string, string> | null;
const RULES: RuleSource = {
  policies: () => policies,
  problem: () => problem,
  invalid: () => invalid,
  labelsOf: () => labels,
};

let rig: ControlPlaneRig;
let key: string;
beforeEach(async () => {
  policies = [FORBIDDEN];
  problem = null;
  invalid = [];
  labels = { env: 'production' };
  rig = await startControlPlaneRig({ organisation: new Organisation(RULES, worker) });
  key = (await rig.register('minimal')).apiKey;
});
afterEach(() => rig.close());

const put = (text: string) =>
  rig.send('PUT', '/api/v1/manifest', {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/yaml' },
    body: text,
  });

interface Detail {
  status: {
    organisation?: OrganisationStatus;
    manifestChange?: ManifestChange;
    conditions: { type: string; status: string; reason: string }[];
  };
}
let seq = 0;
const beat = async (text: string | null, revision: string | null = null) => {
  const { body } = await rig.heartbeat(key, {
    seq: ++seq,
    sidecarVersion: '0.2.0',
    manifestHash: text === null ? null : hashOf(text),
    organisationRevision: revision,
  });
  const { status } = (await rig.admin('GET', '/agents/minimal')).body as Detail;
  const condition = status.conditions.find(({ type }) => type === 'Allowed');
  return { reply: body, status, allowed: `${condition?.status} ${condition?.reason}` };
};

describe('PUT /api/v1/manifest', () => {
  test('allows a manifest, with the rules for the lanes', async () => {
    expect(await put(GOOD)).toMatchObject({
      status: 200,
      body: {
        ...{ manifestHash: hashOf(GOOD), allowed: true, findings: [] },
        organisation: { revision: expect.any(String), tools: { forbidden: ['shell*'] } },
      },
    });
  });

  test('does not allow a manifest that breaks a Deny rule', async () => {
    expect(await put(BAD)).toMatchObject({
      status: 200,
      body: {
        allowed: false,
        findings: [{ policy: 'production', rule: 'tools', path: 'spec.tools[0].name' }],
      },
    });
  });

  test('returns null while the rules are not known', async () => {
    policies = null;
    expect(await put(BAD)).toMatchObject({ status: 200, body: { allowed: null, findings: [] } });
  });

  test.each([
    ['no manifest', 'kind: 1\n'],
    ['nothing', ''],
  ])('does not allow %s where a Deny rule applies, and else rejects it', async (_, text) => {
    const message = expect.stringContaining('is not a valid manifest');
    expect(await put(text)).toMatchObject({
      status: 200,
      body: { allowed: false, findings: [{ rule: 'tools', action: 'Deny', message }] },
    });
    policies = [];
    expect(await put(text)).toMatchObject({ status: 400 });
  });

  test('does not allow a manifest that takes too long where a Deny rule applies', async () => {
    const slow = new ManifestWorker();
    slow.judge = () => Promise.resolve(null);
    const organisation = new Organisation(RULES, slow);
    const judged = async (text: string) => {
      await organisation.remember(Buffer.from(text), sender);
      return organisation.judgeManifest(AGENT, hashOf(text), { at: new Date(), signal });
    };
    expect(await judged(GOOD)).toMatchObject({ allowed: false, findings: [{ rule: 'tools' }] });
    policies = [policyOf({ rules: FORBIDDEN.spec.rules.slice(1) })];
    expect(await judged(GOOD)).toMatchObject({ allowed: null });
    await slow.close();
  });

  test('does not allow a manifest of more than 64 KiB where a Deny rule applies', async () => {
    const large = `# ${'x'.repeat(65_536)}\n${GOOD}`;
    expect(await put(large)).toMatchObject({
      status: 200,
      body: {
        allowed: false,
        findings: [
          {
            ...{ policy: 'production', rule: 'tools', action: 'Deny' },
            message: `agent.yaml has ${large.length} bytes; at most 65536 can be checked`,
          },
        ],
      },
    });
    policies = [policyOf({ rules: FORBIDDEN.spec.rules.slice(1) })];
    expect(await put(large)).toMatchObject({ status: 413 });
  });

  test('returns null while a Deny rule may apply and the labels of the namespace are not known', async () => {
    labels = null;
    expect(await put(GOOD)).toMatchObject({ body: { allowed: true } });
    const selector = { namespaceSelector: { matchLabels: { env: 'production' } } };
    policies = [policyOf({ ...FORBIDDEN.spec, ...selector })];
    expect(await put(GOOD)).toMatchObject({
      body: {
        allowed: null,
        notJudged: [{ policy: 'production', reason: expect.stringContaining('labels') }],
      },
    });
    policies = [policyOf({ ...selector, rules: FORBIDDEN.spec.rules.slice(1) })];
    expect(await put(GOOD)).toMatchObject({ body: { allowed: true } });
  });

  test('lists invalid policies', async () => {
    invalid = [{ policy: 'broken', reason: 'why' }];
    expect(await put(GOOD)).toMatchObject({ body: { allowed: true, notJudged: invalid } });
  });

  test('counts a manifest once that many pods send at the same time', async () => {
    const organisation = new Organisation(RULES, worker);
    const texts = [1, 2, 3, 4].map((each) => Buffer.from(`# ${each} ${'x'.repeat(60_000)}\n${GOOD}`));
    // Counted for each sender, they would need more than the memory for manifests.
    for (const text of texts)
      await Promise.all(Array.from({ length: 300 }, () => organisation.remember(text, sender)));
    const hash = createHash('sha256').update(texts[0]!).digest('hex');
    expect((await organisation.prepare(AGENT, hash, { at: new Date(), signal })).isManifestKnown).toBe(true);
  });

  test('needs the key of an agent', async () => {
    expect(await rig.send('PUT', '/api/v1/manifest', { body: GOOD })).toMatchObject({ status: 401 });
  });
});

describe('GET /api/v1/agents/{name}/organisation', () => {
  test('has the result, the conditions, what is allowed, declared and observed', async () => {
    await put(BAD);
    await beat(BAD);
    expect(await rig.admin('GET', '/agents/minimal/organisation')).toMatchObject({
      status: 200,
      body: {
        agentName: 'minimal',
        allowed: { status: 'False', reason: 'RuleBroken' },
        compliant: { status: 'False', reason: 'NotAllowed' },
        organisation: { brokenTotal: 2, manifestHash: hashOf(BAD) },
        policies: [{ name: 'production', rules: 3, excepted: [] }],
        allows: { tools: { forbidden: ['shell*'] } },
        declared: { tools: { items: [{ name: 'shell_exec', breaks: ['production/tools'] }], total: 1 } },
        observed: { models: null },
      },
    });
  });

  test('does not know what a manifest declares that was not sent, or the rules before they are read', async () => {
    await beat(GOOD);
    policies = null;
    expect((await rig.admin('GET', '/agents/minimal/organisation')).body).toMatchObject({
      ...{ policies: null, allows: null, declared: null },
    });
  });

  test('is 404 for another agent', async () => {
    expect(await rig.admin('GET', '/agents/other/organisation')).toMatchObject({ status: 404 });
  });
});

describe('a heartbeat', () => {
  test('asks for an unknown manifest, and is judged when it is known', async () => {
    const first = await beat(BAD);
    expect(first.reply).toMatchObject({ manifest: 'wanted', organisation: { revision: expect.any(String) } });
    expect(first.allowed).toBe('Unknown NotJudged');
    await put(BAD);
    const second = await beat(BAD);
    expect(second.allowed).toBe('False RuleBroken');
    expect(second.status.organisation).toMatchObject({
      manifestHash: hashOf(BAD),
      brokenTotal: 2,
      broken: [{ rule: 'tools', action: 'Deny' }, { rule: 'proofs' }],
    });
    expect(second.reply).not.toHaveProperty('manifest');
  });

  test('gets the rules of the lanes once per revision, and again after a change', async () => {
    await put(GOOD);
    const { revision } = ((await beat(GOOD)).reply as { organisation: { revision: string } }).organisation;
    expect((await beat(GOOD, revision)).reply).toBe('');
    policies = [];
    expect((await beat(GOOD, revision)).reply).toMatchObject({ organisation: { tools: { forbidden: [] } } });
    expect((await beat(GOOD)).reply).toBe('');
  });

  test('of an agent that no policy selects has no result', async () => {
    policies = [policyOf({ ...FORBIDDEN.spec, namespaceSelector: { matchLabels: { env: 'test' } } })];
    const { reply, status, allowed } = await beat(BAD);
    expect([reply, status.organisation, allowed]).toEqual(['', undefined, 'True NoPolicy']);
  });

  test('is never allowed by a policy that is not valid', async () => {
    await put(GOOD);
    invalid = [{ policy: 'broken', reason: 'the policy is not valid: spec.rules: must be a list' }];
    expect((await beat(GOOD)).allowed).toBe('Unknown NotJudged');
  });

  test('keeps the last result until a new process knows the policies and the manifest', async () => {
    await put(BAD);
    const before = (await beat(BAD)).status.organisation;
    policies = null;
    expect((await beat(BAD)).status.organisation).toEqual(before);
    problem = 'forbidden';
    expect((await beat(BAD)).allowed).toBe('Unknown NotJudged');
    await rig.close();
    policies = [FORBIDDEN];
    rig = await startControlPlaneRig({ organisation: new Organisation(RULES, worker) });
    key = (await rig.register('minimal')).apiKey;
    // Another manifest than the judged one.
    expect((await beat(GOOD)).allowed).toBe('Unknown NotJudged');
  });

  test('keeps since when a rule is broken while other rules change', async () => {
    await put(BAD);
    const sinceOf = async (): Promise<unknown[]> =>
      (await beat(BAD)).status.organisation?.broken.map(({ rule, since }) => [rule, since]) ?? [];
    policies = [policyOf({ rules: [FORBIDDEN.spec.rules[0]] })];
    expect(await sinceOf()).toEqual([['tools', '2026-03-01T10:00:00Z']]);
    rig.clock.advance(60_000);
    policies = [FORBIDDEN];
    expect(await sinceOf()).toEqual([
      ['tools', '2026-03-01T10:00:00Z'],
      ['proofs', '2026-03-01T10:01:00Z'],
    ]);
  });

  test('changes judgedAt only with the result', async () => {
    await put(BAD);
    const before = (await beat(BAD)).status.organisation?.judgedAt;
    rig.clock.advance(60_000);
    expect((await beat(BAD)).status.organisation?.judgedAt).toBe(before);
    policies = [policyOf({ rules: [FORBIDDEN.spec.rules[0]] })];
    expect((await beat(BAD)).status.organisation?.judgedAt).not.toBe(before);
  });
});

test('GET /api/v1/organisation has the number of agents per broken rule', async () => {
  await put(BAD);
  await beat(BAD);
  invalid = [{ policy: 'broken', reason: 'why' }];
  expect(await rig.admin('GET', '/organisation')).toMatchObject({
    status: 200,
    body: {
      policies: [
        {
          ...{ name: 'production', agents: 1, broken: 1, notJudged: 0, exceptions: [] },
          rules: [
            { id: 'tools', action: 'Deny', severity: 'high', check: 'tools', broken: 1, wouldBlock: null },
            { id: 'version', check: 'expression', broken: 0, wouldBlock: 0, agents: [] },
            { id: 'proofs', broken: 1, agents: [{ agentName: 'minimal', since: '2026-03-01T10:00:00Z' }] },
          ],
        },
      ],
      invalid: [{ policy: 'broken', reason: 'why' }],
    },
  });
  policies = null;
  expect(await rig.admin('GET', '/organisation')).toMatchObject({ status: 503 });
});

test('a changed manifest is compared with the one before, if both are known', async () => {
  policies = [];
  await put(GOOD);
  await put(BAD);
  await beat(GOOD);
  expect((await beat(BAD)).status.manifestChange).toMatchObject({
    ...{ from: hashOf(GOOD), to: hashOf(BAD), severity: 'LOW', scoreChange: -3 },
    summary: 'LOW, -3 points: spec.tools[shell_exec] added; spec.tools[search] removed',
  });
  const { summary, ...change } = (await beat('unknown')).status.manifestChange ?? {};
  expect([change, summary]).toEqual([
    { at: expect.any(String), from: hashOf(BAD), to: hashOf('unknown') },
    expect.stringContaining('what changed is not known'),
  ]);
});
