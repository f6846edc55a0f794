import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Secret } from '../../runtime/secret.ts';
import { TestServers } from '../../testing/sockets.ts';
import { fetchAgents, type AgentList } from './fetch-agents.ts';

const row = (agentName: string, overrides: object = {}): object => ({
  agentId: `agt_${agentName}`,
  agentName,
  namespace: 'platform-remote',
  runtime: 'docker',
  phase: 'Healthy',
  grade: 'A',
  score: 100,
  tokens: 7,
  lastSeen: '2026-03-01T10:00:00.000Z',
  ...overrides,
});

let servers: TestServers;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let port: number;
let asked: string[];

beforeEach(async () => {
  servers = new TestServers();
  asked = [];
  port = await servers.http((request, response) => {
    asked.push(`${String(request.headers['x-admin-key'])} ${String(request.url)}`);
    answer(request, response);
  });
});
afterEach(() => servers.close());

const read = (path = '', caFile: string | null = null): Promise<AgentList> =>
  fetchAgents(
    { url: new URL(`http://127.0.0.1:${port}${path}`), adminKey: new Secret('admin'), caFile },
    new AbortController().signal,
  );
const names = (list: AgentList): string[] | string =>
  list.ok ? list.agents.map(({ agentName }) => agentName) : list.reason;
const page = (response: ServerResponse, rows: unknown, headers: Record<string, string> = {}): void =>
  void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(rows));

test('follows the pages to the end, also behind a prefix, with the key on each', async () => {
  const next = (to: string) => ({
    link: `</api/v1/agents?limit=500&mirrored=false&continue=${to}>; rel="next"`,
  });
  answer = (request, response) => {
    if (request.url?.includes('continue=b')) page(response, [row('c')], { 'x-total-count': '3' });
    else if (request.url?.includes('continue=a')) page(response, [row('a'), row('b')], next('b'));
    else page(response, [row('a')], next('a'));
  };
  expect(names(await read('/fleet/'))).toEqual(['a', 'b', 'c']);
  expect(asked).toEqual(
    ['', '&continue=a', '&continue=b'].map(
      (more) => `admin /fleet/api/v1/agents?limit=500&mirrored=false${more}`,
    ),
  );
});

describe('is no list, and says why, when the answer', () => {
  test.each<[string, typeof answer, string | RegExp]>([
    ['is 401', (_, response) => response.writeHead(401).end(), 'the admin key is refused (401)'],
    ['is 403', (_, response) => response.writeHead(403).end(), 'the admin key is refused (403)'],
    ['is 503', (_, response) => response.writeHead(503).end(), 'the answer is 503'],
    ['is a redirect', (_, response) => response.writeHead(302, { location: '/' }).end(), 'the answer is 302'],
    ['is HTML', (_, response) => response.end('<html>'), /^the answer is no list of agents/],
    ['is an object', (_, response) => page(response, {}), /must be a list/],
    [
      'has a phase that nobody knows',
      (_, response) => page(response, [row('a', { phase: 'Fine' })]),
      /phase/,
    ],
    [
      'has a name that is none',
      (_, response) => page(response, [row('A/b')]),
      /agentName must be a DNS label/,
    ],
    [
      'has an id with a line feed',
      (_, response) => page(response, [row('a', { agentId: 'x\ny' })]),
      /agentId/,
    ],
    [
      'goes on elsewhere',
      (_, response) => page(response, [row('a')], { link: '<http://127.0.0.1:1/?continue=x>; rel="next"' }),
      'the next page is said to be on another server',
    ],
    [
      'goes round in circles',
      (_, response) => page(response, [row('a')], { link: '</api/v1/agents?continue=x>; rel="next"' }),
      'the list has more than 200 pages',
    ],
    [
      'lacks the link to its next page',
      (_, response) => page(response, [row('a')], { 'x-total-count': '501' }),
      'the list ends after 1 of 501 agents',
    ],
    [
      'is cut off',
      (_, response) => {
        // Once it is under way: cut before, it would be no answer at all.
        response.writeHead(200, { 'content-length': '100' }).write('[', () => response.destroy());
      },
      'the list is too large, cut off or late',
    ],
    [
      'has no end',
      (_, response) => void response.end(Buffer.alloc(5 * 1024 * 1024, ' ')),
      'the list is too large, cut off or late',
    ],
    ['is a closed socket', (request) => request.socket.destroy(), 'connection closed without an answer'],
  ])('%s', async (_name, given, reason) => {
    answer = given;
    const list = await read();
    expect(list).toEqual({
      ok: false,
      reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
    });
    expect(JSON.stringify(list)).not.toContain('admin"');
  });

  test('is not asked for, since the CA file cannot be read', async () => {
    answer = (_, response) => page(response, []);
    expect(await read('', '/nowhere/ca.crt')).toEqual({
      ok: false,
      reason: 'the CA file /nowhere/ca.crt cannot be read',
    });
    expect(asked).toEqual([]);
  });
});
