import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { holdTimers } from '../testing/held-timers.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';
import { aMoment } from '../testing/moment.ts';
import {
  loadManifestFile,
  watchManifestFile,
  type LoadedManifest,
  type WatchOptions,
} from './manifest-file.ts';

let folder: string;
let file: string;
let stop: AbortController;
/** Result of each read by the watch, oldest first. */
let reads: LoadedManifest[];

beforeEach(() => {
  reads = [];
  folder = mkdtempSync(join(tmpdir(), 'manifest-file-'));
  file = join(folder, 'agent.yaml');
  stop = new AbortController();
});

afterEach(() => {
  stop.abort();
  rmSync(folder, { recursive: true, force: true });
});

const versionText = (version: string): string => manifestText().replace('1.0.0', version);
const hashOf = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

describe('loadManifestFile', () => {
  test('gives the manifest, the text and the SHA-256 of the file', async () => {
    writeFileSync(file, manifestText());
    expect(await loadManifestFile(file)).toEqual({
      ok: true,
      file,
      manifest: expect.objectContaining({ kind: 'PlatformAgent' }),
      hash: hashOf(manifestText()),
      text: manifestText(),
    });
  });

  test.each<[string, () => void, string]>([
    ['is not there', () => undefined, 'does not exist'],
    ['is a folder', () => mkdirSync(file), 'is a folder, not a file'],
    [
      'is binary',
      () => writeFileSync(file, Buffer.from([1, 0, 2])),
      'is no text file: a manifest is UTF-8 text',
    ],
    [
      'is Latin-1',
      () => writeFileSync(file, Buffer.from([0x61, 0xe4])),
      'is no text file: a manifest is UTF-8 text',
    ],
    [
      'is empty',
      () => writeFileSync(file, ''),
      'is empty: a manifest has apiVersion, kind, metadata and spec',
    ],
    [
      'is too large',
      () => writeFileSync(file, Buffer.alloc(1024 * 1024 + 1, '#')),
      'is larger than 1 MiB, the most that a manifest can be',
    ],
    [
      'is a link to itself',
      () => symlinkSync(file, file),
      'cannot be read: its symbolic links lead in a circle',
    ],
  ])('a file that %s has one problem', async (_what, prepare, message) => {
    prepare();
    expect(await loadManifestFile(file)).toEqual({
      ok: false,
      file,
      problems: [{ path: '', message, line: 1, column: 1 }],
      ...(message.startsWith('is empty') ? {} : { unreadable: true }),
    });
  });
});

/** Starts to watch `file` as it is now; what is told comes in the order of `told`. */
async function watching(options: Partial<WatchOptions> = {}): Promise<LoadedManifest[]> {
  const told: LoadedManifest[] = [];
  watchManifestFile(file, {
    current: await loadManifestFile(file),
    onChange: (loaded) => told.push(loaded),
    signal: stop.signal,
    settleMs: 20,
    load: async (path) => {
      const loaded = await loadManifestFile(path);
      reads.push(loaded);
      return loaded;
    },
    ...options,
  });
  return told;
}

/** Waits for the condition; `pass` advances held time between two looks. */
async function until(condition: () => boolean, pass?: () => Promise<void>): Promise<void> {
  for (let waited = 0; !condition(); waited += 20) {
    if (waited > 30_000) throw new Error('waited 30 s in vain');
    await pass?.();
    await delay(20);
  }
}

/** Waits until the watch has read the file once more and has handled the result. */
async function readAgain(): Promise<void> {
  const before = reads.length;
  await until(() => reads.length > before);
  await aMoment();
}

const versionsOf = (told: readonly LoadedManifest[]): string[] =>
  told.map((loaded) =>
    loaded.ok ? loaded.manifest.metadata.version : loaded.problems.map(({ path }) => path).join(),
  );

