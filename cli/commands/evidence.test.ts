import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { EvidenceBundle } from '../../authoring/evidence/bundle.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import {
  ADMIN_KEY,
  startControlPlaneRig,
  type ControlPlaneRig,
} from '../../testing/fleet/control-plane-rig.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { logLines, logText } from '../../testing/record/log-lines.ts';
import { sampleEvents, SAMPLE_SOURCE } from '../../testing/record/sample-events.ts';
import { startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import type { Rendered } from '../rendered.ts';

const { names, read, run, write } = commandFolder();

const DAYS = '--from 2026-03-01 --to 2026-03-01';
const NOW = { now: () => new Date('2026-03-01T13:00:00.000Z') };
const MANIFEST = manifestText().replace('name: minimal', 'name: shop');
const LOG = logLines(Object.values(sampleEvents()));
const NAMES = ['evidence.dsse.json', 'evidence.html', 'evidence.json', 'evidence.sigstore.json'];

const pem = (key: KeyObject, passphrase?: string): string =>
  key
    .export(
      key.type === 'public'
        ? { type: 'spki', format: 'pem' }
        : { type: 'pkcs8', format: 'pem', ...(passphrase && { cipher: 'aes-256-cbc', passphrase }) },
    )
    .toString();
const P256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ED25519 = generateKeyPairSync('ed25519');

const bundleIn = (directory: string): EvidenceBundle =>
  JSON.parse(read(`${directory}/evidence.json`)) as EvidenceBundle;

beforeEach(() => {
  write('agent.yaml', MANIFEST);
  write('audit.log', logText(LOG));
  write('ci.pem', pem(P256.privateKey));
  write('ci.pub', pem(P256.publicKey));
  write('ed.pem', pem(ED25519.privateKey));
  write('ed.pub', pem(ED25519.publicKey));
});

const make = (options = '--log audit.log --key ci.pem', out = 'out', env = {}): Promise<Rendered> =>
  run(`evidence shop ${DAYS} --out ${out} ${options}`, { ...NOW, env });
const verify = (options = '--pub ci.pub --log audit.log', directory = 'out'): Promise<Rendered> =>
  run(`evidence verify ${directory} ${options}`);

describe.each([
  ['P-256', 'ci'],
  ['Ed25519', 'ed'],
])('a bundle signed with %s', (_kind, key) => {
  test('is verified', async () => {
    const made = await make(`--log audit.log --key ${key}.pem`);
    expect(made).toMatchObject({ errors: '', exitCode: 0 });
    expect(names('out')).toEqual(NAMES);
    const { output, exitCode } = await verify(`--pub ${key}.pub --log audit.log --json`);
    const result = JSON.parse(output) as { keyid: string };
    expect(result).toMatchObject({
      ...{ verified: true, problems: [], agent: { name: 'shop', namespace: null } },
      files: [
        { name: 'evidence.json', verified: true },
        { name: 'evidence.html', verified: true },
      ],
      log: { lines: LOG.length, chains: [{ last: LOG.length, heads: 1 }], absent: [] },
    });
    expect(exitCode).toBe(0);
    expect(made.output).toContain(`signed with the key ${result.keyid}`);
  });
});

describe('verify', () => {
  beforeEach(async () => {
    expect(await make()).toMatchObject({ exitCode: 0 });
  });

  const changed = (name: string, edit: (text: string) => string): void => {
    const before = read(`out/${name}`);
    const after = edit(before);
    expect(after).not.toBe(before);
    write(`out/${name}`, after);
  };
  /** The payload of both forms with another text; the signatures stay. */
  const otherPayload = (name: string, edit: (payload: string) => string): void =>
    changed(name, (text) =>
      text.replace(/"payload":"([^"]+)"/, (_all, payload: string) => {
        const edited = edit(Buffer.from(payload, 'base64').toString());
        return `"payload":"${Buffer.from(edited).toString('base64')}"`;
      }),
    );

  test.each<[title: string, tamper: () => void, problem: string]>([
    [
      'a changed evidence.json',
      () => changed('evidence.json', (text) => text.replace('"name": "shop"', '"name": "shop2"')),
      'evidence.json was changed after it was signed',
    ],
    [
      'a changed page',
      () => changed('evidence.html', (text) => text.replace('contradicted', 'shown')),
      'evidence.html was changed after it was signed',
    ],
    [
      'a changed statement',
      () => otherPayload('evidence.dsse.json', (text) => text.replace('"shop"', '"shop2"')),
      'evidence.dsse.json is not signed with this key, or was changed',
    ],
    [
      'a changed Sigstore bundle',
      () => otherPayload('evidence.sigstore.json', (text) => text.replace('"shop"', '"shop2"')),
      'evidence.sigstore.json is not signed with this key, or was changed',
    ],
    [
      'a removed signature',
      () => changed('evidence.dsse.json', (text) => text.replace(/"signatures":\[.*\]/, '"signatures":[]')),
      'evidence.dsse.json is not signed with this key, or was changed',
    ],
    [
      'another type of the payload',
      () => changed('evidence.dsse.json', (text) => text.replace('vnd.in-toto+json', 'json')),
      'evidence.dsse.json is not valid: payloadType must be one of application/vnd.in-toto+json',
    ],
    ['no JSON', () => write('out/evidence.dsse.json', '{'), 'evidence.dsse.json is not valid'],
    [
      'a changed line of the log',
      () => write('audit.log', logText(LOG).replace('"outcome":"allow"', '"outcome":"denied"')),
      'log line 2: ',
    ],
    [
      'a shortened log',
      () => write('audit.log', logText(LOG.slice(0, 5))),
      `log line 5: head ${LOG.length} is known, the chain ends at 5`,
    ],
    [
      'a log that was written again',
      () =>
        write(
          'audit.log',
          logText(logLines(Object.values(sampleEvents()), { ...SAMPLE_SOURCE, version: '6.6.6' })),
        ),
      `log line ${LOG.length}: differs from the head that was sent for ${LOG.length}`,
    ],
  ])('rejects %s', async (_title, tamper, problem) => {
    tamper();
    const { output, errors, exitCode } = await verify();
    expect(output + errors).toContain(problem);
    expect(output + errors).not.toMatch(/^verified/m);
    expect(exitCode).toBe(1);
  });

  test('rejects the signature of another key, and files of another bundle', async () => {
    expect(await verify('--pub ed.pub')).toMatchObject({
      errors: 'error: evidence.dsse.json is not signed with this key, or was changed\n',
      exitCode: 1,
    });
    await make('--log audit.log --key ci.pem --namespace retail', 'other');
    write('out/evidence.sigstore.json', read('other/evidence.sigstore.json'));
    expect((await verify()).errors).toBe(
      'error: evidence.dsse.json and evidence.sigstore.json are of different bundles\n',
    );
    write('out/evidence.dsse.json', read('other/evidence.dsse.json'));
    expect((await verify()).output).toMatch(
      /^NOT verified: .*\n.*\nevidence\.json: differs\nevidence\.html: differs$/m,
    );
  });

  test('prints what the bundle does not include', async () => {
    const { output } = await verify('--pub ci.pub');
    expect(output).toMatch(/^verified: evidence of shop, from 2026-03-01T00:00:00\.000Z to 2026-03-02T/);
    expect(output).toContain('not included: image digests: ');
    expect(output).toContain('not included: reports of a control plane or a sidecar: ');
  });

  test.each([
    ['--pub none.pub', 'cannot read none.pub: does not exist'],
    ['--pub agent.yaml', 'agent.yaml contains no public key: expected a P-256 or Ed25519 key as PEM'],
    ['--pub ci.pem', 'ci.pem contains a private key; pass the public key: openssl pkey -in ci.pem -pubout'],
    ['--pub ci.pub --log none.log', 'cannot read none.log: does not exist'],
  ])('%s: what is wrong', async (options, problem) => {
    expect(await verify(options)).toEqual({ output: '', errors: `error: ${problem}\n`, exitCode: 1 });
  });

  test('an unsigned bundle is not verified', async () => {
    const { output } = await make('--log audit.log', 'unsigned');
    expect(output).toContain('not signed: pass --key to sign the bundle');
    expect(names('unsigned')).toEqual(['evidence.html', 'evidence.json']);
    expect((await verify(undefined, 'unsigned')).errors).toBe(
      'error: cannot read evidence.dsse.json: does not exist\n',
    );
  });
});

