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
        access: 'open',
        summary: '',
        handlers: [(_request, response) => void response.json({ ok: true })],
      },
      {
        method: 'POST',
        path: '/thing',
        access: 'open',
        summary: '',
        handlers: [jsonBody(100), (request, response) => void response.json(request.body)],
      },
      {
        method: 'DELETE',
        path: '/thing/:id',
        access: 'open',
        summary: '',
        handlers: [(_request, response) => void response.status(204).end()],
      },
      {
        method: 'GET',
        path: '/known',
        access: 'open',
        summary: '',
        handlers: [
          () => {
            throw new Problem(409, 'the name is in use', {
              extra: { names: ['a'] },
              headers: { 'retry-after': '2' },
            });
          },
        ],
      },
      {
        method: 'GET',
        path: '/off',
        access: 'open',
        summary: '',
        handlers: [
          () => {
            throw new Problem(503, 'the route is disabled');
          },
        ],
      },
      {
        method: 'GET',
        path: '/broken',
        access: 'open',
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
        access: 'open',
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
        access: 'open',
        summary: '',
        handlers: [() => Promise.reject(new Error('the password is hunter2'))],
      },
    ],
  });
  listener = await listen({ handler: app, port: 0, host: '127.0.0.1' });
  base = `http://127.0.0.1:${listener.port}`;
});
afterAll(() => listener.close());

async function send(path: string, init: RequestInit = {}) {
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
  test.each(['/thing', '/platform/thing'])('serves %s', async (path) => {
    expect((await send(path)).body).toEqual({ ok: true });
  });

  test('responds to an unknown path with a 404 problem', async () => {
    const response = await send('/nothing');
    expect(response).toMatchObject({
      status: 404,
      type: 'application/problem+json; charset=utf-8',
      body: { type: 'about:blank', title: 'Not Found', status: 404, detail: 'no route /nothing' },
    });
  });

  test.each([
    ['/thing', 'PUT', 'GET, HEAD, POST'],
    ['/platform/thing', 'DELETE', 'GET, HEAD, POST'],
    ['/thing/1', 'GET', 'DELETE'],
  ])('responds to an unsupported method on %s with 405 and Allow', async (path, method, allow) => {
    expect(await send(path, { method })).toMatchObject({
      status: 405,
      allow,
      body: { status: 405, detail: `${method} is not allowed on ${path}` },
    });
  });

  test.each([
    ['not valid JSON', '{', 400, 'the body is not valid JSON'],
    [
      'too large',
      JSON.stringify('x'.repeat(200)),
      413,
      'the body exceeds the limit of 100 bytes for this route',
    ],
  ])('rejects a body that is %s', async (_what, body, status, detail) => {
    expect(
      await send('/thing', { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    ).toMatchObject({ status, body: { status, detail } });
  });

  const required = 'this route requires a JSON body with Content-Type: application/json';
  const broken = 'the body is truncated, or does not match its Content-Encoding';

  test.each<[string, RequestInit, number, string]>([
    ['missing', {}, 400, required],
    ['plain text', { body: '{}' }, 415, required],
    ['a form', { body: new URLSearchParams({ a: '1' }) }, 415, required],
    [
      'not gzip despite its Content-Encoding',
      { body: '{}', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } },
      400,
      broken,
    ],
  ])('rejects a body that is %s and names what the route requires', async (_what, init, status, detail) => {
    expect(await send('/thing', { method: 'POST', ...init })).toMatchObject({
      status,
      body: { status, detail },
    });
  });

  test('sends a Problem with its extra members and headers', async () => {
    const response = await send('/known');
    expect(response.body).toEqual({
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      detail: 'the name is in use',
      names: ['a'],
    });
    expect(response.headers.get('retry-after')).toBe('2');
  });

  test.each(['/bug', '/rejects'])('exposes no internals of an unexpected error (%s)', async (path) => {
    const response = await send(path);
    expect(response).toMatchObject({ status: 500, body: { status: 500 } });
    expect(JSON.stringify(response.body)).not.toContain('hunter2');
  });

  test.each([
    ['/off', 503, 'debug', 'the route is disabled'],
    ['/broken', 503, 'error', 'try again (disk full)'],
    ['/bug', 500, 'error', 'the password is hunter2'],
  ])('%s returns %i and is logged as %s', async (path, status, level, error) => {
    logged.length = 0;
    await send(path);
    expect(logged).toEqual([[level, 'server error returned', { method: 'GET', path, status, error }]]);
  });

  test('rejects a path that is not a valid URI', async () => {
    expect(await send('/thing/%E0%A4%A', { method: 'DELETE' })).toMatchObject({ status: 400 });
  });
});