describe('watchManifestFile', () => {
  // Either way of noticing alone: the events of the folder (the poll never comes), and the poll (a folder that is watched, but gives no event for what a link points to).
  const EVENTS = { pollMs: 3_600_000 };
  const POLL = { pollMs: 50 };

  test.each([
    ['an edit in place', (text: string) => writeFileSync(file, text)],
    [
      'an editor that saves by renaming',
      (text: string) => {
        writeFileSync(`${file}.tmp`, text);
        renameSync(`${file}.tmp`, file);
      },
    ],
    [
      'an editor that removes the file first',
      (text: string) => {
        unlinkSync(file);
        writeFileSync(file, text);
      },
    ],
  ])('tells of %s, again and again', async (_how, save) => {
    writeFileSync(file, versionText('1.0.0'));
    const told = await watching(EVENTS);
    save(versionText('1.0.1'));
    await until(() => told.length === 1);
    save(versionText('1.0.2'));
    await until(() => told.length === 2);
    expect(versionsOf(told)).toEqual(['1.0.1', '1.0.2']);
    expect(told[1]).toMatchObject({ ok: true, hash: hashOf(versionText('1.0.2')) });
  });

  test('tells of a ConfigMap volume that is swapped as a whole', async () => {
    /** What the kubelet does: a new folder, a new link to it under another name, and one rename over the old link. */
    const publish = (generation: string, text: string): void => {
      mkdirSync(join(folder, generation));
      writeFileSync(join(folder, generation, 'agent.yaml'), text);
      symlinkSync(generation, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    publish('..2026_01', versionText('1.0.0'));
    symlinkSync(join('..data', 'agent.yaml'), file);
    const told = await watching(EVENTS);
    publish('..2026_02', versionText('2.0.0'));
    await until(() => told.length === 1);
    publish('..2026_03', versionText('3.0.0'));
    rmSync(join(folder, '..2026_01'), { recursive: true });
    await until(() => told.length === 2);
    expect(versionsOf(told)).toEqual(['2.0.0', '3.0.0']);
  });

  test('looks from time to time where no event comes: behind a link into another folder', async () => {
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'real.yaml'), versionText('1.0.0'));
    symlinkSync(join(elsewhere, 'real.yaml'), file);
    const told = await watching(POLL);
    // The start causes one read and the first poll another one. Later reads come from a poll.
    await until(() => reads.length >= 2);
    writeFileSync(join(elsewhere, 'real.yaml'), versionText('1.0.1'));
    await until(() => told.length === 1);
    expect(versionsOf(told)).toEqual(['1.0.1']);
  });

  test('survives a folder that is replaced', async () => {
    const inner = join(folder, 'inner');
    file = join(inner, 'agent.yaml');
    mkdirSync(inner);
    writeFileSync(file, versionText('1.0.0'));
    const told = await watching(POLL);
    renameSync(inner, `${inner}.old`);
    mkdirSync(inner);
    writeFileSync(file, versionText('1.0.1'));
    await until(() => versionsOf(told).includes('1.0.1'));
    writeFileSync(file, versionText('1.0.2'));
    await until(() => versionsOf(told).includes('1.0.2'));
  });

  test('tells the problems of a bad file once, and of the good one that comes back', async () => {
    writeFileSync(file, versionText('1.0.0'));
    const told = await watching();
    writeFileSync(file, versionText('latest'));
    await until(() => told.length === 1);
    const again = join(folder, 'again.yaml');
    writeFileSync(again, `${versionText('latest')}# saved again\n`);
    await readAgain();
    renameSync(again, file);
    await readAgain();
    expect(told).toHaveLength(1);
    writeFileSync(file, versionText('1.0.0'));
    await until(() => told.length === 2);
    expect(versionsOf(told)).toEqual(['metadata.version', '1.0.0']);
  });

  test('tells of a file that is gone, once it stays away', async () => {
    writeFileSync(file, versionText('1.0.0'));
    const told = await watching();
    unlinkSync(file);
    await until(() => told.length === 1);
    expect(told).toEqual([
      {
        ok: false,
        file,
        problems: [{ path: '', message: 'does not exist', line: 1, column: 1 }],
        unreadable: true,
      },
    ]);
  });

  test('says nothing of a file that is only touched, nor of its neighbours', async () => {
    writeFileSync(file, versionText('1.0.0'));
    const told = await watching(POLL);
    await until(() => reads.length >= 2);
    writeFileSync(file, versionText('1.0.0'));
    await readAgain();
    writeFileSync(join(folder, 'other.yaml'), 'x');
    await readAgain();
    expect(told).toEqual([]);
  });

  test('does not tell of a half-written file', async () => {
    writeFileSync(file, versionText('1.0.0'));
    using timers = holdTimers();
    const told = await watching(EVENTS);
    const settle = (): Promise<void> => timers.pass(20);
    await until(() => reads.length >= 1, settle);
    writeFileSync(file, versionText('1.0.1').slice(0, 40));
    await until(() => !reads.at(-1)!.ok, settle);
    // The second read, which would report the problem, finds the whole file.
    writeFileSync(file, versionText('1.0.1'));
    await until(() => told.length > 0, settle);
    // Reads that events or the second read may still cause.
    await aMoment();
    await settle();
    await aMoment();
    expect(versionsOf(told)).toEqual(['1.0.1']);
  });

  test('tells of a change that came between the loading and the watch', async () => {
    writeFileSync(file, versionText('1.0.0'));
    const current = await loadManifestFile(file);
    writeFileSync(file, versionText('1.0.1'));
    const told = await watching({ current, ...EVENTS });
    await until(() => told.length === 1);
    expect(versionsOf(told)).toEqual(['1.0.1']);
  });

  test('ends with its signal', async () => {
    using timers = holdTimers();
    writeFileSync(file, versionText('1.0.0'));
    const told = await watching(POLL);
    stop.abort();
    writeFileSync(file, versionText('1.0.1'));
    await aMoment();
    await timers.pass(60_000);
    await aMoment();
    expect([reads, told]).toEqual([[], []]);
  });
});
