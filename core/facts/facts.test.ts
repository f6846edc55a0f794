import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import fc from '../../testing/random/properties.ts';
import { parseAddress, type HostPort } from './address.ts';
import { reachTargets } from './declared.ts';
import { listedTools } from './listed-tools.ts';

describe('parseAddress', () => {
  const to = (host: string, port: number): HostPort => ({ host, port });
  test.each<[string, string | undefined, HostPort | null]>([
    ['db:5432', undefined, to('db', 5432)],
    [' db:5432 ', undefined, to('db', 5432)],
    ['10.0.0.1:80', undefined, to('10.0.0.1', 80)],
    ['[::1]:6379', undefined, to('::1', 6379)],
    ['db', 'postgres', to('db', 5432)],
    ['db', 'Redis', to('db', 6379)],
    ['db', undefined, null],
    ['db', 'constructor', null],
    ['db:99999', undefined, null],
    ['db:0', undefined, null],
    ['db:http', undefined, null],
    ['', 'redis', null],
    ['redis://cache', undefined, to('cache', 6379)],
    ['REDIS://cache', undefined, to('cache', 6379)],
    ['redis://:p@ss:w@cache:7000/0', undefined, to('cache', 7000)],
    ['postgresql+asyncpg://u:p@pg/agent?sslmode=require', undefined, to('pg', 5432)],
    ['mongodb://a:1,b:2/agent', undefined, to('a', 1)],
    ['mongodb+srv://cluster.example/agent', undefined, null],
    ['https://qdrant.example', undefined, to('qdrant.example', 443)],
    ['http://[2001:db8::1]:6333/x', undefined, to('2001:db8::1', 6333)],
    ['amqp://u:p@mq/%2f', undefined, to('mq', 5672)],
    ['grpc://collector:4317', undefined, to('collector', 4317)],
    ['grpc://collector', undefined, null],
    ['sqlite:///data/agent.db', undefined, null],
    ['file:///data', undefined, null],
    ['/var/run/redis.sock', 'redis', null],
    ['bolt://graph', undefined, to('graph', 7687)],
  ])('%s of type %s', (address, type, expected) => {
    expect(parseAddress(address, type)).toEqual(expected);
  });

  test('never throws, and returns a valid host and port', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.constantFrom('https://a.example:8443/b?c#d', 'http://e:f@[::1]:80/', 'ws://g'),
          fc.string().map((text) => `redis://${text}`),
        ),
        (text) => {
          const address = parseAddress(text, 'redis');
          if (address === null) return;
          expect(address.host).not.toBe('');
          expect(address.port).toBeGreaterThanOrEqual(1);
          expect(address.port).toBeLessThanOrEqual(65_535);
        },
      ),
    );
  });
});

describe('listedTools', () => {
  test.each<[string, unknown, string[] | null]>([
    ['reads objects with a name', { tools: [{ name: 'a' }, { name: 'b', description: 'x' }] }, ['a', 'b']],
    ['reads strings', { tools: ['a', 'b'] }, ['a', 'b']],
    ['reads the skills of an A2A card', { skills: [{ id: 'a', name: 'A' }] }, ['a']],
    ['reads both tools and skills', { tools: ['a'], skills: [{ id: 'b' }] }, ['a', 'b']],
    ['accepts an empty list', { tools: [] }, []],
    ['ignores items that are not names', { tools: [1, null, { id: 'a' }, ['b']] }, []],
    ['rejects tools that are not a list', { tools: 'a, b' }, null],
    ['rejects an object without tools and skills', { name: 'shop' }, null],
    ['rejects a list at the top level', ['a'], null],
    ['rejects undefined', undefined, null],
    ['ignores a __proto__ key', JSON.parse('{"__proto__":{"tools":["a"]}}'), null],
    ['cuts names at 500 characters', { tools: ['x'.repeat(10_000)] }, ['x'.repeat(500)]],
  ])('%s', (_name, value, expected) => {
    expect(listedTools(value)).toEqual(expected);
  });

  test('returns at most 1000 names', () => {
    expect(listedTools({ tools: Array<string>(5000).fill('a') })).toHaveLength(1000);
  });
});

