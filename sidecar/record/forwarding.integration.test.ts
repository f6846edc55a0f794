// The copies of the audit log from sidecars that are processes: what arrives, what a kill changes, and what is in no copy.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TestServers } from '../../testing/http/sockets.ts';
import { ProcessRig } from '../../testing/machine/process-rig.ts';
import { manifestText } from '../../testing/sidecar/sidecar-rig.ts';
import { until } from '../../testing/time/until.ts';

const PLANTED = ['planted-key', 'planted-token', 'planted-prompt', 'planted-session'];
const EVENTS = '/api/v1/audit-events';
const LOGS = '/collector/v1/logs';
const servers = new TestServers();
let rig: ProcessRig;
let agentPort: number;
let url: string;
let manifest: string;
/** Bodies by path. */
let received: Map<string, string[]>;

beforeEach(async () => {
  rig = await ProcessRig.open();
  manifest = await rig.file('agent.yaml', manifestText());
  received = new Map();
  agentPort = await servers.http(
    (request, response) => void request.resume().on('end', () => response.end()),
  );
  const port = await servers.http((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      const all = Buffer.concat(chunks);
      const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(all) : all).toString();
      received.set(path, [...(received.get(path) ?? []), text]);
      response.writeHead(204).end();
    });
  });
  url = `http://127.0.0.1:${port}`;
});
afterEach(async () => {
  await rig.close();
  await servers.close();
});

async function start(env: Record<string, string>) {
  const file = { AUDIT_LOG: 'file', AUDIT_LOG_PATH: join(rig.folder, 'audit.log') };
  return rig.startSidecar(agentPort, manifest, {
    ...{ PLATFORM_URL: url, PLATFORM_KEY: 'planted-token', ...file },
    ...env,
  });
}

async function work(proxyUrl: string, count: number): Promise<void> {
  for (let each = 0; each < count; each += 1)
    await fetch(`${proxyUrl}/work?key=planted-key`, {
      method: 'POST',
      headers: { authorization: 'Bearer planted-token', 'mcp-session-id': 'planted-session' },
      body: JSON.stringify({ prompt: 'planted-prompt' }),
    });
}

const logged = async (): Promise<string[]> =>
  (await readFile(join(rig.folder, 'audit.log'), 'utf8')).trimEnd().split('\n');
const forwarded = (): string[] => (received.get(EVENTS) ?? []).flatMap((body) => body.trimEnd().split('\n'));
const exported = (): string[] =>
  (received.get(LOGS) ?? []).flatMap((body) =>
    [...body.matchAll(/"body":\{"stringValue":("(?:[^"\\]|\\.)*")\}/g)].map(
      ([, text = '']) => JSON.parse(text) as string,
    ),
  );
const isDecision = (line: string): boolean => !line.includes('"kind":"request"');

test('all lines arrive once, also after a kill, and none has a key, a token, a session or a prompt', async () => {
  const env = { AUDIT_LOG_OTLP_URL: `${url}/collector` };
  const first = await start(env);
  await work(first.proxyUrl, 30);
  await until(() => exported().length > 0, 'a first export');
  first.kill('SIGKILL');
  await first.stop();
  const second = await start(env);
  await work(second.proxyUrl, 10);
  const metrics = await (await fetch(`${second.controlUrl}/metrics`)).text();
  expect(metrics).toContain('platform_sidecar_audit_log_sent_total{receiver="control-plane"} ');
  expect(metrics).toContain('platform_sidecar_audit_log_skipped_total{receiver="otlp",reason="rotated"} 0\n');
  await second.stop();
  const lines = await logged();
  expect(lines.at(-1)).toContain('"state":"stopped"');
  // A kill between an export and the position of its last line repeats the export.
  expect([...new Set(exported())]).toEqual(lines);
  expect([...new Set(forwarded())]).toEqual(lines.filter(isDecision));
  const files = await Promise.all(
    (await readdir(rig.folder)).map((name) => readFile(join(rig.folder, name), 'utf8')),
  );
  // The manifest, the log, and a position for each copy.
  expect(files).toHaveLength(4);
  const all = [...exported(), ...forwarded(), ...files, first.output(), second.output()].join('\n');
  expect(PLANTED.filter((value) => all.includes(value))).toEqual([]);
});

test('without a file, the events are sent from memory', async () => {
  const sidecar = await start({ AUDIT_LOG: 'stdout', AUDIT_LOG_PATH: '', AUDIT_LOG_FORWARD: 'calls' });
  await work(sidecar.proxyUrl, 3);
  await sidecar.stop();
  const lines = sidecar.output().match(/^\{"a.*"metadata".*\}$/gm) ?? [];
  expect(lines.filter((line) => !isDecision(line))).toHaveLength(3);
  expect(forwarded()).toEqual(lines.filter(isDecision));
});

test('with AUDIT_LOG_FORWARD=off nothing is sent', async () => {
  const sidecar = await start({ AUDIT_LOG_FORWARD: 'off' });
  await work(sidecar.proxyUrl, 1);
  await sidecar.stop();
  expect((await logged()).some((line) => line.includes('"state":"stopped"'))).toBe(true);
  expect([...received.keys()]).not.toContain(EVENTS);
});
