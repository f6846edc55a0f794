import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ChainVerifier, type ChainReport } from '../../core/record/chain.ts';
import { columnsOf, parseLine, type EventColumns } from '../../core/record/columns.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { call, CHAT, CHAT_REQUEST, json, responseOf } from '../../testing/sidecar/chat-vendor.ts';
import { post, startTlsVendor } from '../../testing/sidecar/egress-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'record-'));
  path = join(folder, 'audit.log');
});
afterEach(() => rm(folder, { recursive: true }));

const start = (env: Record<string, string> = {}): Promise<SidecarRig> =>
  startSidecarRig({
    manifest: manifestText(),
    env: { AUDIT_LOG: 'file', AUDIT_LOG_PATH: path, AGENT_NAMESPACE: 'retail', ...env },
  });

async function logged(): Promise<string[]> {
  const text = await readFile(path, 'utf8');
  expect(text.endsWith('\n')).toBe(true);
  return text.trimEnd().split('\n');
}

function columns(lines: readonly string[]): EventColumns[] {
  return lines.map((line) => {
    const parsed = parseLine(line);
    if (!parsed.ok) throw new Error(parsed.error);
    return columnsOf(parsed.event);
  });
}

function verified(lines: readonly string[]): ChainReport {
  const verifier = new ChainVerifier((text) => createHash('sha256').update(text).digest('hex'), []);
  for (const line of lines) verifier.add(line);
  return verifier.report();
}

test('writes every request between the start and the stop, in one chain', async () => {
  const rig = await start();
  for (let count = 0; count < 3; count += 1)
    await fetch(`${rig.proxyUrl}/work?key=planted-key`, { method: 'POST' });
  await rig.settled();
  await rig.close();
  const lines = await logged();
  expect(columns(lines).map(({ kind }) => kind)).toEqual([
    ...['lifecycle', 'request', 'request', 'request', 'lifecycle'],
  ]);
  expect(columns(lines)[1]).toMatchObject({ namespace: 'retail', outcome: 'notEvaluated', user: null });
  expect(lines[1]).toContain('"src_endpoint":{"ip":"127.0.0.1"}');
  expect(lines.join('\n')).not.toContain('planted-key');
  expect(verified(lines)).toMatchObject({ findings: [], chains: [{ first: 1, last: 5, isFromStart: true }] });
});

test('continues the chain after a restart, and ends an incomplete line', async () => {
  await (await start()).close();
  await appendFile(path, '{"torn":');
  await (await start()).close();
  const lines = await logged();
  expect(lines[2]).toBe('{"torn":');
  expect(columns([...lines.slice(0, 2), ...lines.slice(3)]).map(({ kind }) => kind)).toHaveLength(4);
  expect(lines[3]).toContain('"state":"resumed"');
  expect(verified(lines)).toMatchObject({
    findings: [{ problem: 'unreadable', line: 3 }],
    chains: [{ first: 1, last: 4, isFromStart: true }],
  });
});

test('writes only decisions with AUDIT_LOG_EVENTS=decisions', async () => {
  const rig = await start({ AUDIT_LOG_EVENTS: 'decisions' });
  await fetch(`${rig.proxyUrl}/work`);
  await rig.control('/gap');
  await rig.close();
  const kinds = columns(await logged()).map(({ kind }) => kind);
  expect(kinds).toContain('finding');
  expect(kinds).not.toContain('request');
});

test('no line and no message has a key, a token, a query, a prompt, an argument or an answer', async () => {
  const vendor = await startTlsVendor();
  const toolCall = call('search', JSON.stringify({ query: 'planted-argument' }));
  vendor.respond = json({ ...responseOf(toolCall), system_fingerprint: 'planted-answer' });
  const [port = 0] = await freePorts(1);
  await writeFile(join(folder, 'ca.pem'), vendor.ca.cert);
  const rig = await start({
    ...{ EGRESS_LANES: `openai=${vendor.url}/v1`, EGRESS_PORT: String(port), EGRESS_MODE: 'enforce' },
    ...{ EGRESS_CA_FILE: join(folder, 'ca.pem'), POLICY_ENGINE: 'builtin', LOG_LEVEL: 'debug' },
  });
  rig.agent.otherwise = (_request, response) => {
    const messages = [{ role: 'user', content: 'planted-prompt' }];
    void post(port, CHAT, { ...CHAT_REQUEST, messages }, { authorization: 'Bearer planted-key' }).then(
      ({ body }) => response.end(body),
    );
  };
  const response = await fetch(`${rig.proxyUrl}/chat?session=planted-query`, {
    method: 'POST',
    headers: { authorization: 'Bearer planted-token', cookie: 'session=planted-cookie' },
    body: JSON.stringify({ prompt: 'planted-prompt' }),
  });
  expect(response.status).toBe(200);
  await rig.settled();
  await rig.control('/gap');
  await rig.close();
  await vendor.close();
  const lines = await logged();
  const found = columns(lines);
  expect(found.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['lifecycle', 'request', 'model', 'finding']),
  );
  // The tool is not declared, and the caller is not known.
  expect(found.find(({ kind }) => kind === 'model')).toMatchObject({ outcome: 'deny', tools: ['search'] });
  expect(JSON.stringify(vendor.requests)).toContain('planted-prompt');
  expect(lines.join('\n') + JSON.stringify(rig.log)).not.toContain('planted');
  expect(verified(lines).findings).toEqual([]);
});

test('does not start with a path that is not a regular file', async () => {
  execFileSync('mkfifo', [path]);
  await expect(start()).rejects.toMatchObject({
    explanation: expect.stringContaining('is not a regular file'),
  });
});

test('starts without the directory of the log, and continues when it exists', async () => {
  const rig = await start({ AUDIT_LOG_PATH: join(folder, 'missing', 'audit.log') });
  expect((await fetch(`${rig.proxyUrl}/work`)).status).toBe(404);
  expect((await rig.control('/readyz')).status).toBe(200);
  expect(rig.log.map(([, message]) => message)).toContain('failed to open audit log');
  await rig.close();
  expect(rig.log.map(([, message]) => message)).toContain('audit log incomplete');
});
