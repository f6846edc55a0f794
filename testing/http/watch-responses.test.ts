import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openApiDocument } from '../../core/openapi/document.ts';
import { COMMON_SCHEMAS } from '../../core/openapi/schemas/common.ts';
import type { Operation } from '../../core/openapi/operation.ts';
import { createApp, type Route } from '../../runtime/http-app.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { Problem } from '../../runtime/problem.ts';
import { takeProblems } from './watch-responses.ts';

/** A row that documents `{"status": "live"}` with 200 and a Problem with 404. */
const row = (path: string, handler: Route['handlers'][number], more: Partial<Operation> = {}): Route => ({
  method: 'GET',
  path,
  access: 'open',
  summary: '',
  operation: {
    id: path.slice(1),
    responses: { 200: { description: '', schema: 'Liveness' }, 404: '' },
    ...more,
  },
  handlers: [handler],
});

let listener: Listener;
beforeAll(async () => {
  const routes = [
    row('/live', (_request, response) => void response.json({ status: 'live' })),
    row('/more', (_request, response) => void response.json({ status: 'live', since: 1 })),
    row('/less', (_request, response) => void response.json({})),
    row('/created', (_request, response) => void response.status(201).json({ status: 'live' })),
    row('/text', (_request, response) => void response.type('application/ld+json').send('{}')),
    row('/empty', (_request, response) => void response.json({ status: 'live' }), {
      responses: { 200: { description: '' } },
    }),
    row('/missing', () => {
      throw new Problem(404, 'not here');
    }),
    row('/problem', () => {
      throw new Problem(404, 'not here', { extra: { hint: 'x' } });
    }),
  ];
  const document = openApiDocument({
    title: 'a planted API',
    description: '',
    version: '1',
    servers: [{ url: '/', description: '' }],
    routes,
    access: () => ({ security: [], responses: {} }),
    pathParameters: {},
    schemas: COMMON_SCHEMAS,
  });
  const self = row('/openapi.json', (_request, response) => void response.json(document));
  const app = createApp({ logger: silentLogger, routes: [...routes, self] });
  listener = await listen({ handler: app, port: 0, host: '127.0.0.1' });
});
afterAll(() => listener.close());

const problemsOf = async (path: string, method = 'GET'): Promise<string[]> => {
  await (await fetch(`http://127.0.0.1:${listener.port}${path}`, { method })).text();
  return takeProblems();
};

test.each([
  ['/live', 'GET'],
  ['/live/', 'GET'],
  ['/live?x=1', 'GET'],
  ['/live', 'HEAD'],
  ['/live', 'PUT'],
  ['/missing', 'GET'],
  ['/unknown', 'GET'],
])('the response to %s by %s is as documented', async (path, method) => {
  expect(await problemsOf(path, method)).toEqual([]);
});

test.each([
  ['/more', /^GET \/more responded 200: the body does not match its schema: .*"additionalProperty":"since"/],
  ['/less', /^GET \/less responded 200: the body does not match its schema: .*"missingProperty":"status"/],
  ['/created', /^GET \/created responded 201: the status is not documented$/],
  ['/text', /^GET \/text responded 200: the content type application\/ld\+json is not documented$/],
  ['/empty', /^GET \/empty responded 200: a body is not documented$/],
  ['/problem', /^GET \/problem responded 404: the body does not match its schema: .*"hint"/],
])('finds the planted difference of %s', async (path, expected) => {
  expect(await problemsOf(path)).toEqual([expect.stringMatching(expected)]);
});
