// What a process with the key of an agent can send to get its manifest past the rules of the organisation.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parsePolicy } from '../../core/organisation/parse-policy.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { startControlPlaneRig, type ControlPlaneRig } from '../../testing/fleet/control-plane-rig.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { Organisation } from './organisation.ts';

const policy = parsePolicy({
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentPolicy', metadata: { name: 'production' } },
  spec: {
    rules: [{ id: 'tools', action: 'Deny', tools: { forbidden: ['shell*'] } }],
    exceptions: [
      {
        ...{ namespace: 'platform-remote', agents: ['pilot'], rules: ['tools'], reason: 'a pilot' },
        expires: '2100-01-01T00:00:00Z',
      },
    ],
  },
});
if (!policy.ok) throw new Error(JSON.stringify(policy.errors));
const policies = [policy.value];

const GOOD = manifestText('  tools: [{ name: search }]\n');
const BAD = manifestText('  tools: [{ name: shell_exec }]\n');
const OF_PILOT = BAD.replace('name: minimal', 'name: pilot');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const worker = new ManifestWorker();
let rig: ControlPlaneRig;
const keys = new Map<string, string>();
beforeAll(async () => {
  const rules = { policies: () => policies, problem: () => null, invalid: () => [], labelsOf: () => ({}) };
  rig = await startControlPlaneRig({ organisation: new Organisation(rules, worker) });
  for (const name of ['minimal', 'pilot']) keys.set(name, (await rig.register(name)).apiKey);
  for (const text of [GOOD, BAD, OF_PILOT]) await put('pilot', text);
});
afterAll(async () => {
  await rig.close();
  await worker.close();
});

const put = (agent: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  rig.send('PUT', '/api/v1/manifest', {
    headers: { authorization: `Bearer ${keys.get(agent)}`, 'content-type': 'application/yaml', ...headers },
    body,
  });

let seq = 0;
/** The condition `Allowed` after a heartbeat, and the reply to it. */
async function beat(agent: string, manifestHash: string | null, organisationRevision: string | null = null) {
  const key = keys.get(agent) ?? '';
  const sent = { seq: ++seq, sidecarVersion: '0.2.0', manifestHash, organisationRevision };
  const { status, body } = await rig.heartbeat(key, sent);
  return { status, reply: body, allowed: await allowedOf(agent) };
}

async function allowedOf(agent: string): Promise<string> {
  const { body } = await rig.admin('GET', `/agents/${agent}`);
  const { conditions } = (body as { status: { conditions: { type: string; status: string }[] } }).status;
  return conditions.find(({ type }) => type === 'Allowed')?.status ?? 'absent';
}

describe('a manifest that is sent', () => {
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${[...'bcdefghi']
    .map((key, index) => `${key}: &${key} [${Array(9).fill(`*${'abcdefghi'[index]}`).join(', ')}]`)
    .join('\n')}\n`;
  test.each<[string, string | Buffer, Record<string, string>]>([
    ['with the name of an agent that has an exception', OF_PILOT, {}],
    ['compressed', gzipSync(BAD), { 'content-encoding': 'gzip' }],
    ['that grows to 16 MB', gzipSync(Buffer.alloc(2 ** 24, 32)), { 'content-encoding': 'gzip' }],
    ['behind 64 KiB of spaces', `${' '.repeat(65_536)}\n${GOOD}`, {}],
    ['nested deeply', `${GOOD}  x-a: ${'['.repeat(30_000)}${']'.repeat(30_000)}\n`, {}],
    ['with a bomb of aliases', bomb + GOOD, {}],
    ['in UTF-16', Buffer.from(GOOD, 'utf16le'), { 'content-type': 'application/yaml; charset=utf-16' }],
    ['that is not text', Buffer.from([0xff, 0xfe, 0x00, 0x80]), {}],
    ['with two documents', `${GOOD}---\n${BAD}`, {}],
    ['as the text of JSON', JSON.stringify(GOOD), { 'content-type': 'application/json' }],
  ])('%s is not allowed', async (_, body, headers) => {
    const response = await put('minimal', body, headers);
    expect([200, 400, 413]).toContain(response.status);
    expect((response.body as { allowed?: boolean }).allowed).not.toBe(true);
    expect(await put('minimal', GOOD)).toMatchObject({ status: 200, body: { allowed: true } });
  });

  test('by one agent changes nothing of another', async () => {
    expect((await beat('pilot', hashOf(OF_PILOT))).allowed).toBe('True');
    await put('minimal', OF_PILOT);
    expect((await put('pilot', OF_PILOT)).body).toMatchObject({ allowed: true });
    expect(await allowedOf('pilot')).toBe('True');
  });
});

describe('a heartbeat', () => {
  test('with the hash of a manifest that another agent may use gets no exception', async () => {
    expect((await beat('minimal', hashOf(OF_PILOT))).allowed).toBe('False');
    expect(await allowedOf('pilot')).toBe('True');
  });

  test.each([
    ['in upper case', hashOf(GOOD).toUpperCase()],
    ['with a space', `${hashOf(GOOD)} `],
    ['that is a member of every object', '__proto__'],
    ['of no manifest', hashOf('')],
    ['that is missing', null],
  ])('with a hash %s is never allowed', async (_, hash) => {
    const { reply, allowed } = await beat('minimal', hash);
    expect(allowed).toBe('Unknown');
    if (hash !== null) expect(reply).toMatchObject({ manifest: 'wanted' });
  });

  test('is judged by its own hash, however often the hash changes', async () => {
    const allowed: string[] = [];
    for (let round = 0; round < 10; round++)
      allowed.push((await beat('minimal', hashOf(round % 2 === 0 ? BAD : GOOD))).allowed);
    expect(allowed).toEqual(Array.from({ length: 5 }, () => ['False', 'True']).flat());
  });

  test('with the revision of other rules gets the rules, and one with too long a revision is rejected', async () => {
    for (const revision of ['0'.repeat(16), '__proto__', 'x'.repeat(64)]) {
      const { reply } = await beat('minimal', hashOf(GOOD), revision);
      expect(reply).toMatchObject({ organisation: { tools: { forbidden: ['shell*'] } } });
    }
    expect((await beat('minimal', hashOf(GOOD), 'x'.repeat(65))).status).toBe(400);
  });
});
