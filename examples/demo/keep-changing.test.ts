import { afterEach, expect, test } from '@jest/globals';
import { TestServers } from '../../testing/http/sockets.ts';
import { keepChanging } from './keep-changing.ts';

const servers = new TestServers();
afterEach(() => servers.close());

test('alternates between long and short messages every 40 requests, after a pause of 20 seconds, until it is stopped', async () => {
  const lengths: number[] = [];
  const stopping = new AbortController();
  const port = await servers.http((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      lengths.push((JSON.parse(body) as { message: string }).message.length);
      if (lengths.length === 120) stopping.abort();
      response.end('{}');
    });
  });
  const pauses: number[] = [];
  const pause = (ms: number): Promise<void> => {
    pauses.push(ms);
    return Promise.resolve();
  };
  await keepChanging({ proxyUrl: `http://127.0.0.1:${port}`, signal: stopping.signal, pause });
  const isLong = lengths.map((length) => length >= 80);
  expect(isLong.slice(0, 40)).toEqual(Array(40).fill(true));
  expect(isLong.slice(40, 80)).toEqual(Array(40).fill(false));
  expect(isLong.slice(80)).toEqual(Array(40).fill(true));
  expect(pauses.slice(0, 3)).toEqual([20_000, 500, 500]);
});

test('fails if the agent is not reachable', async () => {
  const proxyUrl = `http://127.0.0.1:${await servers.closedPort()}`;
  const { signal } = new AbortController();
  await expect(keepChanging({ proxyUrl, signal, pause: () => Promise.resolve() })).rejects.toThrow(
    'fetch failed',
  );
});
