import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { ChainVerifier, type ChainReport } from '../../core/record/chain.ts';
import { RecordLines } from '../../core/record/line.ts';
import { NO_LINE, type RecordEvent } from '../../core/record/record-event.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { systemClock } from '../../runtime/clock.ts';
import { sampleEvents, SAMPLE_SOURCE } from '../../testing/record/sample-events.ts';
import { manifestText } from '../../testing/sidecar/sidecar-rig.ts';
import { until } from '../../testing/time/until.ts';
import { LogFile } from './log-file.ts';
import { RecordWriter } from './record-writer.ts';

const folder = mkdtempSync(join(tmpdir(), 'record-failures-'));
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=300k', 'tmpfs', folder]).status === 0;
const path = join(folder, 'audit.log');

afterAll(async () => {
  if (isMounted) execFileSync('umount', [folder]);
  await rm(folder, { recursive: true });
});

const remount = (options: string): void => void execFileSync('mount', ['-o', `remount,${options}`, folder]);

function verified(text: string): ChainReport {
  const verifier = new ChainVerifier((line) => createHash('sha256').update(line).digest('hex'), []);
  for (const line of text.trimEnd().split('\n')) verifier.add(line);
  return verifier.report();
}

async function openWriter(): Promise<{ writer: RecordWriter; log: string[] }> {
  const log: string[] = [];
  const destination = new LogFile({ path, maxBytes: 1e9, files: 1 });
  await destination.open();
  const logger = {
    info: (message: string) => log.push(message),
    warn: (message: string) => log.push(message),
  };
  const writer = new RecordWriter({
    ...{ destination, clock: systemClock, manifest: () => ({}) },
    lines: new RecordLines({ source: SAMPLE_SOURCE, hintsOf: () => undefined, hostOf: () => undefined }),
    start: { startedAt: SAMPLE_SOURCE.startedAt, sequence: 0, prev: NO_LINE },
    logger,
  });
  return { writer, log };
}

// Without the right to mount, the rest of this file still runs.
(isMounted ? describe : describe.skip)('a disk without space, or that is read-only', () => {
  afterEach(async () => {
    remount('rw');
    await rm(path);
    // Not possible while the files need more.
    remount('size=300k');
  });

  const event: RecordEvent = sampleEvents().request;

  test('a full disk loses only what has no room in two buffers, and the next line states how many', async () => {
    const { writer, log } = await openWriter();
    for (let round = 0; round < 12; round += 1) {
      for (let count = 0; count < 1_000; count += 1) writer.add(event);
      writer.flush();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { dropped } = writer.counts;
    expect(dropped).toBeGreaterThan(1_000);
    expect(dropped).toBeLessThan(12_000);
    await until(() => writer.counts.failures > 1, 'a second failure');
    expect(log).toEqual(['failed to write audit log']);
    remount('size=64m');
    // The next event is the first with room for the line that states the loss.
    await until(() => writer.counts.written > 0, 'the rest');
    writer.add(event);
    await writer.close();
    expect(log.at(-1)).toBe('audit log writable again');
    expect(writer.counts.dropped).toBe(dropped);
    expect(writer.counts.written + dropped).toBe(12_000 + 1 + 1);
    expect(verified(await readFile(path, 'utf8'))).toMatchObject({
      findings: [],
      chains: [{ first: 1, last: writer.counts.written, isFromStart: true, lost: dropped }],
    });
  });

  test('a file that cannot be opened again is repeated until it can', async () => {
    const { writer } = await openWriter();
    writer.add(event);
    await writer.close();
    remount('ro');
    const destination = new LogFile({ path, maxBytes: 1e9, files: 1 });
    await expect(destination.open()).rejects.toMatchObject({ code: 'EROFS' });
    await expect(destination.write(Buffer.from('a\n'), true)).rejects.toMatchObject({ code: 'EROFS' });
    remount('rw');
    await expect(destination.write(Buffer.from('a\n'), true)).resolves.toBe(2);
    await destination.close();
  });
});

describe('a sidecar whose audit log cannot be written', () => {
  let agent: Server;
  let child: ChildProcess;
  let ports: number[] | null = null;
  beforeAll(async () => {
    agent = createServer((request, response) => void response.end(request.url));
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  afterAll(() => {
    agent.closeAllConnections();
    agent.close();
  });

  /** `readsOutput` false: nothing reads the standard output after the start. */
  async function start(env: Record<string, string>, readsOutput = true): Promise<string> {
    const manifest = join(folder, 'agent.yaml');
    await writeFile(manifest, manifestText());
    // A restarted process has the same ports, and so the same name.
    ports ??= await freePorts(2);
    const [proxyPort, controlPort] = ports;
    child = spawn(process.execPath, ['dist/sidecar/main.js'], {
      env: {
        ...{ MANIFEST_PATH: manifest, BIND_ADDRESS: '127.0.0.1' },
        UPSTREAM_URL: `http://127.0.0.1:${(agent.address() as AddressInfo).port}`,
        ...{ PROXY_PORT: String(proxyPort), CONTROL_PLANE_PORT: String(controlPort) },
        ...env,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const isReady = (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${controlPort}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    if (readsOutput) child.stdout?.resume();
    await until(isReady, 'the start');
    return `http://127.0.0.1:${proxyPort}`;
  }

  async function send(proxy: string, count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 1) {
      const response = await fetch(`${proxy}/work/${sent}`);
      expect(await response.text()).toBe(`/work/${sent}`);
    }
  }

  test('responds as before while nothing reads its standard output, and to SIGTERM', async () => {
    const proxy = await start({ AUDIT_LOG: 'stdout' }, false);
    // More than a pipe and its reader keep.
    await send(proxy, 400);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });

  test('responds as before after the reader of its standard output has ended, and counts the failed writes', async () => {
    const proxy = await start({ AUDIT_LOG: 'stdout' });
    child.stdout?.destroy();
    await send(proxy, 20);
    const control = `http://127.0.0.1:${ports?.[1]}`;
    const counts = async (): Promise<(number | undefined)[]> => {
      const metrics = await (await fetch(`${control}/metrics`)).text();
      const valueOf = (name: string): number | undefined =>
        Number(
          metrics
            .split('\n')
            .find((line) => line.startsWith(`${name} `))
            ?.split(' ')[1],
        );
      return [
        valueOf('platform_sidecar_audit_log_failures_total'),
        valueOf('platform_sidecar_audit_log_events_total{result="written"}'),
      ];
    };
    await until(async () => ((await counts())[0] ?? 0) > 0, 'a failed write');
    // Only the start, which was read.
    expect((await counts())[1]).toBeLessThan(20);
    expect((await fetch(`${control}/readyz`)).status).toBe(200);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });

  test('has only complete lines after SIGKILL, and continues the chain', async () => {
    const file = join(folder, 'killed.log');
    const env = { AUDIT_LOG: 'file', AUDIT_LOG_PATH: file };
    await send(await start(env), 100);
    const killed = once(child, 'exit');
    child.kill('SIGKILL');
    await killed;
    await start(env);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
    const report = verified(await readFile(file, 'utf8'));
    expect(report.findings).toEqual([]);
    expect(report.chains).toEqual([
      { chain: expect.any(String), first: 1, last: report.lines, isFromStart: true, lost: 0, heads: 0 },
    ]);
  });
});
