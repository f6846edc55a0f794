import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { RecordFiles } from '../../testing/record/record-files.ts';
import { sampleEvents } from '../../testing/record/sample-events.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { FileFollower } from './file-follower.ts';
import { isForwarded, MAX_BATCH_LINES } from './recorded-line.ts';

let files: RecordFiles;
let follower: FileFollower;
let clock: ManualClock;
let warnings: string[];
/** Of the followers before the last restart. */
let rotated: number;
let position: string;

beforeEach(async () => {
  files = await RecordFiles.open();
  clock = new ManualClock('2026-03-01T12:00:00Z');
  [warnings, rotated, position] = [[], 0, `${files.path}.forward`];
  start();
});
afterEach(async () => {
  await follower.close();
  await files.close();
});

function start(accepts: (line: string) => boolean = () => true): void {
  follower = new FileFollower({
    ...{ path: files.path, positionPath: position, accepts, clock },
    logger: { warn: (message) => void warnings.push(message) },
  });
}

/** A process that is killed stores nothing. */
async function restart(accepts?: (line: string) => boolean): Promise<void> {
  rotated += follower.lost.rotated;
  await follower.close();
  start(accepts);
}

/** The sequences of the next batch. */
const next = async (): Promise<number[]> =>
  (await follower.next()).map(({ event }) => event.metadata.sequence);

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('a record', () => {
  test('that does not exist yet has no lines', async () => {
    expect(await next()).toEqual([]);
    await files.write(2);
    expect(await next()).toEqual([1, 2]);
    expect(await next()).toEqual([]);
  });

  test('is read in batches of at most 500 lines and 256 KiB', async () => {
    const line = await oneLine();
    await files.append(`${line}\n`.repeat(MAX_BATCH_LINES + 100));
    const sizes: number[] = [];
    for (let lines = await follower.next(); lines.length > 0; lines = await follower.next())
      sizes.push(lines.length);
    const perBatch = Math.min(MAX_BATCH_LINES, Math.floor((256 * 1024) / (line.length + 1)));
    expect(sizes[0]).toBe(perBatch);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(MAX_BATCH_LINES + 101);
  });

  test('has no line before its end is written', async () => {
    const line = await oneLine();
    expect(await next()).toEqual([1]);
    await files.append(line.slice(0, 100));
    expect(await next()).toEqual([]);
    await files.append(`${line.slice(100)}\n`);
    expect(await next()).toEqual([1]);
    expect(follower.lost.invalid).toBe(0);
  });

  test('with a line that a full disk cut, and one that is too long, continues with the next line', async () => {
    await files.write(1);
    await files.append(`{"action_id":1,"activi\n${'x'.repeat(300_000)}\n\n`);
    await files.write(1);
    expect(await next()).toEqual([1, 2]);
    // The long line is read in two parts.
    expect(follower.lost).toEqual({ rotated: 0, full: 0, invalid: 3, rejected: 0 });
  });

  test('of another level has only the lines of this level', async () => {
    const { request, deniedWithoutIdentity, notEvaluated, modelCall, failOpen, lost, adminAction } =
      sampleEvents();
    await restart((line) => isForwarded('decisions', line));
    for (const event of [
      request,
      deniedWithoutIdentity,
      notEvaluated,
      modelCall,
      failOpen,
      lost,
      adminAction,
    ])
      await files.write(1, event);
    expect(await next()).toEqual([2, 5, 6, 7]);
    await restart((line) => isForwarded('calls', line));
    expect(await next()).toEqual([2, 4, 5, 6, 7]);
  });
});

async function oneLine(): Promise<string> {
  await files.write(1);
  return (await readFile(files.path, 'utf8')).trimEnd();
}

describe('after a restart, the lines follow those that were sent', () => {
  type Step = (typeof STEPS)[keyof typeof STEPS];
  const STEPS = {
    write: () => files.write(3),
    writeLess: () => files.write(2),
    rotate: () => files.rotate(),
    kill: () => restart(),
    send: async () => {
      const sequences = await next();
      await follower.done();
      return sequences;
    },
    /** Read, and not sent before the kill. */
    read: () => next(),
    newChain: async () => files.newChain(),
    lose: () => truncate(files.path, 0),
  };
  const { write, writeLess, rotate, kill, send, read, newChain, lose } = STEPS;

  test.each<[name: string, steps: Step[], sent: number[][], lost: number]>([
    ['a kill', [write, send, kill, write, send], [range(1, 3), range(4, 6)], 0],
    ['a kill before lines were sent', [write, read, kill, send], [range(1, 3), range(1, 3)], 0],
    ['a rotation', [write, send, rotate, write, send], [range(1, 3), range(4, 6)], 0],
    ['a rotation before the read', [write, rotate, write, send], [range(1, 6)], 0],
    [
      'a rotation during a kill',
      [write, send, kill, write, rotate, write, send],
      [range(1, 3), range(4, 9)],
      0,
    ],
    [
      'two rotations',
      [write, send, write, rotate, write, rotate, write, send],
      [range(1, 3), range(4, 12)],
      0,
    ],
    [
      'more rotations than files, while the file is open',
      [write, send, rotate, write, rotate, write, rotate, write, rotate, write, send, send],
      [range(1, 3), [], range(7, 15)],
      3,
    ],
    [
      'more rotations than files during a kill',
      [write, send, kill, rotate, write, rotate, write, rotate, write, rotate, write, send],
      [range(1, 3), range(7, 15)],
      3,
    ],
    ['another chain', [write, send, kill, newChain, write, send], [range(1, 3), range(1, 3)], 0],
    [
      'a lost file and another chain',
      [write, send, kill, newChain, rotate, write, rotate, write, rotate, write, rotate, write, send],
      [range(1, 3), range(4, 12)],
      3,
    ],
    ['a file that was emptied', [write, send, lose, writeLess, send], [range(1, 3), [4, 5]], 0],
    [
      'a file that was emptied during a kill',
      [write, send, kill, lose, write, send],
      [range(1, 3), range(4, 6)],
      0,
    ],
  ])('%s', async (_name, steps, sent, lost) => {
    const found: number[][] = [];
    for (const step of steps) {
      const sequences = await step();
      if (sequences !== undefined) found.push(sequences);
    }
    expect(found).toEqual(sent);
    expect([rotated + follower.lost.rotated, follower.lost.invalid]).toEqual([lost, 0]);
  });
});

describe('the position', () => {
  test('is stored without a batch too, after half a minute', async () => {
    await restart(() => false);
    await files.write(2);
    await next();
    const stored = await readFile(position, 'utf8');
    await files.write(2);
    await next();
    expect(await readFile(position, 'utf8')).toBe(stored);
    clock.advance(30_000);
    await next();
    await restart();
    expect(await next()).toEqual([]);
  });

  test('that is not valid is ignored, and the lines are sent again', async () => {
    await files.write(2);
    await writeFile(position, '{"file":"x"}');
    expect(await next()).toEqual([1, 2]);
    expect(warnings).toEqual(['position in audit log is not valid, events are sent again']);
  });

  test('that cannot be stored is logged once, and stops nothing', async () => {
    position = join(files.folder, 'missing/position');
    await restart();
    for (const sequence of [1, 2]) {
      await files.write(1);
      expect(await next()).toEqual([sequence]);
      await follower.done();
    }
    expect(warnings).toEqual(['failed to store position in audit log, a restart sends events again']);
  });
});
