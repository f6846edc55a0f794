// Set-up of every test file (jest.config.mjs): each JSON response of a control plane or sidecar in this process is compared
// with the document that the same application serves at /openapi.json. A response that the document does not allow fails the
// test in which it was sent. Node.js publishes each request, so no test and no part of the product needs to take part.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach } from '@jest/globals';
import type { ResponseCheck, SeenResponse } from './checked-responses.ts';
import type { ApiDocument } from './open-api.ts';

const CHANNEL = 'http.server.request.start';
const DOCUMENT_PATH = '/openapi.json';

type Handler = (request: object, response: object, next: () => void) => unknown;
/** The parts of an Express application with its routes. */
interface App {
  router?: { stack: { route?: { path: unknown; stack: { handle: Handler }[] } }[] };
}

/** Checks by application; null: the application serves no document. */
const checks = new WeakMap<App, Promise<ResponseCheck | null>>();
/** Checks by the paths of the application: many tests start the same one. */
const checksByPaths = new Map<string, Promise<ResponseCheck>>();
/** Responses since the end of the previous test. */
let seen: { app: App; response: SeenResponse }[] = [];

/** The responses of this test that the documents do not allow. Later calls return only later ones. */
export async function takeProblems(): Promise<string[]> {
  const taken = seen;
  seen = [];
  const problems = new Set<string>();
  for (const { app, response } of taken) {
    const check = checks.get(app) ?? checkOf(app);
    checks.set(app, check);
    const problem = (await check)?.problemOf(response);
    if (typeof problem === 'string') problems.add(problem);
  }
  return [...problems];
}

async function checkOf(app: App): Promise<ResponseCheck | null> {
  const routes = (app.router?.stack ?? []).flatMap(({ route }) => route ?? []);
  const handler = routes.find(({ path }) => path === DOCUMENT_PATH)?.stack.at(-1);
  if (handler === undefined) return null;
  const paths = JSON.stringify(routes.map(({ path }) => path));
  const check = checksByPaths.get(paths) ?? checkWith(handler);
  checksByPaths.set(paths, check);
  return check;
}

async function checkWith({ handle }: { handle: Handler }): Promise<ResponseCheck> {
  const document = await new Promise<ApiDocument>((resolve, reject) => {
    // Rejects if the handler fails, or passes on without a document.
    Promise.resolve(handle({}, { json: resolve }, reject)).catch(reject);
  });
  // Loaded only in test files with such applications: ajv has many modules.
  const { ResponseCheck: Check } = await import('./checked-responses.ts');
  return new Check(document);
}

interface Started {
  request: IncomingMessage & { app?: App };
  response: ServerResponse;
}

function onStart(message: unknown): void {
  const { request, response } = message as Started;
  const { method = '', url = '' } = request;
  const chunks: Buffer[] = [];
  const write = response.write.bind(response) as (...args: unknown[]) => boolean;
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  const keep = ([chunk, encoding]: unknown[]): void => {
    // Only the JSON of an Express application: the tests also proxy large bodies.
    if (request.app === undefined || !String(response.getHeader('content-type')).includes('json')) return;
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk, encodingOf(encoding)));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  response.write = (...args: unknown[]) => {
    keep(args);
    return write(...args);
  };
  response.end = (...args: unknown[]) => {
    keep(args);
    const { app } = request;
    if (app !== undefined) {
      const { statusCode: status } = response;
      const body = Buffer.concat(chunks);
      seen.push({ app, response: { method, url, status, headers: response.getHeaders(), body } });
    }
    return end(...args);
  };
}

const encodingOf = (given: unknown): BufferEncoding =>
  typeof given === 'string' ? (given as BufferEncoding) : 'utf8';

async function failOnProblems(): Promise<void> {
  const problems = await takeProblems();
  if (problems.length > 0)
    throw new Error(`${problems.length} responses differ from ${DOCUMENT_PATH}:\n${problems.join('\n')}`);
}

subscribe(CHANNEL, onStart);
afterEach(failOnProblems);
afterAll(async () => {
  unsubscribe(CHANNEL, onStart);
  await failOnProblems();
});
