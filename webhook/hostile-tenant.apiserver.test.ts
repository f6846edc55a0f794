// What the owner of a namespace can try to get a manifest past a Deny rule. Tried elsewhere:
// - `binaryData`, size, bombs of aliases, a changed label, a name with an exception, the webhook unavailable: manifests.apiserver.test.ts
// - a manifest that is older than the rule, until its pod starts: e2e/injection.test.ts and sidecar/organisation/organisation.test.ts
// - other keys, `items` and other volumes of a pod that brings its own sidecar: helm/guard.apiserver.test.ts
// - calls on lanes: sidecar/egress/organisation-lanes.test.ts; all pods while the webhook is down: e2e/guard.test.ts
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { judgeManifest } from '../cli/organisation.ts';
import { gateReply } from '../core/organisation/gate.ts';
import type { Volume } from '../core/injection/pod.ts';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { loadPolicies } from '../runtime/organisation-files.ts';
import { configMapOf, startManifestWebhook } from '../testing/cluster/manifest-webhook.ts';
import { optedInPod } from '../testing/cluster/pods.ts';
import { WebhookCluster } from '../testing/cluster/webhook-cluster.ts';
import { POLICY, ruledManifest } from '../testing/manifests/ruled-manifests.ts';
import fc from '../testing/random/properties.ts';
import { SEED } from '../testing/random/seed.ts';
import { until } from '../testing/time/until.ts';
import type { Webhook } from './start.ts';

const labelled = (env: string) => ({ namespaceSelector: { matchLabels: { env } } });
const RULES = {
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentPolicy', metadata: { name: 'production' } },
  spec: {
    ...labelled('production'),
    rules: [
      { id: 'models', action: 'Deny', models: { allowed: ['openai/gpt-4o*', 'google/*'] } },
      { id: 'tools', action: 'Deny', tools: { forbidden: ['shell*'] } },
      { id: 'hosts', action: 'Deny', hosts: { allowed: ['*.example.com', '10.*'] } },
    ],
  },
};
/** The rules of the generated manifests. Each of them is in the message of a rejection. */
const GENERATED = POLICY.replaceAll(/action: \w+/g, 'action: Deny');

const HEAD = `apiVersion: platform.io/v1
kind: PlatformAgent
metadata: {name: chat, version: 1.0.0, description: Answers.}
spec:
`;
const MODEL = '  model: {provider: openai, id: gpt-4o, apiKey: $env:KEY}\n';
const SHELL = '  tools: [{name: shell_exec}]\n';
const GOOD = HEAD + MODEL;
const BAD = GOOD + SHELL;
const withModel = (provider: string, id: string) =>
  `${HEAD}  model: ${JSON.stringify({ provider, id, apiKey: '$env:KEY' })}\n`;
const withTool = (name: string) => `${GOOD}  tools: [{name: ${JSON.stringify(name)}}]\n`;
const withAddress = (address: string) =>
  `${GOOD}  requires: {services: [{name: store, address: ${JSON.stringify(address)}}]}\n`;

const BREAKS_TOOLS = 'tool shell_exec is forbidden by shell*';
const INVALID = 'agent.yaml is not a valid manifest, so the organisation rules cannot be checked: ';

