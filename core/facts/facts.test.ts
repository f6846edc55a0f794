import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/facts.ts';
import fc from '../../testing/properties.ts';
import { parseAddress, type HostPort } from './address.ts';
import { reachTargets } from './declared.ts';
import { listedTools } from './listed-tools.ts';

describe('an address', () => {
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

  test('never throws, and a port is one', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
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

describe('the tools that capabilities list', () => {
  test.each<[string, unknown, string[] | null]>([
    ['objects with a name', { tools: [{ name: 'a' }, { name: 'b', description: 'x' }] }, ['a', 'b']],
    ['strings', { tools: ['a', 'b'] }, ['a', 'b']],
    ['the skills of an A2A card', { skills: [{ id: 'a', name: 'A' }] }, ['a']],
    ['both', { tools: ['a'], skills: [{ id: 'b' }] }, ['a', 'b']],
    ['an empty list', { tools: [] }, []],
    ['nothing that is a name', { tools: [1, null, { id: 'a' }, ['b']] }, []],
    ['no list', { tools: 'a, b' }, null],
    ['no such member', { name: 'shop' }, null],
    ['a list at the top', ['a'], null],
    ['nothing', undefined, null],
    ['a prototype', JSON.parse('{"__proto__":{"tools":["a"]}}'), null],
    ['names of 10,000 characters', { tools: ['x'.repeat(10_000)] }, ['x'.repeat(500)]],
  ])('%s', (_name, value, expected) => {
    expect(listedTools(value)).toEqual(expected);
  });

  test('are at most 1000', () => {
    expect(listedTools({ tools: Array<string>(5000).fill('a') })).toHaveLength(1000);
  });
});

describe('what a manifest connects to', () => {
  test('a memory without an address is the service of its backend', () => {
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

  test('the backend of a memory is where the first kind of memory on it is', () => {
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

  test('what has no address is named with the reason', () => {
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
    const none = 'the manifest gives it no address';
    expect(reasons).toEqual([
      ['service:db', none],
      ['mcp:local', 'a stdio server is started by the agent and has no address'],
      ['mcp:nowhere', none],
      ['memory:backend', none],
      ['tracing:langfuse', none],
    ]);
  });

  test('an MCP server by URL, over the transport that is declared', () => {
    const manifest = aManifest({ mcp: { servers: [{ name: 'm', transport: 'sse', url: '$env:MCP' }] } });
    expect(reachTargets(manifest)).toEqual([
      {
        id: 'mcp:m',
        path: 'spec.mcp.servers[0].url',
        address: { known: true, value: '$env:MCP', transport: 'sse' },
      },
    ]);
  });

  test('an MCP server by host and port, with its own time-out', () => {
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

  test('each id once', () => {
    const services = [
      { type: 'redis', address: 'a:1' },
      { type: 'redis', address: 'b:1' },
    ];
    expect(reachTargets(aManifest({ requires: { services } })).map((target) => target.id)).toEqual([
      'service:redis',
    ]);
  });
});