describe('the signing key', () => {
  test.each<[title: string, content: string, problem: string]>([
    ['not a key', 'hello', 'key.pem contains no private key: expected a P-256 or Ed25519 key as PEM'],
    ['a public key', pem(P256.publicKey), 'key.pem contains no private key: '],
    [
      'damaged',
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
      'cannot use the key in key.pem: its PEM is not valid',
    ],
    [
      'RSA',
      pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
      'key.pem has a key of another kind: ',
    ],
    [
      'P-384',
      pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey),
      'key.pem has a key of another kind: ',
    ],
    [
      'in the form of cosign',
      '-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n',
      'key.pem is a key in the form of cosign, which only cosign reads; create one: openssl genpkey ',
    ],
    [
      'encrypted',
      pem(P256.privateKey, 'a passphrase'),
      'key.pem is encrypted: set PLATFORM_EVIDENCE_PASSPHRASE, or decrypt it first: openssl pkey -in key.pem -out KEY.pem',
    ],
  ])('%s: what is wrong, and nothing is written', async (_title, content, problem) => {
    write('key.pem', content);
    const { errors, exitCode } = await make('--log audit.log --key key.pem');
    expect(errors).toContain(`error: ${problem}`);
    expect(exitCode).toBe(1);
    expect(names()).not.toContain('out');
  });

  test('is decrypted with the passphrase of the environment', async () => {
    write('key.pem', pem(P256.privateKey, 'a passphrase'));
    const options = '--log audit.log --key key.pem';
    expect((await make(options, 'out', { PLATFORM_EVIDENCE_PASSPHRASE: 'wrong' })).errors).toBe(
      'error: cannot use the key in key.pem: the passphrase in PLATFORM_EVIDENCE_PASSPHRASE does not decrypt it\n',
    );
    await make(options, 'out', { PLATFORM_EVIDENCE_PASSPHRASE: 'a passphrase' });
    expect((await verify()).exitCode).toBe(0);
  });
});

