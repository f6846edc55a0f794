import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aMoment } from '../../testing/time/moment.ts';
import { startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: ProxyRig;
/** Requests that the agent received, in order. */
let seen: string[];
/** Sends the responses of the agent, the oldest request first. */
let responders: (() => void)[];
let client: Socket;
let text: string;
let isClosed: boolean;
beforeEach(async () => {
  [seen, responders, text, isClosed] = [[], [], '', false];
  rig = await startRig((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    request.resume().on('error', () => undefined);
    responders.push(() => {
      if (request.url !== '/cut') return void response.end(`<${request.url}>`);
      response.writeHead(200, { 'content-length': 10 }).write('part', () => request.socket.destroy());
    });
  });
  client = connect(rig.port, '127.0.0.1').setEncoding('latin1').setNoDelay();
  client.on('data', (chunk: string) => (text += chunk)).on('error', () => undefined);
  client.on('close', () => (isClosed = true));
});
afterEach(async () => {
  client.destroy();
  await rig.close();
});

const bodies = (): string[] => [...text.matchAll(/<([^>]*)>/g)].map(([, path]) => path ?? '');
const requestOf = (method: string, path: string, more = '\r\n'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\n${more}`;
const WITH_BODY = 'Content-Length: 2\r\n\r\nhi';
const IN_CHUNKS = 'Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n';

async function respondToNext(): Promise<void> {
  await until(() => responders.length > 0, 'a request at the agent');
  responders.shift()?.();
}

describe('of two pipelined requests, the agent receives the second', () => {
  test.each([
    ['POST', WITH_BODY, 'GET', '\r\n'],
    ['POST', IN_CHUNKS, 'GET', '\r\n'],
    ['GET', '\r\n', 'POST', WITH_BODY],
    ['GET', '\r\n', 'POST', IN_CHUNKS],
    ['GET', '\r\n', 'GET', WITH_BODY],
    ['PUT', WITH_BODY, 'PUT', WITH_BODY],
    ['DELETE', '\r\n', 'GET', '\r\n'],
    ['PATCH', IN_CHUNKS, 'HEAD', '\r\n'],
    ['PROPFIND', '\r\n', 'GET', '\r\n'],
  ])('only after the response to the first: %s%j, then %s%j', async (first, itsRest, second, rest) => {
    client.write(requestOf(first, '/1', itsRest) + requestOf(second, '/2', rest));
    await until(() => rig.audit.ring.last === 2 && seen.length === 1, 'both arrivals');
    await aMoment();
    expect(seen).toEqual([`${first} /1`]);
    await respondToNext();
    await until(() => seen.length === 2, 'the second request');
    await respondToNext();
    await until(() => text.split('HTTP/1.1 200').length === 3, 'both responses');
    expect(seen).toEqual([`${first} /1`, `${second} /2`]);
    await until(() => rig.audit.outcomes.notEvaluated === 2, 'the completion of both entries');
    expect(rig.audit.ring.newest().map(({ bytesIn }) => bytesIn)).toEqual(
      [itsRest, rest].map((more) => (more === '\r\n' ? 0 : 2)),
    );
  });

  test.each([
    ['GET', 'GET'],
    ['GET', 'HEAD'],
    ['OPTIONS', 'GET'],
    ['QUERY', 'TRACE'],
  ])('immediately if both are safe: %s, %s', async (first, second) => {
    client.write(requestOf(first, '/1') + requestOf(second, '/2'));
    await until(() => seen.length === 2, 'both requests');
    // The responses keep the order of the requests, in whatever order the agent received them.
    responders[seen.indexOf(`${second} /2`)]?.();
    await aMoment();
    expect(text).toBe('');
  });
});

test('safe requests after a waiting request wait too, and are then sent together', async () => {
  client.write(requestOf('GET', '/1') + requestOf('GET', '/2') + requestOf('POST', '/3', WITH_BODY));
  client.write(requestOf('GET', '/4') + requestOf('GET', '/5'));
  await until(() => rig.audit.ring.last === 5 && seen.length === 2, 'the arrivals');
  await respondToNext();
  await aMoment();
  expect(seen).toHaveLength(2);
  await respondToNext();
  await until(() => seen.length === 3, 'the third');
  await aMoment();
  expect([...seen.slice(0, 2).sort(), ...seen.slice(2)]).toEqual(['GET /1', 'GET /2', 'POST /3']);
  await respondToNext();
  await until(() => seen.length === 5, 'the last two');
  responders.forEach((respond) => respond());
  await until(() => bodies().length === 5, 'all responses');
  expect(bodies()).toEqual(['/1', '/2', '/3', '/4', '/5']);
});

describe('a waiting request is never sent', () => {
  const UNSENT = { method: 'GET', path: '/2', aborted: true, unsent: true, outcome: 'notEvaluated' };

  test('if its client disconnects', async () => {
    client.write(requestOf('POST', '/1', WITH_BODY) + requestOf('GET', '/2'));
    await until(() => seen.length === 1 && rig.audit.ring.last === 2, 'the arrivals');
    client.destroy();
    await until(() => rig.audit.outcomes.notEvaluated === 2, 'the completion of both entries');
    expect(rig.audit.ring.newest()[1]).toMatchObject(UNSENT);
    await respondToNext();
    await aMoment();
    expect(seen).toEqual(['POST /1']);
  });

  test('if its connection ends with the response to the first', async () => {
    client.write(requestOf('POST', '/cut', WITH_BODY) + requestOf('GET', '/2'));
    await until(() => rig.audit.ring.last === 2, 'the arrivals');
    await respondToNext();
    await until(() => isClosed && rig.audit.outcomes.notEvaluated === 2, 'the end of the connection');
    expect(text).toMatch(/part$/);
    expect(rig.audit.ring.newest()[1]).toMatchObject(UNSENT);
    await aMoment();
    expect(seen).toEqual(['POST /cut']);
  });
});

test.each([
  ['without', '\r\n'],
  ['with', WITH_BODY],
])(
  'of thousands of requests %s bodies after a waiting request, few are parsed before its response',
  async (_title, rest) => {
    const total = 3_000;
    const filler = `X-Filler: ${'x'.repeat(200)}\r\n`;
    client.write(requestOf('POST', '/1', WITH_BODY) + requestOf('GET', '/x', filler + rest).repeat(total));
    await until(() => rig.audit.ring.last >= 64 && seen.length > 0, 'the first requests');
    await aMoment();
    expect(rig.audit.ring.last).toBe(64);
    expect(seen).toEqual(['POST /1']);
    const responding = setInterval(() => responders.splice(0).forEach((respond) => respond()), 1);
    await until(() => bodies().length > 200, 'the next responses').finally(() => clearInterval(responding));
  },
);
