import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { holdTimers } from '../testing/time/held-timers.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';
import { aMoment } from '../testing/time/moment.ts';
import {
  loadManifestFile,
  unreadableManifest,
  watchManifestFile,
  type LoadedManifest,
  type WatchOptions,
} from './manifest-file.ts';

let directory: string;
let file: string;
let stop: AbortController;
/** Result of each read by the watch, oldest first. */
let reads: LoadedManifest[];

beforeEach(() => {
  reads = [];
  directory = mkdtempSync(join(tmpdir(), 'manifest-file-'));
  file = join(directory, 'agent.yaml');
  stop = new AbortController();
});

afterEach(() => {
  stop.abort();
  rmSync(directory, { recursive: true, force: true });
});

const versionText = (version: string): string => manifestText().replace('1.0.0', version);
const hashOf = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

describe('loadManifestFile', () => {
  test('returns the manifest, the text and the SHA-256 of the file', async () => {
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
    ['does not exist', () => undefined, 'does not exist'],
    ['is a directory', () => mkdirSync(file), 'is a directory, not a file'],
    ['is binary', () => writeFileSync(file, Buffer.from([1, 0, 2])), 'is not a UTF-8 text file'],
    ['is Latin-1', () => writeFileSync(file, Buffer.from([0x61, 0xe4])), 'is not a UTF-8 text file'],
    [
      'is empty',
      () => writeFileSync(file, ''),
      'file is empty; apiVersion, kind, metadata and spec are required',
    ],
    [
      'is too large',
      () => writeFileSync(file, Buffer.alloc(1024 * 1024 + 1, '#')),
      'exceeds the maximum manifest size of 1 MiB',
    ],
    ['is a link to itself', () => symlinkSync(file, file), 'cannot be read: symbolic link loop'],
  ])('returns one problem for a file that %s', async (_what, prepare, message) => {
    prepare();
    expect(await loadManifestFile(file)).toEqual({
      ok: false,
      file,
      problems: [{ path: '', message, line: 1, column: 1 }],
      ...(message.startsWith('file is empty') ? {} : { unreadable: true }),
    });
  });
});

/** Starts to watch `file` in its current state. The returned array collects the reported results. */
async function watching(options: Partial<WatchOptions> = {}): Promise<LoadedManifest[]> {
  const reported: LoadedManifest[] = [];
  // The last read of a watch can end after its test.
  const ownReads = reads;
  watchManifestFile(file, {
    current: await loadManifestFile(file),
    onChange: (loaded) => reported.push(loaded),
    signal: stop.signal,
    settleMs: 20,
    load: async (path) => {
      const loaded = await loadManifestFile(path);
      ownReads.push(loaded);
      return loaded;
    },
    ...options,
  });
  return reported;
}

/** Waits for the condition. `pass` advances the held timers between two checks. */
async function until(condition: () => boolean, pass?: () => Promise<void>): Promise<void> {
  for (let waited = 0; !condition(); waited += 20) {
    if (waited > 120_000) throw new Error('the condition was not met within 2 minutes');
    await pass?.();
    await delay(20);
  }
}

/** Waits until the watch has read the file again and has processed the result. */
async function readAgain(): Promise<void> {
  const before = reads.length;
  await until(() => reads.length > before);
  await aMoment();
}

const versionsOf = (reported: readonly LoadedManifest[]): string[] =>
  reported.map((loaded) =>
    loaded.ok ? loaded.manifest.metadata.version : loaded.problems.map(({ path }) => path).join(),
  );