describe('bad input', () => {
  test.each([
    ['evidence', 'the name of the agent is required'],
    ['evidence shop', '--from and --to are required'],
    [`evidence shop ${DAYS}`, '--out is required'],
    [
      `evidence shop ${DAYS} --out x`,
      '--url, --sidecar or --log is required (or set PLATFORM_CONTROL_PLANE_URL)',
    ],
    ['evidence shop --from 2026-03-02 --to 2026-03-01 --out x', '--to is before --from'],
    ['evidence shop --from 2026-02-30 --to 2026-03-01', 'Must be a day such as 2026-11-30.'],
    [`evidence shop ${DAYS} --out x --log none.log`, 'cannot read none.log: does not exist'],
    [`evidence shop ${DAYS} --out x --log .`, 'cannot read .: is a directory'],
    [
      `evidence shop ${DAYS} --out x --log audit.log --manifest none.yaml`,
      'none.yaml is not a valid manifest: does not exist',
    ],
    [
      `evidence other ${DAYS} --out x --log audit.log --manifest agent.yaml`,
      'agent.yaml is the manifest of shop, not of other',
    ],
    [
      `evidence other ${DAYS} --out x --sidecar localhost:1`,
      '--sidecar requires the manifest of the agent (--manifest)',
    ],
    [`evidence shop ${DAYS} --out x --url localhost:1`, 'no credential for the control plane: '],
    [`evidence shop ${DAYS} --out agent.yaml/x --log audit.log`, 'cannot write to agent.yaml/x: '],
    ['evidence verify --pub ci.pub', "missing required argument 'dir'"],
    ['evidence verify x', '--pub is required'],
  ])('%s', async (line, problem) => {
    const { output, errors, exitCode } = await run(line, NOW);
    expect(errors).toContain(problem);
    expect({ output, exitCode }).toEqual({ output: '', exitCode: 1 });
    expect(names()).not.toContain('x');
  });

  test('a bundle is not replaced', async () => {
    await make();
    expect((await make()).errors).toBe(
      'error: out already contains evidence.json; choose another directory\n',
    );
  });

  test('a default manifest of another agent is not included', async () => {
    write('agent.yaml', manifestText());
    await make();
    expect(bundleIn('out').manifest).toBeNull();
    expect(bundleIn('out').notIncluded).toContainEqual({
      part: 'manifest, and rules that need it',
      reason: 'agent.yaml is the manifest of minimal, not of shop',
    });
  });

  test('a secret in the manifest is in no file and no output', async () => {
    const secret = 'sk-planted-0123456789abcdef';
    write('agent.yaml', MANIFEST.replace('$env:OPENAI_API_KEY', secret));
    const { output, errors } = await make();
    const all = NAMES.map((name) => read(`out/${name}`));
    const payload = (JSON.parse(all[0] ?? '') as { payload: string }).payload;
    for (const text of [...all, Buffer.from(payload, 'base64').toString(), output, errors])
      expect(text).not.toContain(secret);
    expect(bundleIn('out').notIncluded).toContainEqual({
      part: 'text of the manifest',
      reason: 'the file contains a secret: spec.model.apiKey; its SHA-256 is included',
    });
  });

  test('lines that are not events are problems of the log, not failures', async () => {
    write('audit.log', `${'x'.repeat(3_000_000)}\n{"a":1}\n${logText(LOG)}{"torn`);
    expect(await make()).toMatchObject({ exitCode: 0 });
    expect(bundleIn('out').auditLog.chain?.findings.map(({ problem }) => problem)).toContain('torn');
  });
});

