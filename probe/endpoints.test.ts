import type { RequestListener } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Facts } from '../core/facts/facts.ts';
import type { Api } from '../core/manifest/manifest.ts';
import { aManifest, NOON } from '../testing/facts.ts';
import { TestServers } from '../testing/sockets.ts';
import { gather, type AgentEnvironment } from './gather.ts';

const CARD_PATH = '/.well-known/agent-card.json';
const latencyMs = expect.any(Number);
const IN_CLUSTER: AgentEnvironment = { kind: 'declared', names: new Set(['READY']), partial: false };

const servers = new TestServers();
let asked: string[];
let folder: string;
beforeEach(async () => {
  asked = [];
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

/** What a report gathers from an agent that serves this and answers 404 to the rest. */
async function factsOf(
  served: Record<string, Served>,
  api: Api = {},
  environment?: AgentEnvironment,
): Promise<Facts> {
  const agent: RequestListener = (request, response) => {
    asked.push(request.url ?? '');
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

describe('the health endpoint is asked', () => {
  test.each<[string, Api, string]>([
    ['at /health where none is declared', {}, '/health'],
    ['where it is declared', { healthEndpoint: '/livez' }, '/livez'],
    ['with its query', { healthEndpoint: '/livez?full=1&a=%20?b' }, '/livez?full=1&a=%20?b'],
    [
      'on the agent, whatever the path looks like',
      { healthEndpoint: '//other.example/x' },
      '//other.example/x',
    ],
    ['where a variable says', { healthEndpoint: '$env:READY' }, '/ready'],
    ['where a file says', { healthEndpoint: '$file:path.txt' }, '/from-file'],
  ])('%s', async (_title, api, path) => {
    await writeFile(join(folder, 'path.txt'), '/from-file\n');
    const { health, upstream } = await factsOf({ [`/base${path}`]: json({}) }, api);
    expect(health).toEqual({ answered: true, status: 200, latencyMs, path });
    expect(upstream?.state).toBe('reachable');
    expect(asked.sort()).toEqual(
      [`/base${path}`, '/base/capabilities', `/base${CARD_PATH}`, '/base/platform/health'].sort(),
    );
  });
});

test('the declared capabilities are asked in place of /capabilities', async () => {
  const { capabilities } = await factsOf(
    { '/base/api/tools': json({ tools: ['search'] }) },
    { capabilitiesEndpoint: '/api/tools' },
  );
  const path = '/api/tools';
  expect(capabilities).toEqual({
    ...{ answered: true, status: 200, latencyMs },
    ...{ path, isHtml: false, tools: ['search'] },
  });
  expect(asked).not.toContain('/base/capabilities');
});

test('the agent card is asked once where it is declared as the capabilities', async () => {
  const { capabilities, agentCard } = await factsOf(
    { [`/base${CARD_PATH}`]: json({ skills: [{ id: 'search' }] }) },
    { capabilitiesEndpoint: CARD_PATH },
  );
  expect([capabilities?.tools, agentCard?.tools]).toEqual([['search'], ['search']]);
  expect(asked.filter((path) => path.endsWith(CARD_PATH))).toHaveLength(1);
});

describe('a declared path that cannot be resolved leads to the default one, with the reason', () => {
  test.each<[string, string, AgentEnvironment | undefined, string]>([
    ['a variable that is not set', '$env:NOWHERE', undefined, 'the variable NOWHERE is not set'],
    [
      'a variable of the agent in a cluster',
      '$env:READY',
      IN_CLUSTER,
      "the agent's variable READY cannot be read from here",
    ],
    ['a file of the agent in a cluster', '$file:a', IN_CLUSTER, 'the file a cannot be seen from here'],
    ['a value that is not a path', '$env:WRONG', undefined, 'its value is not a path that begins with /'],
    ['a time', '$func:now_iso', undefined, 'its value is not a path that begins with /'],
  ])('%s', async (_title, declared, environment, unresolved) => {
    const api: Api = { healthEndpoint: declared, capabilitiesEndpoint: declared };
    const { health, capabilities } = await factsOf({ '/base/health': json({}) }, api, environment);
    expect(health).toEqual({ answered: true, status: 200, latencyMs, path: '/health', unresolved });
    expect(capabilities).toMatchObject({ path: '/capabilities', status: 404, unresolved });
    expect(asked).toHaveLength(4);
  });
});

describe('the capabilities are an HTML page', () => {
  const PAGE = '<!doctype html><title>Agent</title>';
  test.each<[string, Served, boolean]>([
    ['by content type', { body: PAGE, type: 'text/html; charset=utf-8' }, true],
    ['by content type, in other letters and without a body', { body: '', type: 'Text/HTML' }, true],
    ['by content type, of more bytes than are read', { body: PAGE.repeat(4000), type: 'text/html' }, true],
    ['as XHTML', { body: PAGE, type: 'application/xhtml+xml' }, true],
    ['by its body', { body: PAGE, type: null }, true],
    ['by its body, whatever it is called', { body: PAGE, type: 'application/json' }, true],
    ['behind blanks', { body: `\uFEFF\r\n\t ${PAGE}`, type: 'text/plain' }, true],
    ['not where they are JSON', json({ tools: ['<b>'] }), false],
    ['not where they are text', { body: 'ok', type: 'text/plain' }, false],
    ['not where they are empty', { body: '', type: null }, false],
    ['not where they are an error', { body: PAGE, type: 'text/html', status: 503 }, false],
  ])('%s', async (_title, served, isHtml) => {
    const { capabilities } = await factsOf({ '/base/capabilities': served });
    expect(capabilities?.isHtml).toBe(isHtml);
    if (isHtml) expect(capabilities?.tools).toBeNull();
  });
});

describe('the agent card', () => {
  test.each<[string, Served | undefined, boolean, string[] | null]>([
    ['with skills', json({ name: 'shop', skills: [{ id: 'search', name: 'Search' }] }), true, ['search']],
    ['without skills', json({ name: 'shop' }), true, null],
    ['of another content type', { body: '{"skills":[]}', type: 'text/plain' }, true, []],
    ['is missing', undefined, false, null],
    ['is not one with another status', { ...json({ skills: [{ id: 'a' }] }), status: 500 }, false, null],
    ['is not a list', json([{ id: 'a' }]), false, null],
    ['is not null', json(null), false, null],
    ['is not text', { body: '"card"' }, false, null],
    ['is not broken JSON', { body: '{"skills":[' }, false, null],
    ['is not HTML', { body: '<html>', type: 'text/html' }, false, null],
    ['is not what is served as HTML', { body: '{}', type: 'text/html' }, false, null],
    ['is not larger than 64 KiB', json({ name: 'x'.repeat(65_536) }), false, null],
  ])('%s', async (_title, served, isCard, tools) => {
    const { agentCard } = await factsOf(served === undefined ? {} : { [`/base${CARD_PATH}`]: served });
    expect(agentCard).toMatchObject({ isCard, tools });
  });
});
