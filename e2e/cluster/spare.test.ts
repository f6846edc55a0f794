import { existsSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import type { ControlPlane } from './control.ts';
import { openSpares, takeSpare, type Spares } from './spare.ts';

/** Number of started control planes, and the numbers of the closed ones. */
let started: number;
let closed: number[];
let spares: Spares | undefined;

async function open(failing: readonly number[] = []): Promise<Spares> {
  started = 0;
  closed = [];
  spares = await openSpares(async (): Promise<ControlPlane> => {
    const number = started++;
    if (failing.includes(number)) throw new Error('no port is free');
    const close = async () => void closed.push(number);
    return { kubeconfig: `/${number}`, url: `https://127.0.0.1:${number}`, close };
  });
  return spares;
}

afterEach(() => spares?.close());

test('starts one control plane in advance, and the next one as soon as it is taken', async () => {
  const { path } = await open();
  expect(started).toBe(1);
  const taken = await takeSpare(path);
  expect(taken).toMatchObject({ kubeconfig: '/0', url: 'https://127.0.0.1:0' });
  expect(started).toBe(2);
  await taken.close();
});

test('closes a returned control plane and does not reuse it', async () => {
  const { path } = await open();
  const first = await takeSpare(path);
  await first.close();
  expect(closed).toEqual([0]);
  const second = await takeSpare(path);
  expect(second.kubeconfig).toBe('/1');
  await second.close();
});

test('returns the error of a failed start, and then the next control plane', async () => {
  const { path } = await open([0]);
  await expect(takeSpare(path)).rejects.toThrow('no port is free');
  const next = await takeSpare(path);
  expect(next.kubeconfig).toBe('/1');
  await next.close();
});

test('closes all control planes at the end, including those in use', async () => {
  const { path, close } = await open();
  const lent = await takeSpare(path);
  await close();
  expect(closed.sort()).toEqual([0, 1]);
  expect(existsSync(path)).toBe(false);
  await lent.close();
});
