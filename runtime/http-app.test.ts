import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createApp, jsonBody } from './http-app.ts';
import { listen, type Listener } from './http-listener.ts';
import { silentLogger, type LogFields } from './logger.ts';
import { Problem } from './problem.ts';

let listener: Listener;
let base: string;
const logged: [string, string, LogFields | undefined][] = [];

beforeAll(async () => {
  const app = createApp({
    logger: {
      ...silentLogger,
      error: (message, about) => void logged.push(['error', message, about]),
      debug: (message, about) => void logged.push(['debug', message, about]),
    },
    prefixes: ['', '/platform'],
    routes: [
      {
        method: 'GET',
        path: '/thing',
        summary: '',
        handlers: [(_request, response) => void response.json({ ok: true })],
      },
      {
        method: 'POST',
        path: '/thing',
        summary: '',
        handlers: [jsonBody(100), (request, response) => void response.json(request.body)],
      },
      {
        method: 'DELETE',
        path: '/thing/:id',
        summary: '',
        handlers: [(_request, response) => void response.status(204).end()],
      },
      {
        method: 'GET',
        path: '/known',
        summary: '',
        handlers: [
          () => {
            throw new Problem(409, 'it is taken', {
              extra: { names: ['a'] },
              headers: { 'retry-after': '2' },
            });
          },
        ],
      },
      {
        method: 'GET',
        path: '/off',
        summary: '',
        handlers: [
          () => {
            throw new Problem(503, 'it is off');
          },
        ],
      },
      {
        method: 'GET',
        path: '/broken',
        summary: '',
        handlers: [
          () => {
            throw new Problem(503, 'try again', { cause: new Error('disk full') });
          },
        ],
      },
      {
        method: 'GET',
        path: '/bug',
        summary: '',
        handlers: [
          () => {
            throw new Error('the password is hunter2');
          },
        ],
      },
      {
        method: 'GET',
        path: '/rejects',
        summary: '',
        handlers: [() => Promise.reject(new Error('the password is hunter2'))],
      },
    ],
  });
  listener = await listen({ handler: app, port: 0, host: '127.0.0.1' });
  base = `http://127.0.0.1:${listener.port}`;
});
afterAll(() => listener.close());

async function ask(path: string, init: RequestInit = {}) {
  const response = await fetch(base + path, init);
  const body = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    allow: response.headers.get('allow'),
    headers: response.headers,
    body: body === '' ? null : (JSON.parse(body) as unknown),
  };
}

describe('an application from a route table', () => {
  test.each(['/thing', '/platform/thing'])('answers %s', async (path) => {
    expect((await ask(path)).body).toEqual({ ok: true });
  });

  test('answers an unknown path with 404 as a problem', async () => {
    const answer = await ask('/nothing');
    expect(answer).toMatchObject({
      status: 404,
      type: 'application/problem+json; charset=utf-8',
      body: { type: 'about:blank', title: 'Not Found', status: 404, detail: 'no route /nothing' },
    });
  });

  test.each([
    ['/thing', 'PUT', 'GET, HEAD, POST'],
    ['/platform/thing', 'DELETE', 'GET, HEAD, POST'],
    ['/thing/1', 'GET', 'DELETE'],
  ])('answers a method that %s does not have with 405 and Allow', async (path, method, allow) => {
    expect(await ask(path, { method })).toMatchObject({
      status: 405,
      allow,
      body: { status: 405, detail: `${method} is not allowed on ${path}` },
    });
  });

  test.each([
    ['no JSON', '{', 400, 'the body is not valid JSON'],
    [
      'too much',
      JSON.stringify('x'.repeat(200)),
      413,
      'the body is larger than the 100 bytes that this route accepts',
    ],
  ])('answers a body that is %s', async (_what, body, status, detail) => {
    expect(
      await ask('/thing', { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    ).toMatchObject({ status, body: { status, detail } });
  });

  const wanted = 'this route needs a JSON body with Content-Type: application/json';
  const broken = 'the body is cut, or is not compressed as Content-Encoding says';

  test.each<[string, RequestInit, number, string]>([
    ['none', {}, 400, wanted],
    ['plain text', { body: '{}' }, 415, wanted],
    ['a form', { body: new URLSearchParams({ a: '1' }) }, 415, wanted],
    [
      'no gzip but says so',
      { body: '{}', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } },
      400,
      broken,
    ],
  ])('says what a route wants when its body is %s', async (_what, init, status, detail) => {
    expect(await ask('/thing', { method: 'POST', ...init })).toMatchObject({
      status,
      body: { status, detail },
    });
  });

  test('shows a Problem with its extra members and headers', async () => {
    const answer = await ask('/known');
    expect(answer.body).toEqual({
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      detail: 'it is taken',
      names: ['a'],
    });
    expect(answer.headers.get('retry-after')).toBe('2');
  });

  test.each(['/bug', '/rejects'])('shows no internals of a bug (%s)', async (path) => {
    const answer = await ask(path);
    expect(answer).toMatchObject({ status: 500, body: { status: 500 } });
    expect(JSON.stringify(answer.body)).not.toContain('hunter2');
  });

  test.each([
    ['/off', 503, 'debug', 'it is off'],
    ['/broken', 503, 'error', 'try again (disk full)'],
    ['/bug', 500, 'error', 'the password is hunter2'],
  ])('%s is answered %i and logged as %s', async (path, status, level, error) => {
    logged.length = 0;
    await ask(path);
    expect(logged).toEqual([[level, 'request fails', { method: 'GET', path, status, error }]]);
  });

  test('refuses a path that is no URI', async () => {
    expect(await ask('/thing/%E0%A4%A', { method: 'DELETE' })).toMatchObject({ status: 400 });
  });
});
