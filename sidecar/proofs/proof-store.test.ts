import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ProofRecord } from '../../core/proof/proof.ts';
import { ProofStore } from './proof-store.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proofs-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const proof = (ruleId: string, verifiedBy = 'here'): ProofRecord => ({
  ruleId,
  origin: 'local',
  verifiedBy,
  method: 'tested',
  verifiedAt: '2026-03-01T10:00:00.000Z',
});
const held = (store: ProofStore) => store.list().map(({ ruleId, verifiedBy }) => `${ruleId} ${verifiedBy}`);

describe('what the control plane answers', () => {
  test('replaces everything that it was told', async () => {
    const store = await ProofStore.open(null);
    await store.put(proof('MEM-01'));
    await store.put(proof('OBS-03'));
    await store.settle(store.tell(), { revision: 7, proofs: [proof('MEM-02', 'there')] });
    expect(held(store)).toEqual(['MEM-02 there']);
    expect(store.tell()).toMatchObject({ revision: 7 });
  });

  test('does not undo what changed here since', async () => {
    const store = await ProofStore.open(null);
    await store.put(proof('MEM-01'));
    await store.put(proof('MEM-02'));
    const told = store.tell();
    await store.put(proof('OBS-03', 'since'));
    await store.remove('MEM-02', new Date('2026-03-01T10:00:01Z'));
    await store.settle(told, { revision: 7, proofs: [proof('MEM-01', 'there'), proof('MEM-02', 'there')] });
    expect(held(store)).toEqual(['MEM-01 there', 'OBS-03 since']);
  });

  test('does undo it once it was told', async () => {
    const store = await ProofStore.open(null);
    await store.put(proof('OBS-03'));
    await store.settle(store.tell(), null);
    expect(held(store)).toEqual(['OBS-03 here']);
    await store.settle(store.tell(), { revision: 8, proofs: [] });
    expect(held(store)).toEqual([]);
  });
});

describe('a removal that the control plane overlooked, since it changed meanwhile', () => {
  const removed = async (): Promise<ProofStore> => {
    const store = await ProofStore.open(null);
    await store.put(proof('MEM-01'));
    await store.settle(store.tell(), { revision: 3, proofs: [proof('MEM-01')] });
    await store.remove('MEM-01', new Date('2026-03-01T10:05:00Z'));
    return store;
  };

  test('holds, until the control plane has taken it over', async () => {
    const store = await removed();
    await store.settle(store.tell(), { revision: 5, proofs: [proof('MEM-01'), proof('OBS-03', 'there')] });
    expect(held(store)).toEqual(['OBS-03 there']);
    expect(store.tell()).toMatchObject({ revision: 5 });
    await store.settle(store.tell(), { revision: 6, proofs: [proof('OBS-03', 'there')] });
    await store.settle(store.tell(), { revision: 7, proofs: [proof('MEM-01', 'later')] });
    expect(held(store)).toEqual(['MEM-01 later']);
  });

  test('gives way to a newer record', async () => {
    const store = await removed();
    const newer = { ...proof('MEM-01', 'there'), verifiedAt: '2026-03-01T10:06:00.000Z' };
    await store.settle(store.tell(), { revision: 5, proofs: [newer] });
    expect(held(store)).toEqual(['MEM-01 there']);
  });
});

describe('a record of the control plane', () => {
  const ofAdmin: ProofRecord = { ...proof('MEM-01', 'admin'), origin: 'control-plane' };
  const withRecord = async (): Promise<ProofStore> => {
    const store = await ProofStore.open(null);
    await store.settle(store.tell(), { revision: 3, proofs: [ofAdmin] });
    return store;
  };

  test('is not changed or removed by a local write', async () => {
    const store = await withRecord();
    expect(await store.put(proof('MEM-01'))).toBe('not-local');
    expect(await store.remove('MEM-01', new Date('2026-03-01T10:05:00Z'))).toBe('not-local');
    expect(await store.remove('MEM-02', new Date('2026-03-01T10:05:00Z'))).toBe('no-proof');
    expect(held(store)).toEqual(['MEM-01 admin']);
  });

  test('replaces a local one that was written or removed here before', async () => {
    const store = await ProofStore.open(null);
    const told = store.tell();
    expect(await store.put(proof('MEM-01'))).toBe('stored');
    await store.settle(told, { revision: 3, proofs: [ofAdmin] });
    expect(held(store)).toEqual(['MEM-01 admin']);
    const removed = await ProofStore.open(null);
    await removed.put(proof('MEM-01'));
    await removed.settle(removed.tell(), { revision: 2, proofs: [proof('MEM-01')] });
    expect(await removed.remove('MEM-01', new Date('2026-03-01T10:05:00Z'))).toBe('removed');
    await removed.settle(removed.tell(), { revision: 3, proofs: [ofAdmin] });
    expect(held(removed)).toEqual(['MEM-01 admin']);
  });
});

describe('the file', () => {
  test('is whole at every moment, whatever is written at once', async () => {
    const path = join(folder, 'proofs.json');
    const store = await ProofStore.open(path);
    const rules = ['MEM-01', 'MEM-02', 'MEM-03', 'MEM-04', 'MEM-05'];
    await Promise.all(rules.map((rule) => store.put(proof(rule))));
    expect(held(await ProofStore.open(path))).toEqual(rules.map((rule) => `${rule} here`));
    expect(await readdir(folder)).toEqual(['proofs.json']);
  });

  test.each([
    ['no JSON', '{'],
    ['no proofs', '[]'],
    ['a wrong record', '{"revision":0,"proofs":[{"ruleId":"MEM-01"}]}'],
  ])('that holds %s is refused and kept', async (_title, content) => {
    const path = join(folder, 'proofs.json');
    await writeFile(path, content);
    await expect(ProofStore.open(path)).rejects.toThrow(`PROOF_STORE_PATH ${path} holds no proofs`);
    expect(await readFile(path, 'utf8')).toBe(content);
  });

  test.each([
    ['a folder that is not there', 'nowhere/proofs.json', 'cannot be written'],
    ['a file in the place of its folder', 'file/proofs.json', 'cannot be read'],
    ['a folder', '.', 'cannot be read'],
  ])('in %s stops the start and names PROOF_STORE_PATH', async (_title, name, why) => {
    await writeFile(join(folder, 'file'), '');
    const path = join(folder, name);
    await expect(ProofStore.open(path)).rejects.toThrow(`PROOF_STORE_PATH ${path} ${why}`);
  });

  test.each([
    [0, 'local'],
    [4, undefined],
  ])('of a version without origins, at revision %i, has records of origin %s', async (revision, origin) => {
    const path = join(folder, 'proofs.json');
    const { origin: _, ...record } = proof('MEM-01');
    await writeFile(path, JSON.stringify({ revision, proofs: [record] }));
    const [read] = (await ProofStore.open(path)).list();
    expect(read?.origin).toBe(origin);
  });

  test('that cannot be written rejects the change, and the next one is tried again', async () => {
    const path = join(folder, 'sub', 'proofs.json');
    await mkdir(join(folder, 'sub'));
    const store = await ProofStore.open(path);
    await rm(join(folder, 'sub'), { recursive: true });
    await expect(store.put(proof('MEM-01'))).rejects.toThrow('ENOENT');
    expect(held(store)).toEqual([]);
    await writeFile(join(folder, 'sub'), '');
    await expect(store.put(proof('MEM-01'))).rejects.toThrow('ENOTDIR');
    expect(store.tell()).toEqual({ revision: 0, proofs: [], changesUpTo: 0 });
  });
});
