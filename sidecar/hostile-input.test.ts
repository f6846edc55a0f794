import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { HTTP_BODIES } from '../scripts/http-bodies.ts';
import { DOCUMENTS } from '../scripts/openapi-documents.ts';
import { HOSTILE_SEGMENTS, hostileBodies, hostileQueries } from '../testing/http/hostile-requests.ts';
import { ApiSchemas, operationsOf, type ApiDocument } from '../testing/http/open-api.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';

/** Bad input to every part of every operation of the document: the right status, and nothing is stored. */
const DOCUMENT = DOCUMENTS.sidecar() as unknown as ApiDocument;
const SCHEMAS = new ApiSchemas(DOCUMENT.components);
/** The largest body that a route accepts. */
const BODY_LIMIT = 64 * 1024;

const example = (title: string): object | undefined =>
  HTTP_BODIES.find((each) => each.title === title)?.example;
/** A valid body by operation. */
const BODIES: Record<string, object | undefined> = {
  recordEvents: example('Events'),
  submitProof: example('Proof'),
};

let rig: SidecarRig;
let before: string;
beforeAll(async () => {
  rig = await startSidecarRig({ manifest: manifestText(), agent: { '/x': {} } });
  await (await fetch(`${rig.proxyUrl}/x`, { headers: { 'x-request-id': 'r-1' } })).text();
  await rig.settled();
  before = await stored();
});
afterEach(async () => {
  expect(await stored()).toBe(before);
});
afterAll(() => rig.close());

const stored = async (): Promise<string> =>
  JSON.stringify([await rig.report('/audit'), await rig.report('/proof'), await rig.report('/usage')]);

const pathOf = (path: string, segment = 'SEC-LLM-01'): string => path.replaceAll(/\{\w+\}/g, segment);

async function expectRejected(response: Response, title: string, statuses: readonly number[]): Promise<void> {
  const { status, headers } = response;
  expect([title, statuses]).toEqual([title, expect.arrayContaining([status])]);
  expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(await response.json()).toMatchObject({ type: 'about:blank', status, detail: expect.any(String) });
}

describe.each(operationsOf(DOCUMENT))('$method $path', ({ method, path, operation }) => {
  const valid = BODIES[operation.operationId];
  const schema = operation.requestBody?.content['application/json']?.schema;
  interface Sent {
    body?: string | Uint8Array;
    headers?: Record<string, string>;
  }
  const send = (to: string, { body = JSON.stringify(valid), headers }: Sent = {}): Promise<Response> =>
    rig.control(to, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(schema && { body }),
    });

  test('rejects bad values of the path', async () => {
    if (!path.includes('{')) return;
    for (const segment of HOSTILE_SEGMENTS)
      await expectRejected(await send(pathOf(path, segment)), segment, [400, 404]);
  });

  test('rejects bad values of the query', async () => {
    for (const { title, query, statuses } of hostileQueries(operation, SCHEMAS))
      await expectRejected(await send(`${pathOf(path)}?${query}`), title, statuses);
  });

  test('rejects bad bodies', async () => {
    if (schema === undefined) return;
    if (valid === undefined) throw new Error(`add a valid body of ${operation.operationId} to BODIES`);
    const options = { schemas: SCHEMAS, limit: BODY_LIMIT };
    for (const { title, body, headers, statuses } of hostileBodies(valid, schema, options))
      await expectRejected(await send(pathOf(path), { body, ...(headers && { headers }) }), title, statuses);
  });
});

test.each(['-1', 'x', '1.5', '__proto__', '1'.repeat(40) + 'x'])(
  'the stream rejects Last-Event-ID %s',
  async (id) => {
    const response = await rig.control('/audit/stream', { headers: { 'last-event-id': id } });
    await expectRejected(response, id, [400]);
  },
);
