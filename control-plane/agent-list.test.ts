import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AGENT_FIELDS } from '../core/shapes/agent-row.ts';
import {
  ADMIN_KEY,
  startControlPlaneRig,
  type ControlPlaneRig,
  type RigResponse,
} from '../testing/fleet/control-plane-rig.ts';
import type { AgentKey } from './stores/store.ts';

type Row = Record<string, unknown> & { agentName: string };

let rig: ControlPlaneRig;
beforeEach(async () => {
  rig = await startControlPlaneRig();
});
afterEach(() => rig.close());

const list = (query = '', headers: Record<string, string> = {}): Promise<RigResponse> =>
  rig.send('GET', `/api/v1/agents${query}`, { headers: { 'x-admin-key': ADMIN_KEY, ...headers } });
const rowsOf = ({ body }: RigResponse): Row[] => body as Row[];
const namesOf = (response: RigResponse): string[] => rowsOf(response).map(({ agentName }) => agentName);

describe('a row', () => {
  test('has every field, in the documented order', async () => {
    await rig.register('shop');
    const [row] = rowsOf(await list());
    expect(Object.keys(row!)).toEqual(AGENT_FIELDS);
  });

  test('has tokens and cost of the current day, policy results and the number of instances', async () => {
    const { apiKey } = await rig.register('shop');
    const outcomes = { allow: 6, deny: 1, failOpen: 1, notEvaluated: 100 };
    const totals = { tokensToday: 100, costTodayUsd: 0.5 };
    await rig.heartbeat(apiKey, { totals, outcomes, policyMode: 'enforce' });
    await rig.heartbeat(apiKey, { instance: 'i-2', totals, outcomes });
    const [row] = rowsOf(await list());
    expect(row).toMatchObject({ source: 'remote', tokens: 200, costUsd: 1, failOpen: 0.125, instances: 2 });
    rig.clock.advance(14 * 3_600_000);
    const [nextDay] = rowsOf(await list());
    expect(nextDay).toMatchObject({ tokens: 0, costUsd: 0 });
  });

  test('has no cost without prices in the manifest, and no share without evaluated requests', async () => {
    const { apiKey } = await rig.register('shop');
    const outcomes = { allow: 0, deny: 0, failOpen: 0, notEvaluated: 9 };
    await rig.heartbeat(apiKey, { totals: { tokensToday: 100 }, outcomes });
    expect(rowsOf(await list())).toMatchObject([{ tokens: 100, costUsd: null, failOpen: null }]);
  });
});

describe('?fields=', () => {
  test('selects members, in the order of the row, also on the next page', async () => {
    await rig.register('a');
    await rig.register('b');
    const first = await list('?limit=1&fields=score,agentName');
    expect(first.body).toEqual([{ agentName: 'a', score: null }]);
    const [, next = ''] = /^<\/api\/v1\/agents([^>]+)>/.exec(first.headers.get('link') ?? '') ?? [];
    expect((await list(next)).body).toEqual([{ agentName: 'b', score: null }]);
  });

  test.each(['', 'agentName,', 'agentname', '__proto__', 'trend,'])('rejects %j', async (fields) => {
    expect((await list(`?fields=${fields}`)).body).toMatchObject({
      status: 400,
      errors: [
        {
          path: 'fields',
          message: `is not a list, separated by commas, of ${AGENT_FIELDS.join(', ')}, trend`,
        },
      ],
    });
  });
});

describe('?trend=true', () => {
  /** Replaces the history of the store. */
  function withHistory(history: unknown): void {
    Object.defineProperty(rig.store, 'history', { value: history, configurable: true });
  }

  test('adds the scores of the last 24 hours; an agent without a score has none', async () => {
    const asked: AgentKey[] = [];
    withHistory({
      trends: (keys: AgentKey[]) => {
        asked.push(...keys);
        return Promise.resolve(new Map([['platform-remote/a', [80, 100]]]));
      },
    });
    await rig.register('a');
    await rig.register('b');
    expect((await list('?trend=true&fields=agentName')).body).toEqual([
      { agentName: 'a', trend: [80, 100] },
      { agentName: 'b', trend: [] },
    ]);
    expect(asked).toEqual([
      { namespace: 'platform-remote', name: 'a' },
      { namespace: 'platform-remote', name: 'b' },
    ]);
  });

  test.each(['fields=agentName,trend', 'trend=true&fields=trend,agentName'])(
    'is not needed if the fields have the trend: %s',
    async (query) => {
      withHistory({ trends: () => Promise.resolve(new Map([['platform-remote/a', [80, 100]]])) });
      await rig.register('a');
      expect((await list(`?${query}`)).body).toEqual([{ agentName: 'a', trend: [80, 100] }]);
    },
  );

  test('is empty if the store keeps no history', async () => {
    withHistory(null);
    await rig.register('a');
    expect((await list('?trend=true')).body).toMatchObject([{ agentName: 'a', trend: [] }]);
    expect(rowsOf(await list('?trend=false'))[0]).not.toHaveProperty('trend');
  });
});

