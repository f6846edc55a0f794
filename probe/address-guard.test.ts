import dns from 'node:dns';
import { hostname, networkInterfaces } from 'node:os';
import { afterEach, describe, expect, test } from '@jest/globals';
import { TestServers } from '../testing/http/sockets.ts';
import { createAddressGuard, type AddressGuard } from './address-guard.ts';
import { exchange } from './http-exchange.ts';
import { mcpReach } from './mcp.ts';
import { isOwnHost } from './own-address.ts';
import { tcpReach } from './tcp-reach.ts';

const METADATA = 'link-local and metadata addresses are not probed';
const OWN = "the sidecar's own ports are not probed";
const interfaces = Object.values(networkInterfaces()).flatMap((each) => each ?? []);

const servers = new TestServers();
afterEach(() => servers.close());

describe('the guard on an address from the manifest', () => {
  const guard = createAddressGuard([4000, 4001]);
  test.each<[address: string, port: number, reason: string | null]>([
    ['169.254.169.254', 80, METADATA],
    ['169.254.170.2', 80, METADATA],
    ['::ffff:169.254.169.254', 80, METADATA],
    ['fe80::1', 80, METADATA],
    ['fe80::1%eth0', 80, METADATA],
    ['64:ff9b::a9fe:a9fe', 80, METADATA],
    ['fd00:ec2::254', 80, METADATA],
    ['fd20:ce::254', 80, METADATA],
    ['100.100.100.200', 80, METADATA],
    ['168.63.129.16', 80, METADATA],
    ['169.253.255.255', 80, null],
    ['10.0.0.7', 4000, null],
    ['127.0.0.1', 8000, null],
    ['127.0.0.1', 4000, OWN],
    ['127.9.9.9', 4001, OWN],
    ['::1', 4001, OWN],
    ['0.0.0.0', 4000, OWN],
    ['::', 4000, OWN],
    ['::ffff:127.0.0.1', 4000, OWN],
    ...interfaces.map(({ address }): [string, number, string] => [
      address,
      4000,
      address.startsWith('fe80') ? METADATA : OWN,
    ]),
  ])('returns for %s, port %s: %s', (address, port, reason) => {
    expect(guard(address, port)).toBe(reason);
  });
});

describe('probes with a guard', () => {
  // A resolver turns the number into 169.254.169.254: the guard checks the resolved address, not the name.
  test.each(['169.254.169.254', '2852039166', 'fe80::1'])(
    'do not connect to a metadata service at %s',
    async (host) => {
      const guard = createAddressGuard([]);
      const unknown = { state: 'unknown', reason: METADATA };
      expect(await tcpReach(host, 80, { guard })).toEqual(unknown);
      expect(await mcpReach({ address: { host, port: 80 }, guard })).toEqual(unknown);
      const url = `http://${host.includes(':') ? `[${host}]` : host}/latest/meta-data`;
      expect(await mcpReach({ address: { url }, guard })).toEqual(unknown);
    },
  );

  test.each(['127.0.0.1', 'localhost', '0.0.0.0', ...interfaces.map(({ address }) => address)])(
    'do not connect to a port of the sidecar at %s',
    async (host) => {
      let connections = 0;
      const port = await servers.tcp((socket) => {
        connections += 1;
        socket.end();
      });
      const guard = createAddressGuard([port]);
      const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${port}`);
      expect((await tcpReach(host, port, { guard })).state).toBe('unknown');
      expect((await mcpReach({ address: { url: url.href }, guard })).state).toBe('unknown');
      expect(await exchange(url, { guard })).toMatchObject({ answered: false, isRefused: true });
      expect(connections).toBe(0);
    },
  );

  test('check each request of one probe, since a name may resolve to another address later', async () => {
    const methods: unknown[] = [];
    const port = await servers.http((request, response) => {
      methods.push(request.method);
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'a' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } }));
    });
    let checks = 0;
    const guard: AddressGuard = () => ((checks += 1) === 1 ? null : METADATA);
    const url = `http://127.0.0.1:${port}/mcp`;
    expect((await mcpReach({ address: { url }, guard })).state).toBe('reachable');
    expect([checks, methods]).toEqual([2, ['POST']]);
  });

  test('use the current dns.lookup, which the process may have replaced', async () => {
    const port = await servers.tcp((socket) => socket.end());
    const { lookup } = dns;
    const lookedUp: string[] = [];
    const replaced = (name: string, _options: object, done: (error: null, found: object[]) => void): void => {
      lookedUp.push(name);
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    try {
      dns.lookup = Object.assign(replaced as unknown as typeof lookup, lookup);
      const guard = createAddressGuard([]);
      expect((await tcpReach('pinned.invalid', port, { guard })).state).toBe('reachable');
    } finally {
      dns.lookup = lookup;
    }
    expect(lookedUp).toEqual(['pinned.invalid']);
  });

  test('connect to any other address, also by name', async () => {
    const port = await servers.tcp((socket) => socket.end());
    const guard = createAddressGuard([4000]);
    expect((await tcpReach('localhost', port, { guard })).state).toBe('reachable');
    expect((await mcpReach({ address: { host: 'localhost', port }, guard })).state).toBe('reachable');
    expect((await tcpReach('nowhere.invalid', port, { guard })).state).toBe('unreachable');
  });
});

test.each([
  ['localhost', true],
  ['LOCALHOST.', true],
  ['agent.localhost', true],
  [hostname(), true],
  ['127.8.0.1', true],
  ['[::1]', true],
  ['[::ffff:7f00:1]', true],
  ['0.0.0.0', true],
  ['[::]', true],
  ['10.255.255.254', false],
  ['agent', false],
  ['localhost.example', false],
])('isOwnHost returns for %s: %s', (host, expected) => {
  expect(isOwnHost(host)).toBe(expected);
});
