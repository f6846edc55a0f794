import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import type { ManifestSpec } from '../manifest/manifest.ts';
import { lanesOfProvider, laneTargetsOf, unusedLaneOf, unusedLanesOf } from './lane-use.ts';

test.each([
  ['OpenAI', ['openai', 'compatible:gw', 'mcp:files'], ['openai']],
  ['gemini', ['vertex', 'openai', 'gemini'], ['vertex', 'gemini']],
  ['openai', ['anthropic', 'compatible:gw'], ['compatible:gw']],
  ['openai', ['anthropic', 'azure', 'mcp:files'], []],
  ['constructor', ['openai'], []],
])('calls of %s pass one of the lanes %j: %j', (provider, lanes, own) => {
  expect(lanesOfProvider(provider, lanes)).toEqual(own);
});

describe('the unused lane of a provider', () => {
  test.each<[what: string, lanes: string[], used: string[], unused: string | null]>([
    ['is its lane without a call', ['openai'], [], 'openai'],
    ['is never a lane with a call', ['openai'], ['openai'], null],
    ['is the first of several', ['mcp:files', 'compatible:a', 'compatible:b'], ['mcp:files'], 'compatible:a'],
    ['is none if one of several has a call', ['compatible:a', 'compatible:b'], ['compatible:b'], null],
    ['is none without a lane', ['anthropic'], [], null],
    [
      'is its lane although that of another vendor has calls',
      ['openai', 'anthropic'],
      ['anthropic'],
      'openai',
    ],
    ['is none if a gateway has calls, also of Azure', ['openai', 'azure'], ['azure'], null],
    ['is none if a gateway has calls', ['openai', 'compatible:gw'], ['compatible:gw'], null],
  ])('%s', (_what, lanes, used, unused) => {
    expect(unusedLaneOf('openai', { lanes, usedLanes: new Set(used) })).toBe(unused);
  });
});

describe('unused lanes', () => {
  const model = { provider: 'openai', id: 'gpt-4o', apiKey: 'literal' };
  const fallback = { provider: 'anthropic', id: 'claude-sonnet-4', apiKey: 'literal' };
  const both = { lanes: ['openai', 'anthropic'], usedLanes: new Set<string>() };
  test.each<[what: string, calls: [string, number][] | undefined, lanes: string[]]>([
    ['none while nothing is reported', undefined, []],
    ['none below three calls', [['gpt-4o', 2]], []],
    [
      'of three calls, with and without a date',
      [
        ['gpt-4o-2024-08-06', 1],
        ['openai/GPT-4o', 2],
      ],
      ['openai 3'],
    ],
    [
      'none for models that are not declared',
      [
        ['gpt-5', 9],
        ['unknown', 9],
      ],
      [],
    ],
    ['of the fallback', [['claude-sonnet-4', 4]], ['anthropic 4']],
    [
      'of both',
      [
        ['gpt-4o', 3],
        ['claude-sonnet-4', 4],
      ],
      ['openai 3', 'anthropic 4'],
    ],
  ])('%s', (_what, calls, lanes) => {
    const reported = calls === undefined ? {} : { calls: new Map(calls) };
    const found = unusedLanesOf(aManifest({ model: { ...model, fallback } }), both, reported);
    expect(found.map(({ lane, reported: count }) => `${lane} ${count}`)).toEqual(lanes);
  });
});

describe('upstreams to which only their lanes may connect', () => {
  const lane = (id: string, url: string) => ({ id, upstream: new URL(url) });
  const OPENAI = lane('openai', 'https://API.openai.com');
  const GATEWAY = lane('compatible:gw', 'http://gw.corp:8080/v1');
  const FILES = lane('mcp:files', 'http://gw.corp:8080/mcp');
  const mcp = { servers: [{ name: 'files', transport: 'http' as const, url: 'http://gw.corp:8080/mcp' }] };
  const service = (address: string, type?: string) => ({
    requires: { services: [{ name: 'db', address, ...(type && { type }) }] },
  });
  test.each<[what: string, spec: Partial<ManifestSpec>, lanes: ReturnType<typeof lane>[], targets: string[]]>(
    [
      ['the vendor of the model', {}, [OPENAI], ['openai api.openai.com 443']],
      ['with a port', {}, [GATEWAY], ['compatible:gw gw.corp 8080']],
      ['an IPv6 address', {}, [lane('azure', 'http://[2001:DB8::1]')], ['azure 2001:db8::1 80']],
      [
        'a gateway, and the vendor behind it',
        {},
        [lane('openai', 'http://gw.corp')],
        ['openai gw.corp 80', 'openai api.openai.com 443'],
      ],
      ['none that is declared as host', { egress: { hosts: ['api.openai.com'] } }, [OPENAI], []],
      ['none of a declared domain', { egress: { hosts: ['*.openai.com'] } }, [OPENAI], []],
      ['none of a service at the same port', service('http://gw.corp:8080/x'), [GATEWAY], []],
      [
        'a host with a service at another port',
        service('redis://gw.corp'),
        [GATEWAY],
        ['compatible:gw gw.corp 8080'],
      ],
      ['none of a service whose port is not known', service('gw.corp'), [GATEWAY], []],
      ['an MCP server with a lane', { mcp }, [FILES], ['mcp:files gw.corp 8080']],
      ['none that an MCP server without a lane shares', { mcp }, [GATEWAY], []],
      [
        'both lanes to one address',
        { mcp },
        [GATEWAY, FILES],
        ['compatible:gw gw.corp 8080', 'mcp:files gw.corp 8080'],
      ],
      [
        'with references, which may be any host',
        service('$env:DB_URL'),
        [OPENAI],
        ['openai api.openai.com 443'],
      ],
    ],
  )('%s', (_what, spec, lanes, targets) => {
    const found = laneTargetsOf(aManifest(spec), lanes);
    const texts = found.map(({ lane: id, host, port }) => `${id} ${host} ${port}`);
    expect([...new Set(texts)]).toEqual(targets);
  });
});
