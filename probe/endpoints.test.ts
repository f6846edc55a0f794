import type { RequestListener } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Facts } from '../core/facts/facts.ts';
import type { Api } from '../core/manifest/manifest.ts';
import { aManifest, NOON } from '../testing/fleet/facts.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { gather, type AgentEnvironment } from './gather.ts';

const CARD_PATH = '/.well-known/agent-card.json';
const latencyMs = expect.any(Number);
const IN_CLUSTER: AgentEnvironment = { kind: 'declared', names: new Set(['READY']), partial: false };

const servers = new TestServers();
let requested: string[];
let folder: string;
beforeEach(async () => {
  requested = [];
  folder = await mkdtemp(join(tmpdir(), 'endpoints-'));
});
afterEach(async () => {
  await servers.close();
  await rm(folder, { recursive: true });
});

interface Served {
  body: string;
  /** Default: application/json. */
  type?: string | null;
  status?: number;
}

/** The gathered facts of an agent that serves these paths and returns 404 for all others. */
async function factsOf(
  served: Record<string, Served>,
  api: Api = {},
  environment?: AgentEnvironment,
): Promise<Facts> {
  const agent: RequestListener = (request, response) => {
    requested.push(request.url ?? '');
    const { body, type = 'application/json', status = 200 } = served[request.url ?? ''] ?? { body: '' };
    if (served[request.url ?? ''] === undefined) response.writeHead(404).end();
    else response.writeHead(status, type === null ? {} : { 'content-type': type }).end(body);
  };
  const port = await servers.http(agent);
  return gather({
    manifest: aManifest({ api }),
    upstreamUrl: new URL(`http://127.0.0.1:${port}/base`),
    environment: environment ?? {
      kind: 'own',
      variables: { READY: '/ready', WRONG: 'http://elsewhere/ready' },
      folder,
      secretDir: null,
    },
    now: () => NOON,
  });
}

const json = (value: unknown): Served => ({ body: JSON.stringify(value) });

describe('the health endpoint is probed', () => {
  test.each<[string, Api, string]>([
    ['at /health when none is declared', {}, '/health'],
    ['at the declared path', { healthEndpoint: '/livez' }, '/livez'],
    ['with its query', { healthEndpoint: '/livez?full=1&a=%20?b' }, '/livez?full=1&a=%20?b'],
    [
      'on the agent, even if the path looks like a host',
      { healthEndpoint: '//other.example/x' },
      '//other.example/x',
    ],
    ['at the path from a variable', { healthEndpoint: '$env:READY' }, '/ready'],
    ['at the path from a file', { healthEndpoint: '$file:path.txt' }, '/from-file'],
  ])('%s', async (_title, api, path) => {
    await writeFile(join(folder, 'path.txt'), '/from-file\n');
    const { health, upstream } = await factsOf({ [`/base${path}`]: json({}) }, api);
    expect(health).toEqual({ answered: true, status: 200, latencyMs, path });
    expect(upstream?.state).toBe('reachable');
    expect(requested.sort()).toEqual(
      [`/base${path}`, '/base/capabilities', `/base${CARD_PATH}`, '/base/platform/health'].sort(),
    );
  });
});

test('the declared capabilities endpoint is requested instead of /capabilities', async () => {
  const { capabilities } = await factsOf(
    { '/base/api/tools': json({ tools: ['search'] }) },
    { capabilitiesEndpoint: '/api/tools' },
  );
  const path = '/api/tools';
  expect(capabilities).toEqual({
    ...{ answered: true, status: 200, latencyMs },
    ...{ path, isHtml: false, tools: ['search'] },
  });
  expect(requested).not.toContain('/base/capabilities');
});

test('the agent card is requested once when it is declared as the capabilities endpoint', async () => {
  const { capabilities, agentCard } = await factsOf(
    { [`/base${CARD_PATH}`]: json({ skills: [{ id: 'search' }] }) },
    { capabilitiesEndpoint: CARD_PATH },
  );
  expect([capabilities?.tools, agentCard?.tools]).toEqual([['search'], ['search']]);
  expect(requested.filter((path) => path.endsWith(CARD_PATH))).toHaveLength(1);
});

