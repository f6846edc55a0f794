import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Secret } from '../../runtime/secret.ts';
import { TestServers } from '../../testing/http/sockets.ts';
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
let respond: (request: IncomingMessage, response: ServerResponse) => void;
let port: number;
let requests: string[];

beforeEach(async () => {
  servers = new TestServers();
  requests = [];
  port = await servers.http((request, response) => {
    requests.push(`${String(request.headers['x-admin-key'])} ${String(request.url)}`);
    respond(request, response);
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

test('fetches all pages, also behind a prefix, with the key in each request', async () => {
  const next = (to: string) => ({
    link: `</api/v1/agents?limit=500&mirrored=false&continue=${to}>; rel="next"`,
  });
  respond = (request, response) => {
    if (request.url?.includes('continue=b')) page(response, [row('c')], { 'x-total-count': '3' });
    else if (request.url?.includes('continue=a')) page(response, [row('a'), row('b')], next('b'));
    else page(response, [row('a')], next('a'));
  };
  expect(names(await read('/fleet/'))).toEqual(['a', 'b', 'c']);
  expect(requests).toEqual(
    ['', '&continue=a', '&continue=b'].map(
      (more) => `admin /fleet/api/v1/agents?limit=500&mirrored=false${more}`,
    ),
  );
});

describe('fails with a reason when the response', () => {
  test.each<[string, typeof respond, string | RegExp]>([
    ['is 401', (_, response) => response.writeHead(401).end(), 'the admin key was rejected (401)'],
    ['is 403', (_, response) => response.writeHead(403).end(), 'the admin key was rejected (403)'],
    ['is 503', (_, response) => response.writeHead(503).end(), 'unexpected status 503'],
    [
      'is a redirect',
      (_, response) => response.writeHead(302, { location: '/' }).end(),
      'unexpected status 302',
    ],
    ['is HTML', (_, response) => response.end('<html>'), /^the response is not a valid agent list/],
    ['is an object', (_, response) => page(response, {}), /must be a list/],
    ['has an unknown phase', (_, response) => page(response, [row('a', { phase: 'Fine' })]), /phase/],
    ['has an invalid name', (_, response) => page(response, [row('A/b')]), /agentName must be a DNS label/],
    [
      'has an id with a line feed',
      (_, response) => page(response, [row('a', { agentId: 'x\ny' })]),
      /agentId/,
    ],
    [
      'links to another server',
      (_, response) => page(response, [row('a')], { link: '<http://127.0.0.1:1/?continue=x>; rel="next"' }),
      'the link to the next page points to another server',
    ],
    [
      'has a loop of pages',
      (_, response) => page(response, [row('a')], { link: '</api/v1/agents?continue=x>; rel="next"' }),
      'the list has more than 200 pages',
    ],
    [
      'lacks the link to its next page',
      (_, response) => page(response, [row('a')], { 'x-total-count': '501' }),
      'the list ends after 1 of 501 agents',
    ],
    [
      'is incomplete',
      (_, response) => {
        // Destroyed after the first data: a connection that is cut earlier has no response at all.
        response.writeHead(200, { 'content-length': '100' }).write('[', () => response.destroy());
      },
      'the list is too large, incomplete or late',
    ],
    [
      'has no end',
      (_, response) => void response.end(Buffer.alloc(5 * 1024 * 1024, ' ')),
      'the list is too large, incomplete or late',
    ],
    ['is a closed socket', (request) => request.socket.destroy(), 'connection closed without a response'],
  ])('%s', async (_name, given, reason) => {
    respond = given;
    const list = await read();
    expect(list).toEqual({
      ok: false,
      reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
    });
    expect(JSON.stringify(list)).not.toContain('admin"');
  });

  test('sends no request when the CA file cannot be read', async () => {
    respond = (_, response) => page(response, []);
    expect(await read('', '/nowhere/ca.crt')).toEqual({
      ok: false,
      reason: 'the CA file /nowhere/ca.crt cannot be read',
    });
    expect(requests).toEqual([]);
  });
});