(whyNoControlPlane() ? describe.skip : describe)('a hostile tenant at a real API server', () => {
  let cluster: WebhookCluster;
  let webhook: Webhook;
  const path = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;

  /** The message of the rejection; empty: the manifest may be written. */
  async function rejection(text: string, namespace = 'production'): Promise<string> {
    const body = configMapOf('manifest', text, namespace);
    const query = { dryRun: 'All' };
    const answer = await cluster.client.send({ method: 'POST', path: path(namespace), query, body });
    return answer.ok ? '' : answer.message;
  }
  async function label(namespace: string, env: string): Promise<void> {
    const { code, stderr } = await cluster.kubectl(['label', 'namespace', namespace, `env=${env}`]);
    if (code !== 0) throw new Error(stderr);
  }

  beforeAll(async () => {
    cluster = await WebhookCluster.open(['production', 'generated', 'older']);
    await label('production', 'production');
    await label('generated', 'generated');
    webhook = await startManifestWebhook(cluster);
    await cluster.pointTo(webhook.port);
    const generated = parse(GENERATED) as { spec: object };
    const named = { ...generated, metadata: { name: 'generated' } };
    await cluster.apply([RULES, { ...named, spec: { ...generated.spec, ...labelled('generated') } }]);
    await until(async () => (await rejection(BAD)).includes(BREAKS_TOOLS));
    await until(async () => (await rejection(BAD, 'generated')).includes(BREAKS_TOOLS));
    expect(await rejection(GOOD)).toBe('');
  });
  afterAll(async () => {
    await webhook.close();
    await cluster.close();
  });

  const comment = BAD.replaceAll(/^/gm, '# ');
  test.each<[string, string]>([
    ['an anchor that an alias uses as the tools', `${GOOD}  x-tools: &t [{name: shell_exec}]\n  tools: *t\n`],
    ['an alias of a name', `${GOOD}  x-name: &n shell_exec\n  tools: [{name: *n}]\n`],
    ['a quoted key with an escape', `${GOOD}  "t\\u006fols": [{name: shell_exec}]\n`],
    ['an escape in the name', `${GOOD}  tools: [{"n\\x61me": "sh\\u0065ll_exec"}]\n`],
    ['tags of YAML', `${GOOD}  !!str tools: !!seq [!!map {name: !!str shell_exec}]\n`],
    ['a folded name', `${GOOD}  tools:\n  - name: >-\n      shell_exec\n`],
    ['a key with a question mark', `${GOOD}  ? tools\n  : [{name: shell_exec}]\n`],
    ['a byte order mark', `\ufeff${BAD}`],
    ['line ends of Windows', BAD.replaceAll('\n', '\r\n')],
    ['a directive of YAML 1.1', `%YAML 1.1\n---\n${BAD}`],
    ['the start and the end of a document', `---\n${BAD}...\n`],
    ['a comment that is a good manifest', `${GOOD.replaceAll(/^/gm, '# ')}\n${BAD}`],
    ['JSON', JSON.stringify(parse(BAD))],
    ['a long line in front', BAD.replace('Answers.', 'x'.repeat(60_000))],
    ['many lines in front', '#\n'.repeat(30_000) + BAD],
    ['the list of further tools', `${GOOD}  egress: {tools: [shell_exec]}\n`],
  ])('cannot hide a tool by %s', async (_, text) => {
    expect(await rejection(text)).toContain(BREAKS_TOOLS);
  });

  test.each<[string, string, string]>([
    ['a merge key', `${HEAD}  model: {<<: {provider: openai, id: gpt-4o, apiKey: $env:KEY}}\n`, 'spec.model'],
    ['the same key with an escape', `${BAD}  "t\\u006fols": []\n`, 'duplicate key "tools"'],
    ['the same key with an anchor', `${BAD}  &a tools: []\n`, 'duplicate key "tools"'],
    ['a second document', `${GOOD}---\n${BAD}`, 'a second document begins here'],
    ['a second document behind an end', `${GOOD}...\n${BAD}`, 'a second document begins here'],
    ['a tag of its own', `${GOOD}  tools: !own [{name: shell_exec}]\n`, 'unresolved tag'],
    ['a set', `${GOOD}  tools: !!set {shell_exec}\n`, 'spec.tools: must be a list'],
    ['a binary value', `${GOOD}  tools: [{name: !!binary c2hlbGxfZXhlYw==}]\n`, 'spec.tools[0].name'],
    ['a tab as indentation', `${GOOD}\ttools: [{name: shell_exec}]\n`, 'tabs are not allowed'],
    ['a key of a prototype', `${GOOD}  __proto__: {tools: [{name: shell_exec}]}\n`, 'unknown key'],
    ['an alias of its own list', `${GOOD}  tools: &t [{name: shell_exec}, *t]\n`, 'contains it'],
    [
      // As a message between threads it would have 180 MB, which ends a process of the usual size.
      'a text that aliases repeat',
      `${GOOD}  x-a: &a "${'x'.repeat(45_000)}"\n  x-b: [${Array(4_000).fill('*a').join(', ')}]\n`,
      'more than 1048576 characters after alias expansion',
    ],
    ['several byte order marks', `\ufeff\ufeff\ufeff${BAD}`, 'unknown key'],
    ['only a comment', comment, 'file is empty'],
    ['a line end that only some parsers know', `${GOOD}\u0085${SHELL}`, 'unknown key'],
  ])('cannot write a manifest that others may read in another way: %s', async (_, text, problem) => {
    const message = await rejection(text);
    expect(message).toContain(INVALID);
    expect(message).toContain(problem);
  });

  test.each<[string, string]>([
    ['', 'shell'],
    ['with spaces behind it', 'shell '],
    ['of a server', 'files__shell'],
    ['of a server, as Claude writes it', 'mcp__files__shell_exec'],
    ['with half a character behind it', 'shell\ud800'],
    ['with a control character', 'shell\u0000'],
    ['that is long', `shell${'_'.repeat(60_000)}`],
  ])('cannot declare a forbidden tool %s', async (_, name) => {
    const server = '  mcp: {servers: [{name: files, command: files}]}\n';
    expect(await rejection(withTool(name) + server)).toContain(
      'production/tools (high) spec.tools[0].name: tool ',
    );
  });

  // The model calls a tool by exactly this name, and lanes compare it in the same way.
  test.each([
    ['upper case', 'SHELL_exec'],
    ['a look-alike letter', 'ѕhell_exec'],
    ['a character of no width', '\u200bshell_exec'],
    ['a space in front', ' shell_exec'],
  ])('can declare another tool, with %s', async (_, name) => {
    expect(await rejection(withTool(name))).toBe('');
  });

  test.each<[string, string, boolean]>([
    ['OpenAI', 'GPT-4O', true],
    [' openai ', 'gpt-4o-2024-08-06', true],
    ['openai', 'openai/models/gpt-4o', true],
    ['gemini', 'models/gemini-2.5-flash', true],
    ['openai', 'gpt-4', false],
    ['azure-openai', 'gpt-4o', false],
    ['anthropic', 'claude', false],
    ['openai', 'anthropic/gpt-4o', false],
    ['openai', 'router/Mistralai/gpt-4o', false],
    ['openai', 'gрt-4o', false],
    ['openai', 'gpt\u200b-4o', false],
    ['openai', 'ft:gpt-4o:tenant', false],
    ['openai\u200b', 'gpt-4o', false],
    ['google', 'anthropic/gemini', false],
  ])('may declare the model %j %j: %s', async (provider, id, isAllowed) => {
    const message = await rejection(withModel(provider, id));
    expect(message === '').toBe(isAllowed);
    if (!isAllowed) expect(message).toContain('production/models (high) spec.model.id: model ');
  });

  test.each<[string, boolean]>([
    ['redis://cache.example.com:6379', true],
    ['redis://CACHE.example.com.:6379/0', true],
    ['redis://user:secret@cache.example.com', true],
    ['10.1.2.3:6379', true],
    ['redis://localhost', true],
    ['redis://cache.example.org', false],
    ['redis://cache.example.com.evil.org', false],
    ['redis://cache.example.com@evil.org', false],
    ['redis://cache.example.com,evil.org', false],
    ['redis+tls://evil.org', false],
    ['other://evil.org/.example.com', false],
    ['https://evil.org#.example.com', false],
    ['https:///evil.org/.example.com', false],
    ['https://cache.example.com\\@evil.org', false],
    ['https://evil.org\\.example.com', false],
    ['postgres:///db?host=evil.org', false],
    ['https://cache.exаmple.com', false],
    ['https://cache.xn--exmple-4nf.com', false],
    ['https://cache。example。com', false],
    ['10.example.org:6379', false],
    ['http://2130706433:80', false],
    ['http://0x0a.1.2.3:80', false],
    ['http://[::ffff:10.1.2.3]:80', false],
  ])('may declare the address %s: %s', async (address, isAllowed) => {
    const message = await rejection(withAddress(address));
    expect(message === '').toBe(isAllowed);
    if (!isAllowed) expect(message).toContain('spec.requires.services[0].address: ');
  });

  describe('with a ConfigMap that is older than the rule', () => {
    const stored = `${path('older')}/stored`;
    const patch = async (operations: object[]): Promise<string> => {
      const contentType = 'application/json-patch+json';
      const answer = await cluster.client.send({
        method: 'PATCH',
        path: stored,
        body: operations,
        contentType,
      });
      return answer.ok ? '' : answer.message;
    };
    beforeAll(async () => {
      const object = { ...configMapOf('stored', BAD, 'older'), binaryData: { bytes: 'eA==' } };
      await cluster.apply([{ ...object, data: { ...object.data, other: BAD, older: `# older\n${BAD}` } }]);
      await label('older', 'production');
      await until(async () => (await rejection(BAD, 'older')) !== '');
    });

    test.each<[string, object[]]>([
      ['change its manifest', [{ op: 'replace', path: '/data/agent.yaml', value: `${BAD}#` }]],
      [
        'change manifest and labels',
        [
          { op: 'add', path: '/metadata/labels', value: { 'platform.io/rules': 'off' } },
          { op: 'replace', path: '/data/agent.yaml', value: `${BAD}# changed\n` },
        ],
      ],
      ['copy another key', [{ op: 'copy', from: '/data/older', path: '/data/agent.yaml' }]],
      [
        'move the manifest to binaryData',
        [
          { op: 'remove', path: '/data/agent.yaml' },
          { op: 'move', from: '/binaryData/bytes', path: '/binaryData/agent.yaml' },
        ],
      ],
    ])('cannot %s', async (_, operations) => {
      expect(await patch(operations)).toContain('denied the request: ');
    });

    test('can correct it, and cannot go back', async () => {
      expect(await patch([{ op: 'replace', path: '/data/agent.yaml', value: GOOD }])).toBe('');
      const back = [{ op: 'move', from: '/data/other', path: '/data/agent.yaml' }];
      expect(await patch(back)).toContain(BREAKS_TOOLS);
    });
  });

  const FILE = { key: 'other', path: 'agent.yaml' };
  test.each<[string, Volume]>([
    ['another key', { name: 'platform-manifest', configMap: { name: 'chat-manifest', items: [FILE] } }],
    ['another ConfigMap', { name: 'platform-manifest', configMap: { name: 'other' } }],
    ['an optional ConfigMap', { name: 'platform-manifest', configMap: { name: 'x', optional: true } }],
    ['a directory', { name: 'platform-manifest', emptyDir: {} }],
    ['a Secret', { name: 'platform-manifest', secret: { secretName: 'chat-manifest' } }],
    [
      'a projected volume',
      {
        name: 'platform-manifest',
        projected: { sources: [{ configMap: { name: 'other', items: [FILE] } }] },
      },
    ],
  ])('cannot give the sidecar a manifest from %s', async (_, volume) => {
    const answer = await cluster.create(optedInPod({ spec: { volumes: [volume] } }), 'production');
    expect(answer.ok ? '' : answer.message).toContain('volume platform-manifest: this name is reserved');
  });

  test('300 manifests have the same findings as in CI', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'equal-'));
    writeFileSync(join(cwd, 'org.yaml'), GENERATED.replace('name: production', 'name: generated'));
    try {
      const loaded = await loadPolicies(join(cwd, 'org.yaml'), 'org.yaml');
      if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
      let denials = 0;
      for (const document of fc.sample(ruledManifest, { numRuns: 300, seed: SEED })) {
        const text = stringify(document);
        const parsed = parseManifest(text);
        if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
        const about = { path: 'org.yaml', flags: {}, proofs: null };
        const inCi = await judgeManifest(parsed.manifest, about, { cwd, now: () => new Date() });
        if (!inCi.ok) throw new Error(inCi.reason);
        const { denied } = gateReply('shop', loaded.policies, inCi.judgement);
        const expected =
          denied === null ? '' : `admission webhook "manifest.platform.io" denied the request: ${denied}`;
        expect(await rejection(text, 'generated')).toBe(expected);
        denials += denied === null ? 0 : 1;
      }
      expect(denials).toBeGreaterThan(100);
      expect(denials).toBeLessThan(300);
    } finally {
      rmSync(cwd, { recursive: true });
    }
  });
});