describe('watchManifestFile', () => {
  // Each detection method alone. EVENTS: directory events without polling. POLL: polling, in cases where the directory emits no
  // event, for example for the target of a link.
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
  ])('reports %s each time', async (_how, save) => {
    writeFileSync(file, versionText('1.0.0'));
    const reported = await watching(EVENTS);
    save(versionText('1.0.1'));
    await until(() => reported.length === 1);
    save(versionText('1.0.2'));
    await until(() => reported.length === 2);
    expect(versionsOf(reported)).toEqual(['1.0.1', '1.0.2']);
    expect(reported[1]).toMatchObject({ ok: true, hash: hashOf(versionText('1.0.2')) });
  });

  test('reports an update of a ConfigMap volume', async () => {
    /** As the kubelet does: creates a directory and a new link to it, then renames the new link over the old link. */
    const publish = (generation: string, text: string): void => {
      mkdirSync(join(directory, generation));
      writeFileSync(join(directory, generation, 'agent.yaml'), text);
      symlinkSync(generation, join(directory, '..data_tmp'));
      renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
    };
    publish('..2026_01', versionText('1.0.0'));
    symlinkSync(join('..data', 'agent.yaml'), file);
    const reported = await watching(EVENTS);
    publish('..2026_02', versionText('2.0.0'));
    await until(() => reported.length === 1);
    publish('..2026_03', versionText('3.0.0'));
    rmSync(join(directory, '..2026_01'), { recursive: true });
    await until(() => reported.length === 2);
    expect(versionsOf(reported)).toEqual(['2.0.0', '3.0.0']);
  });

  test('detects by polling a change that causes no event, in the target of a link to another directory', async () => {
    const elsewhere = join(directory, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'real.yaml'), versionText('1.0.0'));
    symlinkSync(join(elsewhere, 'real.yaml'), file);
    const reported = await watching(POLL);
    // The start causes the first read and the first poll causes the second read. Later reads come from polls.
    await until(() => reads.length >= 2);
    writeFileSync(join(elsewhere, 'real.yaml'), versionText('1.0.1'));
    await until(() => reported.length === 1);
    expect(versionsOf(reported)).toEqual(['1.0.1']);
  });

  test('keeps watching when the directory is replaced', async () => {
    const inner = join(directory, 'inner');
    file = join(inner, 'agent.yaml');
    mkdirSync(inner);
    writeFileSync(file, versionText('1.0.0'));
    const reported = await watching(POLL);
    renameSync(inner, `${inner}.old`);
    mkdirSync(inner);
    writeFileSync(file, versionText('1.0.1'));
    await until(() => versionsOf(reported).includes('1.0.1'));
    writeFileSync(file, versionText('1.0.2'));
    await until(() => versionsOf(reported).includes('1.0.2'));
  });

  test('reports the problems of an invalid file once, and the valid file that follows', async () => {
    writeFileSync(file, versionText('1.0.0'));
    const reported = await watching();
    writeFileSync(file, versionText('latest'));
    await until(() => reported.length === 1);
    const again = join(directory, 'again.yaml');
    writeFileSync(again, `${versionText('latest')}# saved again\n`);
    await readAgain();
    renameSync(again, file);
    await readAgain();
    expect(reported).toHaveLength(1);
    writeFileSync(file, versionText('1.0.0'));
    await until(() => reported.length === 2);
    expect(versionsOf(reported)).toEqual(['metadata.version', '1.0.0']);
  });

  test('reports a file that stays deleted', async () => {
    writeFileSync(file, versionText('1.0.0'));
    const reported = await watching();
    unlinkSync(file);
    await until(() => reported.length === 1);
    expect(reported).toEqual([
      {
        ok: false,
        file,
        problems: [{ path: '', message: 'does not exist', line: 1, column: 1 }],
        unreadable: true,
      },
    ]);
  });

  test('reports neither an unchanged file that was rewritten nor other files in the directory', async () => {
    writeFileSync(file, versionText('1.0.0'));
    const reported = await watching(POLL);
    await until(() => reads.length >= 2);
    writeFileSync(file, versionText('1.0.0'));
    await readAgain();
    writeFileSync(join(directory, 'other.yaml'), 'x');
    await readAgain();
    expect(reported).toEqual([]);
  });

  test('does not read the file again when only other files of the directory change', async () => {
    writeFileSync(file, versionText('1.0.0'));
    utimesSync(file, 0, 0);
    using timers = holdTimers();
    await watching(EVENTS);
    const settle = (): Promise<void> => timers.pass(20);
    await until(() => reads.length > 0, settle);
    writeFileSync(join(directory, 'agent.log'), 'x');
    for (let moment = 0; moment < 5; moment++) {
      await aMoment();
      await settle();
    }
    expect(reads).toHaveLength(1);
    writeFileSync(file, versionText('1.0.1'));
    await until(() => reads.length > 1, settle);
  });

  test('reads a file again that could not be read, although it is unchanged', async () => {
    writeFileSync(file, versionText('1.0.0'));
    utimesSync(file, 0, 0);
    let isBroken = false;
    const load = async (path: string): Promise<LoadedManifest> =>
      isBroken ? unreadableManifest(path, 'cannot be read: EMFILE') : loadManifestFile(path);
    const reported = await watching({ ...POLL, load });
    isBroken = true;
    writeFileSync(file, versionText('1.0.1'));
    utimesSync(file, 0, 0);
    await until(() => reported.length === 1);
    isBroken = false;
    await until(() => reported.length === 2);
    expect(reported).toMatchObject([
      { ok: false },
      { ok: true, manifest: { metadata: { version: '1.0.1' } } },
    ]);
  });

  test('does not report a half-written file', async () => {
    writeFileSync(file, versionText('1.0.0'));
    using timers = holdTimers();
    const reported = await watching(EVENTS);
    const settle = (): Promise<void> => timers.pass(20);
    await until(() => reads.length >= 1, settle);
    writeFileSync(file, versionText('1.0.1').slice(0, 40));
    await until(() => !reads.at(-1)!.ok, settle);
    // The second read, which would report the problem, reads the complete file.
    writeFileSync(file, versionText('1.0.1'));
    await until(() => reported.length > 0, settle);
    // Events or the second read may cause further reads.
    await aMoment();
    await settle();
    await aMoment();
    expect(versionsOf(reported)).toEqual(['1.0.1']);
  });

  test('reports a change between loading the file and starting the watch', async () => {
    writeFileSync(file, versionText('1.0.0'));
    const current = await loadManifestFile(file);
    writeFileSync(file, versionText('1.0.1'));
    const reported = await watching({ current, ...EVENTS });
    await until(() => reported.length === 1);
    expect(versionsOf(reported)).toEqual(['1.0.1']);
  });

  test('ends when its signal aborts', async () => {
    using timers = holdTimers();
    writeFileSync(file, versionText('1.0.0'));
    const reported = await watching(POLL);
    stop.abort();
    writeFileSync(file, versionText('1.0.1'));
    await aMoment();
    await timers.pass(60_000);
    await aMoment();
    expect([reads, reported]).toEqual([[], []]);
  });
});
