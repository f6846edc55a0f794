import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { recordingLogger, type LogEntry } from '../../testing/sidecar/recording-logger.ts';
import { startSidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { until } from '../../testing/time/until.ts';
import { readConfig } from '../config.ts';
import { loadPinned } from './pinned-manifest.ts';

const GOOD = manifestText('  tools: [{ name: search }]\n');
const OTHER = manifestText('  tools: [{ name: shell_exec }]\n');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** A sidecar that reads `text`, in a pod that allows only the manifest `GOOD`. */
async function start(text: string) {
  const folder = await mkdtemp(join(tmpdir(), 'pinned-'));
  folders.push(folder);
  const path = join(folder, 'agent.yaml');
  await writeFile(path, text);
  const [port = 0] = await freePorts(1);
  const result = readConfig({ MANIFEST_PATH: path, MANIFEST_SHA256: hashOf(GOOD) });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const config = { ...result.config, BIND_ADDRESS: '127.0.0.1', CONTROL_PLANE_PORT: port };
  const log: LogEntry[] = [];
  const clock = new SteppingClock('2026-03-01T10:00:00Z', 1);
  const stop = new AbortController();
  const loaded = loadPinned({ config, logger: recordingLogger(log), clock, stopped: stop.signal });
  const ask = (route: string) => fetch(`http://127.0.0.1:${port}${route}`);
  return { path, log, clock, stop, loaded, ask };
}

test('a manifest with the hash of the pod is used', async () => {
  const { loaded, log } = await start(GOOD);
  expect(await loaded).toMatchObject({ ok: true, hash: hashOf(GOOD) });
  expect(log).toEqual([]);
});

test('with another manifest every route is 503 with the reason, until the file is corrected', async () => {
  const { path, log, clock, loaded, ask } = await start(OTHER);
  const message = `its SHA-256 is ${hashOf(OTHER)}, and the pod allows only ${hashOf(GOOD)} (platform.io/manifest-sha256)`;
  await until(() => clock.left().length > 0);
  const answer = await ask('/readyz');
  expect([answer.status, await answer.json()]).toEqual([
    503,
    {
      status: 'not-allowed',
      policy: { mode: 'track', engine: 'none' },
      findings: [expect.objectContaining({ policy: 'platform.io/manifest-sha256', message })],
    },
  ]);
  expect((await ask('/health/live')).status).toBe(503);
  await clock.pass(20_000, 5_000);
  expect(log).toEqual([
    ['error', 'manifest not allowed by the pod, the agent does not start', { problem: message }],
  ]);
  await writeFile(path, GOOD);
  clock.loops = 0;
  await clock.pass(5_000, 5_000);
  expect(await loaded).toMatchObject({ ok: true, hash: hashOf(GOOD) });
  // The port is free for the sidecar.
  await expect(ask('/readyz')).rejects.toThrow('fetch failed');
});

test('a stop ends the wait', async () => {
  const { clock, stop, loaded, ask } = await start(OTHER);
  await until(() => clock.left().length > 0);
  stop.abort();
  await expect(loaded).rejects.toThrow('abort');
  await expect(ask('/readyz')).rejects.toThrow('fetch failed');
});

test('a running sidecar does not use a changed manifest with another hash', async () => {
  const rig = await startSidecarRig({ manifest: GOOD, env: { MANIFEST_SHA256: hashOf(GOOD) } });
  try {
    expect((await rig.control('/readyz')).status).toBe(200);
    await writeFile(rig.manifestPath, OTHER);
    const gap = async () => JSON.stringify(await rig.report('/gap'));
    await until(async () => (await gap()).includes('manifest.invalid'));
    expect(await gap()).toContain(`the pod allows only ${hashOf(GOOD)}`);
    expect(JSON.stringify(await rig.report('/explore'))).not.toContain('shell_exec');
    expect((await rig.control('/readyz')).status).toBe(200);
  } finally {
    await rig.close();
  }
});