describe('the default path and a reason are returned when the declared path is', () => {
  test.each<[string, string, AgentEnvironment | undefined, string]>([
    ['a variable that is not set', '$env:NOWHERE', undefined, 'the variable NOWHERE is not set'],
    [
      'a variable of the agent in a cluster',
      '$env:READY',
      IN_CLUSTER,
      "the agent's variable READY cannot be read from here",
    ],
    ['a file of the agent in a cluster', '$file:a', IN_CLUSTER, 'the file a cannot be read from here'],
    ['a value that is not a path', '$env:WRONG', undefined, 'the value is not a path that begins with /'],
    ['a time', '$func:now_iso', undefined, 'the value is not a path that begins with /'],
  ])('%s', async (_title, declared, environment, unresolved) => {
    const api: Api = { healthEndpoint: declared, capabilitiesEndpoint: declared };
    const { health, capabilities } = await factsOf({ '/base/health': json({}) }, api, environment);
    expect(health).toEqual({ answered: true, status: 200, latencyMs, path: '/health', unresolved });
    expect(capabilities).toMatchObject({ path: '/capabilities', status: 404, unresolved });
    expect(requested).toHaveLength(4);
  });
});

describe('the capabilities response counts as HTML', () => {
  const PAGE = '<!doctype html><title>Agent</title>';
  test.each<[string, Served, boolean]>([
    ['by content type', { body: PAGE, type: 'text/html; charset=utf-8' }, true],
    ['by content type, in other case and without a body', { body: '', type: 'Text/HTML' }, true],
    [
      'by content type, when larger than the read limit',
      { body: PAGE.repeat(4000), type: 'text/html' },
      true,
    ],
    ['as XHTML', { body: PAGE, type: 'application/xhtml+xml' }, true],
    ['by its body', { body: PAGE, type: null }, true],
    ['by its body, despite a JSON content type', { body: PAGE, type: 'application/json' }, true],
    ['after a BOM and white space', { body: `\uFEFF\r\n\t ${PAGE}`, type: 'text/plain' }, true],
    ['but not when it is JSON', json({ tools: ['<b>'] }), false],
    ['but not when it is text', { body: 'ok', type: 'text/plain' }, false],
    ['but not when it is empty', { body: '', type: null }, false],
    ['but not when it is an error', { body: PAGE, type: 'text/html', status: 503 }, false],
  ])('%s', async (_title, served, isHtml) => {
    const { capabilities } = await factsOf({ '/base/capabilities': served });
    expect(capabilities?.isHtml).toBe(isHtml);
    if (isHtml) expect(capabilities?.tools).toBeNull();
  });
});

describe('the agent card response', () => {
  test.each<[string, Served | undefined, boolean, string[] | null]>([
    [
      'is a card with skills',
      json({ name: 'shop', skills: [{ id: 'search', name: 'Search' }] }),
      true,
      ['search'],
    ],
    ['is a card without skills', json({ name: 'shop' }), true, null],
    ['is a card of another content type', { body: '{"skills":[]}', type: 'text/plain' }, true, []],
    ['is missing', undefined, false, null],
    ['is not a card with an error status', { ...json({ skills: [{ id: 'a' }] }), status: 500 }, false, null],
    ['is not a card when it is a list', json([{ id: 'a' }]), false, null],
    ['is not a card when it is null', json(null), false, null],
    ['is not a card when it is text', { body: '"card"' }, false, null],
    ['is not a card when it is broken JSON', { body: '{"skills":[' }, false, null],
    ['is not a card when it is HTML', { body: '<html>', type: 'text/html' }, false, null],
    ['is not a card when it is JSON served as HTML', { body: '{}', type: 'text/html' }, false, null],
    ['is not a card when it is larger than 64 KiB', json({ name: 'x'.repeat(65_536) }), false, null],
  ])('%s', async (_title, served, isCard, tools) => {
    const { agentCard } = await factsOf(served === undefined ? {} : { [`/base${CARD_PATH}`]: served });
    expect(agentCard).toMatchObject({ isCard, tools });
  });
});
