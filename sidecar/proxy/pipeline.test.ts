import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aMoment } from '../../testing/moment.ts';
import { startRig, until, type ProxyRig } from '../../testing/proxy-rig.ts';

let rig: ProxyRig;
/** What the agent was asked, in this order. */
let seen: string[];
/** Lets the agent answer the oldest request that it has not answered. */
let answers: (() => void)[];
let client: Socket;
let text: string;
let isClosed: boolean;
beforeEach(async () => {
  [seen, answers, text, isClosed] = [[], [], '', false];
  rig = await startRig((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    request.resume().on('error', () => undefined);
    answers.push(() => {
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
const say = (method: string, path: string, more = '\r\n'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\n${more}`;
const WITH_BODY = 'Content-Length: 2\r\n\r\nhi';
const IN_CHUNKS = 'Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n';

async function answerNext(): Promise<void> {
  await until(() => answers.length > 0, 'a request at the agent');
  answers.shift()?.();
}

describe('of two requests that a client sends at once, the agent gets the second', () => {
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
  ])('only once the first is answered: %s%j, then %s%j', async (first, itsRest, second, rest) => {
    client.write(say(first, '/1', itsRest) + say(second, '/2', rest));
    await until(() => rig.audit.ring.last === 2 && seen.length === 1, 'both arrivals');
    await aMoment();
    expect(seen).toEqual([`${first} /1`]);
    await answerNext();
    await until(() => seen.length === 2, 'the second request');
    await answerNext();
    await until(() => text.split('HTTP/1.1 200').length === 3, 'both answers');
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
  ])('at once where both are safe: %s, %s', async (first, second) => {
    client.write(say(first, '/1') + say(second, '/2'));
    await until(() => seen.length === 2, 'both requests');
    // The answers keep the order of the requests, whichever of them was first at the agent.
    answers[seen.indexOf(`${second} /2`)]?.();
    await aMoment();
    expect(text).toBe('');
  });
});

test('safe requests behind a waiting one wait with it, and go on together', async () => {
  client.write(say('GET', '/1') + say('GET', '/2') + say('POST', '/3', WITH_BODY));
  client.write(say('GET', '/4') + say('GET', '/5'));
  await until(() => rig.audit.ring.last === 5 && seen.length === 2, 'the arrivals');
  await answerNext();
  await aMoment();
  expect(seen).toHaveLength(2);
  await answerNext();
  await until(() => seen.length === 3, 'the third');
  await aMoment();
  expect([...seen.slice(0, 2).sort(), ...seen.slice(2)]).toEqual(['GET /1', 'GET /2', 'POST /3']);
  await answerNext();
  await until(() => seen.length === 5, 'the last two');
  answers.forEach((answer) => answer());
  await until(() => bodies().length === 5, 'every answer');
  expect(bodies()).toEqual(['/1', '/2', '/3', '/4', '/5']);
});

describe('a request that waits is never sent', () => {
  const UNSENT = { method: 'GET', path: '/2', aborted: true, unsent: true, outcome: 'notEvaluated' };

  test('when its client leaves', async () => {
    client.write(say('POST', '/1', WITH_BODY) + say('GET', '/2'));
    await until(() => seen.length === 1 && rig.audit.ring.last === 2, 'the arrivals');
    client.destroy();
    await until(() => rig.audit.outcomes.notEvaluated === 2, 'the completion of both entries');
    expect(rig.audit.ring.newest()[1]).toMatchObject(UNSENT);
    await answerNext();
    await aMoment();
    expect(seen).toEqual(['POST /1']);
  });

  test('when its connection ends with the answer to the first', async () => {
    client.write(say('POST', '/cut', WITH_BODY) + say('GET', '/2'));
    await until(() => rig.audit.ring.last === 2, 'the arrivals');
    await answerNext();
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
  'of thousands of requests %s bodies behind a waiting one, few are taken in before it is answered',
  async (_title, rest) => {
    const total = 3_000;
    const filler = `X-Filler: ${'x'.repeat(200)}\r\n`;
    client.write(say('POST', '/1', WITH_BODY) + say('GET', '/x', filler + rest).repeat(total));
    await until(() => rig.audit.ring.last > 64 && seen.length > 0, 'the first of them');
    await aMoment();
    expect(rig.audit.ring.last).toBeLessThan(2_000);
    expect(seen).toEqual(['POST /1']);
    const answering = setInterval(() => answers.splice(0).forEach((answer) => answer()), 1);
    await until(() => bodies().length > 200, 'the next answers').finally(() => clearInterval(answering));
  },
);
