import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import { ProofStore } from './proof-store.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proofs-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const proof = (ruleId: string, verifiedBy = 'local'): ProofRecord => ({
  ruleId,
  origin: 'local',
  verifiedBy,
  method: 'tested',
  verifiedAt: '2026-03-01T10:00:00.000Z',
});
const listed = (store: ProofStore) => store.list().map(({ ruleId, verifiedBy }) => `${ruleId} ${verifiedBy}`);

describe('the reply of the control plane', () => {
  test('replaces all proofs that were sent', async () => {
    const store = await ProofStore.open(null);
    await store.put(proof('MEM-01'));
    await store.put(proof('OBS-03'));
    await store.settle(store.toSend(), { revision: 7, proofs: [proof('MEM-02', 'remote')] });
    expect(listed(store)).toEqual(['MEM-02 remote']);
    expect(store.toSend()).toMatchObject({ revision: 7 });
  });

  test('does not undo later local changes', async () => {
    const store = await ProofStore.open(null);
    await store.put(proof('MEM-01'));
    await store.put(proof('MEM-02'));
    const sent = store.toSend();
    await store.put(proof('OBS-03', 'since'));
    await store.remove('MEM-02', new Date('2026-03-01T10:00:01Z'));
    await store.settle(sent, { revision: 7, proofs: [proof('MEM-01', 'remote'), proof('MEM-02', 'remote')] });
    expect(listed(store)).toEqual(['MEM-01 remote', 'OBS-03 since']);
  });

  test('can remove a local proof after it was sent', async () => {
    const store = await ProofStore.open(null);
    await store.put(proof('OBS-03'));
    await store.settle(store.toSend(), null);
    expect(listed(store)).toEqual(['OBS-03 local']);
    await store.settle(store.toSend(), { revision: 8, proofs: [] });
    expect(listed(store)).toEqual([]);
  });
});

describe('a removal that the control plane missed because of a concurrent change', () => {
  const removed = async (): Promise<ProofStore> => {
    const store = await ProofStore.open(null);
    await store.put(proof('MEM-01'));
    await store.settle(store.toSend(), { revision: 3, proofs: [proof('MEM-01')] });
    await store.remove('MEM-01', new Date('2026-03-01T10:05:00Z'));
    return store;
  };

  test('is kept until the control plane has applied it', async () => {
    const store = await removed();
    await store.settle(store.toSend(), { revision: 5, proofs: [proof('MEM-01'), proof('OBS-03', 'remote')] });
    expect(listed(store)).toEqual(['OBS-03 remote']);
    expect(store.toSend()).toMatchObject({ revision: 5 });
    await store.settle(store.toSend(), { revision: 6, proofs: [proof('OBS-03', 'remote')] });
    await store.settle(store.toSend(), { revision: 7, proofs: [proof('MEM-01', 'later')] });
    expect(listed(store)).toEqual(['MEM-01 later']);
  });

  test('is discarded for a newer record', async () => {
    const store = await removed();
    const newer = { ...proof('MEM-01', 'remote'), verifiedAt: '2026-03-01T10:06:00.000Z' };
    await store.settle(store.toSend(), { revision: 5, proofs: [newer] });
    expect(listed(store)).toEqual(['MEM-01 remote']);
  });
});

describe('a record of the control plane', () => {
  const adminRecord: ProofRecord = { ...proof('MEM-01', 'admin'), origin: 'control-plane' };
  const withRecord = async (): Promise<ProofStore> => {
    const store = await ProofStore.open(null);
    await store.settle(store.toSend(), { revision: 3, proofs: [adminRecord] });
    return store;
  };

  test('is not changed or removed by a local write', async () => {
    const store = await withRecord();
    expect(await store.put(proof('MEM-01'))).toBe('not-local');
    expect(await store.remove('MEM-01', new Date('2026-03-01T10:05:00Z'))).toBe('not-local');
    expect(await store.remove('MEM-02', new Date('2026-03-01T10:05:00Z'))).toBe('no-proof');
    expect(listed(store)).toEqual(['MEM-01 admin']);
  });

  test('replaces a local record, also after a local removal', async () => {
    const store = await ProofStore.open(null);
    const sent = store.toSend();
    expect(await store.put(proof('MEM-01'))).toBe('stored');
    await store.settle(sent, { revision: 3, proofs: [adminRecord] });
    expect(listed(store)).toEqual(['MEM-01 admin']);
    const removed = await ProofStore.open(null);
    await removed.put(proof('MEM-01'));
    await removed.settle(removed.toSend(), { revision: 2, proofs: [proof('MEM-01')] });
    expect(await removed.remove('MEM-01', new Date('2026-03-01T10:05:00Z'))).toBe('removed');
    await removed.settle(removed.toSend(), { revision: 3, proofs: [adminRecord] });
    expect(listed(removed)).toEqual(['MEM-01 admin']);
  });
});

describe('the proof file', () => {
  test('is complete after concurrent writes', async () => {
    const path = join(folder, 'proofs.json');
    const store = await ProofStore.open(path);
    const rules = ['MEM-01', 'MEM-02', 'MEM-03', 'MEM-04', 'MEM-05'];
    await Promise.all(rules.map((rule) => store.put(proof(rule))));
    expect(listed(await ProofStore.open(path))).toEqual(rules.map((rule) => `${rule} local`));
    expect(await readdir(folder)).toEqual(['proofs.json']);
  });

  test.each([
    ['invalid JSON', '{'],
    ['another JSON value', '[]'],
    ['an invalid record', '{"revision":0,"proofs":[{"ruleId":"MEM-01"}]}'],
  ])('with %s is rejected and not overwritten', async (_title, content) => {
    const path = join(folder, 'proofs.json');
    await writeFile(path, content);
    await expect(ProofStore.open(path)).rejects.toThrow(`PROOF_STORE_PATH ${path} is not a valid proof file`);
    expect(await readFile(path, 'utf8')).toBe(content);
  });

  test.each([
    ['a missing directory', 'nowhere/proofs.json', 'cannot be written'],
    ['a file instead of a directory', 'file/proofs.json', 'cannot be read'],
    ['the path of a directory', '.', 'cannot be read'],
  ])('in %s fails the start with PROOF_STORE_PATH in the error', async (_title, name, why) => {
    await writeFile(join(folder, 'file'), '');
    const path = join(folder, name);
    await expect(ProofStore.open(path)).rejects.toThrow(`PROOF_STORE_PATH ${path} ${why}`);
  });

  test.each([
    [0, 'local'],
    [4, undefined],
  ])('from a version without origins, at revision %i, is read with origin %s', async (revision, origin) => {
    const path = join(folder, 'proofs.json');
    const { origin: _, ...record } = proof('MEM-01');
    await writeFile(path, JSON.stringify({ revision, proofs: [record] }));
    const [read] = (await ProofStore.open(path)).list();
    expect(read?.origin).toBe(origin);
  });

  test('that cannot be written rejects the change, and the next change is attempted', async () => {
    const path = join(folder, 'sub', 'proofs.json');
    await mkdir(join(folder, 'sub'));
    const store = await ProofStore.open(path);
    await rm(join(folder, 'sub'), { recursive: true });
    await expect(store.put(proof('MEM-01'))).rejects.toThrow('ENOENT');
    expect(listed(store)).toEqual([]);
    await writeFile(join(folder, 'sub'), '');
    await expect(store.put(proof('MEM-01'))).rejects.toThrow('ENOTDIR');
    expect(store.toSend()).toEqual({ revision: 0, proofs: [], changesUpTo: 0 });
  });
});
