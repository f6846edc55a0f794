import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ChainVerifier, type ChainReport } from '../../core/record/chain.ts';
import { RecordLines } from '../../core/record/line.ts';
import type { RecordSource } from '../../core/record/record-event.ts';
import { systemClock } from '../../runtime/clock.ts';
import { sampleEvents, SAMPLE_SOURCE } from '../../testing/record/sample-events.ts';
import { chainStartOf } from './chain-start.ts';
import { LogFile } from './log-file.ts';
import { RecordWriter } from './record-writer.ts';

let folder: string;
let path: string;
let warnings: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'record-writer-'));
  path = join(folder, 'audit.log');
  warnings = [];
});
afterEach(() => rm(folder, { recursive: true }));

const MAX_BYTES = 20_000;
const FILES = 3;
const { request, adminAction } = sampleEvents();

/** As after a start of the process, with small files. */
async function open(source: RecordSource = SAMPLE_SOURCE): Promise<RecordWriter> {
  const destination = new LogFile({ path, maxBytes: MAX_BYTES, files: FILES });
  const last = await destination.open();
  return new RecordWriter({
    ...{ destination, clock: systemClock, manifest: () => ({}) },
    lines: new RecordLines({ source, hintsOf: () => undefined, hostOf: () => undefined }),
    start: chainStartOf(last, source.instance, source.startedAt),
    logger: { info: () => undefined, warn: (message) => void warnings.push(message) },
  });
}

/** Adds events in batches, each while the one before is being written. */
async function write(writer: RecordWriter, batches: number): Promise<void> {
  for (let batch = 0; batch < batches; batch += 1) {
    for (let count = 0; count < 7; count += 1) writer.add(request);
    writer.flush();
    while (writer.counts.written < batch * 7) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The existing files, oldest first. */
async function verified(): Promise<ChainReport> {
  const verifier = new ChainVerifier((text) => createHash('sha256').update(text).digest('hex'), []);
  for (const file of [`${path}.3`, `${path}.2`, `${path}.1`, path])
    for (const line of (await readFile(file, 'utf8')).trimEnd().split('\n')) verifier.add(line);
  return verifier.report();
}

test('rotates by size while it writes, and keeps one chain over the files and a restart', async () => {
  const first = await open();
  await write(first, 20);
  await first.close();
  const second = await open();
  await write(second, 20);
  await second.close();
  const sizes = [1, 2, 3].map(async (number) => (await stat(`${path}.${number}`)).size);
  for (const size of await Promise.all(sizes)) expect(size).toBeLessThan(MAX_BYTES);
  await expect(stat(`${path}.4`)).rejects.toMatchObject({ code: 'ENOENT' });
  const { findings, chains } = await verified();
  expect(findings).toEqual([]);
  expect(chains).toMatchObject([{ last: 280, isFromStart: false, lost: 0 }]);
  expect(first.counts).toEqual({ written: 140, dropped: 0, failures: 0 });
});

test('continues the chain if the process ended after the rotation and before the next line', async () => {
  const first = await open();
  await write(first, 1);
  await first.close();
  await rename(path, `${path}.1`);
  const second = await open();
  second.add(request);
  await second.close();
  const [line = ''] = (await readFile(path, 'utf8')).split('\n');
  expect(JSON.parse(line)).toMatchObject({ metadata: { sequence: 8 } });
});

test('another instance begins a new chain in the same file', async () => {
  const first = await open();
  first.add(request);
  await first.close();
  const second = await open({ ...SAMPLE_SOURCE, instance: 'other' });
  second.add(request);
  await second.close();
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { metadata: object }).metadata)).toMatchObject([
    { sequence: 1, uid: expect.stringMatching(/^shop-1\//) },
    { sequence: 1, uid: expect.stringMatching(/^other\//) },
  ]);
});

test('counts an event as lost that has no valid line, and writes the others', async () => {
  const writer = await open({ ...SAMPLE_SOURCE, version: 'v'.repeat(9_000) });
  writer.add(adminAction);
  await writer.close();
  expect(writer.counts).toEqual({ written: 0, dropped: 1, failures: 0 });
  expect(warnings).toEqual(['failed to record event']);
});
