import { expect, test } from '@jest/globals';
import { startOnLoopback } from './loopback.ts';

const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** Starts that fail on the hosts of `failures`; returns what was called and how it ended. */
async function startWith(failures: Readonly<Record<string, Error>>): Promise<unknown[]> {
  const calls: unknown[] = [];
  const start = (host: string): Promise<void> => {
    calls.push(host);
    return failures[host] === undefined ? Promise.resolve() : Promise.reject(failures[host]);
  };
  const close = (): Promise<void> => Promise.resolve(void calls.push('close'));
  await startOnLoopback(start, close).catch((error: unknown) => calls.push(error));
  return calls;
}

test('starts on both addresses', async () => {
  expect(await startWith({})).toEqual(['127.0.0.1', '::1']);
});

test('a kernel without IPv6 has one address', async () => {
  expect(await startWith({ '::1': failure('EADDRNOTAVAIL') })).toEqual(['127.0.0.1', '::1']);
});

test.each(['127.0.0.1', '::1'])('closes what was started if %s is in use, and rejects', async (host) => {
  const error = failure('EADDRINUSE');
  const started = host === '::1' ? ['127.0.0.1', '::1'] : ['127.0.0.1'];
  expect(await startWith({ [host]: error })).toEqual([...started, 'close', error]);
});

test('does not take an error of 127.0.0.1 for a kernel without IPv6', async () => {
  const error = failure('EADDRNOTAVAIL');
  expect(await startWith({ '127.0.0.1': error })).toEqual(['127.0.0.1', 'close', error]);
});