describe('reachTargets', () => {
  test('uses the service of the backend for a memory without an address', () => {
    const manifest = aManifest({
      requires: {
        services: [
          { name: 'main', type: 'postgres', address: 'pg:1' },
          { type: 'redis', address: '$env:REDIS_URL' },
        ],
      },
      memory: { backend: 'redis', shortTerm: { ttlSeconds: 60 }, vector: { backend: 'main' } },
    });
    const redis = {
      path: 'spec.requires.services[1].address',
      address: { known: true, value: '$env:REDIS_URL', type: 'redis' },
    };
    expect(reachTargets(manifest).slice(2)).toEqual([
      { id: 'memory:backend', ...redis },
      { id: 'memory:shortTerm', ...redis },
      {
        id: 'memory:vector',
        path: 'spec.requires.services[0].address',
        address: { known: true, value: 'pg:1', type: 'postgres' },
      },
    ]);
  });

  test('uses the address of the first memory with the same backend for memory:backend', () => {
    const manifest = aManifest({
      requires: { services: [{ type: 'redis', address: 'other:1' }] },
      memory: {
        backend: 'redis',
        longTerm: { backend: 'postgres', connectionString: 'postgres://pg' },
        shortTerm: { connection: '$env:CACHE_URL' },
        vector: { backend: 'redis', connectionString: 'redis://vectors' },
      },
    });
    const backend = reachTargets(manifest).find(({ id }) => id === 'memory:backend');
    expect(backend).toEqual({
      id: 'memory:backend',
      path: 'spec.memory.shortTerm.connection',
      address: { known: true, value: '$env:CACHE_URL', type: 'redis' },
    });
  });

  test('gives the reason for targets without an address', () => {
    const manifest = aManifest({
      requires: { services: [{ name: 'db' }] },
      mcp: {
        servers: [
          { name: 'local', transport: 'stdio', command: 'run', url: 'http://x/mcp' },
          { name: 'nowhere' },
        ],
      },
      memory: { backend: 'in-process' },
      observability: { tracing: { backend: 'langfuse' } },
    });
    const reasons = reachTargets(manifest).map(({ id, address }) => [id, address.known || address.reason]);
    const noAddress = 'the manifest declares no address';
    expect(reasons).toEqual([
      ['service:db', noAddress],
      ['mcp:local', 'a stdio server is started by the agent and has no address'],
      ['mcp:nowhere', noAddress],
      ['memory:backend', noAddress],
      ['tracing:langfuse', noAddress],
    ]);
  });

  test('has the URL and the declared transport of an MCP server', () => {
    const manifest = aManifest({ mcp: { servers: [{ name: 'm', transport: 'sse', url: '$env:MCP' }] } });
    expect(reachTargets(manifest)).toEqual([
      {
        id: 'mcp:m',
        path: 'spec.mcp.servers[0].url',
        address: { known: true, value: '$env:MCP', transport: 'sse' },
      },
    ]);
  });

  test('has the host, port and time-out of an MCP server', () => {
    const manifest = aManifest({
      mcp: { servers: [{ name: 'maps', host: 'maps', port: 7000, healthCheck: { timeoutSeconds: 2 } }] },
    });
    expect(reachTargets(manifest)).toEqual([
      {
        id: 'mcp:maps',
        path: 'spec.mcp.servers[0].host',
        address: { known: true, value: 'maps', port: 7000, timeoutSeconds: 2 },
      },
    ]);
  });

  test('has each id once', () => {
    const services = [
      { type: 'redis', address: 'a:1' },
      { type: 'redis', address: 'b:1' },
    ];
    expect(reachTargets(aManifest({ requires: { services } })).map((target) => target.id)).toEqual([
      'service:redis',
    ]);
  });
});