describe('from a control plane', () => {
  let rig: ControlPlaneRig;
  beforeAll(async () => {
    rig = await startControlPlaneRig();
    const { apiKey } = await rig.register('shop');
    const property = 'tools.undeclared.wipe_disk';
    const issue = { severity: 'critical', property, description: 'wipe_disk', recommendation: '' } as const;
    await rig.heartbeat(apiKey, {
      gap: { score: 70, grade: 'C', source: 'agent-sdk', issues: [issue] },
      audit: { declared: 60, proved: 0, failed: ['MODEL-01'], suppressions: [] },
      ...{
        sidecarVersion: '1.2.3',
        policyMode: 'track',
        outcomes: { allow: 5, deny: 1, failOpen: 2, notEvaluated: 3 },
      },
    });
    await rig.admin('POST', '/agents/shop/proof/rule/SEC-LLM-04', {
      verifiedBy: 'k6',
      method: '429 after 100 requests',
    });
  });
  afterAll(() => rig.close());
  const url = (): string => `--url http://127.0.0.1:${rig.listener.port}`;

  test('has verdict, findings, proofs, outcomes, versions, and names what the control plane does not have', async () => {
    const made = await make(`${url()} --log audit.log --key ci.pem`, 'out', {
      PLATFORM_ADMIN_KEY: ADMIN_KEY,
    });
    expect(made.errors).toBe('');
    const bundle = bundleIn('out');
    expect(bundle).toMatchObject({
      source: { kind: 'control-plane' },
      verdict: { verdict: { status: 'False' }, score: 70, grade: 'C', policyMode: 'track' },
      findings: [
        { property: 'tools.undeclared.wipe_disk', severity: 'critical', isOpen: true, firstSeen: null },
      ],
      proofs: [
        { ruleId: 'SEC-LLM-04', state: 'counts', origin: 'control-plane', actor: { method: 'admin-key' } },
      ],
      outcomes: { sinceStart: { allow: 5, deny: 1, failOpen: 2, notEvaluated: 3 } },
      instances: [{ name: 'i-1', sidecarVersion: '1.2.3' }],
    });
    expect(bundle.verdict.days).toMatchObject([{ at: '2026-03-01T00:00:00.000Z', grade: 'C' }]);
    expect(await verify()).toMatchObject({ exitCode: 0 });
    expect(JSON.stringify([...NAMES.map((name) => read(`out/${name}`)), made])).not.toContain(ADMIN_KEY);
  });

  test('without a credential, for an unknown agent, or without a server: nothing is written', async () => {
    const key = { PLATFORM_ADMIN_KEY: ADMIN_KEY };
    expect((await make(url(), 'out', { PLATFORM_ADMIN_KEY: 'wrong' })).errors).toMatch(
      /returned 40[13] for GET/,
    );
    const unknown = await run(`evidence none ${DAYS} --out out ${url()}`, { env: key });
    expect(unknown.errors).toContain('returned 404 for GET /api/v1/agents/none: agent none not found');
    expect((await make('--url http://127.0.0.1:1', 'out', key)).errors).toContain(
      'cannot connect to http://127.0.0.1:1',
    );
    expect(names()).not.toContain('out');
  });
});

describe('from a sidecar', () => {
  let rig: SidecarRig;
  beforeAll(async () => {
    rig = await startSidecarRig({ manifest: MANIFEST, agent: { '/x': 200 } });
  });
  afterAll(() => rig.close());

  test('has its findings and checks, and names what a sidecar does not have', async () => {
    const { errors } = await make(`--sidecar http://127.0.0.1:${rig.sidecar.controlPort} --log audit.log`);
    expect(errors).toBe('');
    const bundle = bundleIn('out');
    expect(bundle.source?.kind).toBe('sidecar');
    expect(bundle.findings.map(({ property }) => property)).toContain('auditable');
    expect(bundle.notIncluded.map(({ part }) => part)).toEqual(
      expect.arrayContaining(['verdict over time', 'versions of the instances']),
    );
  });
});