describe('pages', () => {
  /** All pages; `between` runs after each page. */
  async function pages(query: string, between: (page: number) => Promise<unknown>): Promise<string[][]> {
    const found: string[][] = [];
    let next: string | undefined = query;
    while (next !== undefined) {
      const response: RigResponse = await list(next);
      found.push(namesOf(response));
      next = /^<\/api\/v1\/agents([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
      await between(found.length);
    }
    return found;
  }

  beforeEach(async () => {
    for (const name of ['b', 'd', 'f', 'h', 'j']) await rig.register(name);
  });

  test('have each agent once that exists all the time, while others are registered and deleted', async () => {
    const found = await pages('?limit=2', async (page) => {
      if (page === 1) {
        // Before the position, at the position, and after it.
        await rig.register('a');
        await rig.admin('DELETE', '/agents/d');
        await rig.register('e');
      }
      if (page === 2) await rig.admin('DELETE', '/agents/h');
    });
    expect(found).toEqual([['b', 'd'], ['e', 'f'], ['j']]);
  });

  test('end if all agents after the position are deleted', async () => {
    const found = await pages('?limit=3', async () => {
      await rig.admin('DELETE', '/agents/h');
      await rig.admin('DELETE', '/agents/j');
    });
    expect(found).toEqual([['b', 'd', 'f'], []]);
  });

  test.each(['?limit=2&continue=b', '?limit=2&continue=YS9i!', '?continue=YS9iL2M'])(
    'reject the invalid position in %s',
    async (query) => {
      expect((await list(query)).body).toMatchObject({
        status: 400,
        errors: [{ path: 'continue', message: 'is not a valid continue token' }],
      });
    },
  );
});

describe('a conditional request', () => {
  test('gets 304 without a body until the response changes', async () => {
    await rig.register('a');
    const first = await list();
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"[\w-]{27}"$/);
    expect(first.headers.get('cache-control')).toBe('no-store');
    for (const header of [etag, `"x", ${etag}`, etag.replace('W/', ''), '*']) {
      const again = await list('', { 'if-none-match': header });
      expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, '', etag]);
      expect(again.headers.get('content-type')).toBeNull();
    }
    await rig.register('b');
    expect(await list('', { 'if-none-match': etag })).toMatchObject({ status: 200 });
  });

  test('gets the same ETag by HEAD', async () => {
    const etag = (await list()).headers.get('etag') ?? '';
    const head = (headers: Record<string, string>) =>
      rig.send('HEAD', '/api/v1/agents', { headers: { 'x-admin-key': ADMIN_KEY, ...headers } });
    expect((await head({})).headers.get('etag')).toBe(etag);
    expect((await head({ 'if-none-match': etag })).status).toBe(304);
  });

  test.each(['/agents/shop/gap', '/agents/shop/health', '/agents/shop/egress', '/agents/shop/proof'])(
    'is supported by %s',
    async (path) => {
      const { apiKey } = await rig.register('shop');
      await rig.heartbeat(apiKey);
      const etag = (await rig.admin('GET', path)).headers.get('etag') ?? '';
      const headers = { 'x-admin-key': ADMIN_KEY, 'if-none-match': etag };
      expect((await rig.send('GET', `/api/v1${path}`, { headers })).status).toBe(304);
    },
  );

  test('is rejected without the admin key, and an error has no ETag', async () => {
    const etag = (await list()).headers.get('etag') ?? '';
    const response = await rig.send('GET', '/api/v1/agents', { headers: { 'if-none-match': etag } });
    expect([response.status, response.headers.get('etag')]).toEqual([401, null]);
    expect((await rig.admin('GET', '/agents/unknown/gap')).headers.get('etag')).toBeNull();
  });
});

describe('compression', () => {
  interface Raw {
    encoding: unknown;
    vary: unknown;
    bytes: number;
  }

  /** The head and the size of a response; fetch() would remove the encoding. */
  function raw(query: string, encodings: string): Promise<Raw> {
    return new Promise((resolve, reject) => {
      const headers = { 'x-admin-key': ADMIN_KEY, 'accept-encoding': encodings };
      const { port } = rig.listener;
      const sent = request(
        { host: '127.0.0.1', port, path: `/api/v1/agents${query}`, headers },
        (response) => {
          let bytes = 0;
          const { 'content-encoding': encoding, vary } = response.headers;
          response
            .on('data', (chunk: Buffer) => (bytes += chunk.length))
            .on('end', () => resolve({ encoding, vary, bytes }));
        },
      );
      sent.on('error', reject).end();
    });
  }

  test('applies to lists from 2 KiB, by the accepted encodings', async () => {
    for (let index = 0; index < 20; index += 1) await rig.register(`agent-${index}`);
    const plain = await raw('', 'identity');
    expect([plain.encoding, plain.bytes > 2_048]).toEqual([undefined, true]);
    for (const encoding of ['gzip', 'br']) {
      const response = await raw('', encoding);
      expect(response).toMatchObject({ encoding, vary: expect.stringMatching(/accept-encoding/i) });
      expect(response.bytes).toBeLessThan(plain.bytes / 3);
    }
    expect((await raw('?limit=1', 'gzip')).encoding).toBeUndefined();
  });

  test('does not change the ETag or the content', async () => {
    for (let index = 0; index < 20; index += 1) await rig.register(`agent-${index}`);
    const [plain, gzip] = [await list('', { 'accept-encoding': 'identity' }), await list()];
    expect(gzip.body).toEqual(plain.body);
    expect(gzip.headers.get('etag')).toBe(plain.headers.get('etag'));
  });
});

test('the API describes itself without a credential', async () => {
  const response = await rig.send('GET', '/openapi.json');
  expect(response).toMatchObject({
    status: 200,
    body: { openapi: '3.1.0', paths: { '/api/v1/agents': { get: { operationId: 'listAgents' } } } },
  });
  const etag = response.headers.get('etag') ?? '';
  expect((await rig.send('GET', '/openapi.json', { headers: { 'if-none-match': etag } })).status).toBe(304);
});
