import { beforeEach, describe, expect, test } from '@jest/globals';
import { tableOf, type FixtureRow } from '../../testing/sidecar/proc-net.ts';
import { AddressBook } from './address-book.ts';
import { parseIp } from './address.ts';
import { knownHostsOf, nameserversIn } from './known-hosts.ts';
import { ScanBudget } from './scan-budget.ts';
import { SocketCensus, UDP_TABLES, type OwnSockets, type TableName } from './socket-census.ts';
import { STATES } from './socket-table.ts';
import { UnseenTargets } from './unseen-egress.ts';

const AT = new Date('2026-11-23T12:00:00Z');
const AGENT = 1000;
const SIDECAR = 65_532;
const POD = '10.0.2.10';

const row = (local: string, remote: string, rest: Partial<FixtureRow> = {}): FixtureRow => ({
  ...{ local, remote, state: STATES.established, uid: AGENT, inode: 7 },
  ...rest,
});
const listening = (port: number): FixtureRow => row(`0.0.0.0:${port}`, '0.0.0.0:0', { state: STATES.listen });

interface FakeSockets extends OwnSockets {
  attempts: number;
  accepts: number;
  pairs: Set<string>;
  inodes: Set<number>;
}

let own: FakeSockets;
let book: AddressBook;
let census: SocketCensus;

beforeEach(() => {
  own = {
    ...{ attempts: 0, accepts: 0, pairs: new Set<string>(), inodes: new Set<number>() },
    has: (local, remote, address) => own.pairs.has(`${local} ${address()} ${remote}`),
    hasInode: (inode) => own.inodes.has(inode),
  };
  book = new AddressBook();
  book.setHosts({
    expected: new Set(['192.0.2.50']),
    others: new Set(),
    domains: [],
    isPartial: false,
    lanes: [],
  });
  const isOwnAddress = (address: string): boolean => address === POD;
  census = new SocketCensus({ book, own, ownUid: SIDECAR, ownPorts: [4000, 4001, 4002], isOwnAddress });
});

function scan(rows: readonly FixtureRow[], activeOpens: number | null = 0, table: TableName = 'tcp'): void {
  census.beginScan(AT, 0);
  const bytes = Buffer.from(tableOf(rows));
  census.read(table, bytes, bytes.length);
  census.endScan(activeOpens);
}

/** Addresses of the findings after all names were resolved. */
function unseen(): string[] {
  census.settle(AT, 0);
  return census.facts(AT, 0).unseenEgress.map(({ address, port, count }) => `${address} ${port} ${count}`);
}

describe('a scan', () => {
  test.each<[what: string, rows: FixtureRow[], found: string[]]>([
    ['an established connection', [row(`${POD}:40000`, '198.51.100.1:443')], ['198.51.100.1 443 1']],
    [
      'an attempt',
      [row(`${POD}:40000`, '198.51.100.1:443', { state: STATES.synSent })],
      ['198.51.100.1 443 1'],
    ],
    [
      'a closed connection whose owner the kernel has forgotten',
      [row(`${POD}:40000`, '198.51.100.1:443', { state: STATES.timeWait, uid: 0, inode: 0 })],
      ['198.51.100.1 443 1'],
    ],
    [
      'two connections to one address',
      [row(`${POD}:40000`, '198.51.100.1:443'), row(`${POD}:40001`, '198.51.100.1:443')],
      ['198.51.100.1 443 2'],
    ],
    [
      'an IPv4 address in IPv6 notation',
      [row(`[::ffff:${POD}]:40000`, '[::ffff:198.51.100.1]:443')],
      ['198.51.100.1 443 1'],
    ],
    ['an IPv6 address', [row('[fd00::1]:40000', '[2001:db8::1]:443')], ['2001:db8::1 443 1']],
    ['an accepted connection', [listening(8000), row(`${POD}:8000`, '198.51.100.1:50000')], []],
    [
      'a connection that is being accepted',
      [row(`${POD}:8001`, '198.51.100.1:50000', { state: STATES.newSynReceived, inode: 0 })],
      [],
    ],
    ['a connection on loopback', [row('127.0.0.1:40000', '127.0.0.1:6379')], []],
    ['a connection to an address of the pod', [row(`${POD}:40000`, `${POD}:6379`)], []],
    ['a connection to a declared address', [row(`${POD}:40000`, '192.0.2.50:443')], []],
    ['a socket without a peer', [row(`${POD}:40000`, '0.0.0.0:0', { state: STATES.closed })], []],
  ])('with %s', (_what, rows, found) => {
    scan(rows, 0, rows.some(({ remote }) => remote.startsWith('[')) ? 'tcp6' : 'tcp');
    expect(unseen()).toEqual(found);
  });

  test('with a connection that stays counts it once', () => {
    for (let index = 0; index < 3; index++) scan([row(`${POD}:40000`, '198.51.100.1:443')]);
    expect(unseen()).toEqual(['198.51.100.1 443 1']);
    scan([]);
    scan([row(`${POD}:40000`, '198.51.100.1:443')]);
    expect(unseen()).toEqual(['198.51.100.1 443 2']);
  });

  test('of the UDP tables alone keeps the TCP connections, and forgets UDP sockets', () => {
    scan([row(`${POD}:40000`, '198.51.100.1:443')]);
    const scanUdp = (rows: readonly FixtureRow[]) => {
      census.beginScan(AT, 0, UDP_TABLES);
      const bytes = Buffer.from(tableOf(rows));
      census.read('udp', bytes, bytes.length);
      census.endScan(0);
    };
    scanUdp([row(`${POD}:40001`, '198.51.100.2:443')]);
    expect(census.rows).toEqual({ tcp: 1, udp: 1 });
    scanUdp([]);
    scanUdp([row(`${POD}:40001`, '198.51.100.2:443')]);
    scan([row(`${POD}:40000`, '198.51.100.1:443')]);
    expect(census.rows).toEqual({ tcp: 1, udp: 0 });
    expect(unseen().toSorted()).toEqual(['198.51.100.1 443 1', '198.51.100.2 443 2']);
  });

  test('knows accepted connections that outlive their listening socket', () => {
    scan([listening(8000)]);
    scan([row(`${POD}:8000`, '198.51.100.1:50000')]);
    expect(unseen()).toEqual([]);
  });

  test('lists a connected UDP socket, also on the port of a TCP server', () => {
    scan([listening(8000)]);
    scan([row(`${POD}:8000`, '198.51.100.1:443')], 0, 'udp');
    expect(unseen()).toEqual(['198.51.100.1 443 1']);
  });
});

describe('own connections', () => {
  const mine = (rest: Partial<FixtureRow> = {}) =>
    row(`${POD}:40000`, '198.51.100.1:443', { uid: SIDECAR, ...rest });

  test('are known by their ports, also after their end', () => {
    own.pairs.add('40000 198.51.100.1 443');
    scan([mine()]);
    scan([mine({ state: STATES.timeWait, uid: 0, inode: 0 })]);
    expect(unseen()).toEqual([]);
  });

  test('are known by their descriptor while they are being made', () => {
    own.inodes.add(99);
    scan([mine({ state: STATES.synSent, inode: 99 })]);
    expect(unseen()).toEqual([]);
  });

  test('do not hide a connection between the same ports to another address, also after its end', () => {
    own.pairs.add('40000 198.51.100.1 443');
    scan([row(`${POD}:40000`, '198.51.100.9:443', { state: STATES.timeWait, uid: 0, inode: 0 })]);
    expect(unseen()).toEqual(['198.51.100.9 443 1']);
  });

  test('do not hide connections of another user or of another process of the same user', () => {
    own.pairs.add('40000 198.51.100.1 443');
    scan([mine({ uid: AGENT })]);
    expect(unseen()).toEqual(['198.51.100.1 443 1']);
    own.pairs.clear();
    own.inodes.add(99);
    scan([]);
    scan([mine({ inode: 98 })]);
    expect(unseen()).toEqual(['198.51.100.1 443 2']);
  });
});

describe('unexplained connections', () => {
  const explained = () => census.facts(AT, 0).unexplainedOpens;

  test('are those that no scan saw', () => {
    scan([row(`${POD}:40000`, '198.51.100.1:443')], 1000);
    expect(explained()).toBe(0);
    // One stays, two are new (one of them to a declared address), and three ended before this scan.
    scan(
      [
        row(`${POD}:40000`, '198.51.100.1:443'),
        row(`${POD}:40001`, '198.51.100.1:443'),
        row(`${POD}:40002`, '192.0.2.50:443'),
      ],
      1005,
    );
    expect(explained()).toBe(3);
    scan([], 1005);
    expect(explained()).toBe(3);
  });

  test('are not the connections that the sidecar made or accepted, and those inside the pod', () => {
    scan([], 10);
    own.attempts = 3;
    own.accepts = 2;
    own.pairs.add('40001 198.51.100.1 443');
    scan(
      [
        listening(4002),
        row(`${POD}:40001`, '198.51.100.1:443', { uid: SIDECAR }),
        // The agent's connection to a lane, which the sidecar has accepted, and one to another process of the pod.
        row('127.0.0.1:40003', '127.0.0.1:4002'),
        row('127.0.0.1:40004', '127.0.0.1:6379'),
      ],
      16,
    );
    expect(explained()).toBe(0);
  });

  test('are not explained by connections that are not remembered because there are too many', () => {
    const many = Array.from({ length: 50_100 }, (_, index) =>
      row(`${POD}:${1 + (index % 60_000)}`, `10.8.${index >> 14}.1:443`),
    );
    scan([], 0);
    for (let index = 0; index < 2; index++) scan(many, many.length + 40);
    expect(explained()).toBe(140);
  });

  test('show a connection from a port on which its process listened before', () => {
    scan([listening(8000)], 10);
    scan([row(`${POD}:8000`, '198.51.100.1:443')], 11);
    expect([unseen(), explained()]).toEqual([[], 1]);
  });

  test('are never negative, and start again with another counter', () => {
    scan([], 10);
    own.attempts = 5;
    scan([], 11);
    expect(explained()).toBe(0);
    scan([], 3);
    scan([], 4);
    expect(explained()).toBe(1);
  });

  test('are not counted while the counter is unknown', () => {
    scan([], null);
    scan([row(`${POD}:40000`, '198.51.100.1:443')], null);
    expect(explained()).toBe(0);
    scan([], 50);
    scan([], 51);
    expect(explained()).toBe(1);
  });
});

describe('the attribution of an address', () => {
  const attribute = (address: string, nowMs = 0) => book.attribute(parseIp(address)!, 443, nowMs);
  const known = (rest: object = {}) =>
    book.setHosts({
      ...{ expected: new Set(['api.example', 'db.corp']), others: new Set(['api.vendor.example']) },
      ...{ domains: [], isPartial: false, lanes: [], ...rest },
    });

  beforeEach(() => {
    known();
    book.learned('api.example', ['203.0.113.10', '2001:db8:1::1'], 0);
    book.learned('db.corp', ['10.9.0.5'], 0);
    book.learned('api.vendor.example', ['198.51.100.1', '203.0.113.77'], 0);
  });

  test.each([
    ['a declared host', '203.0.113.10', 'expected', null],
    ['a declared host in IPv6', '2001:db8:1::1', 'expected', null],
    ['a host that is only known', '198.51.100.1', 'undeclared', 'api.vendor.example'],
    ['a known host in the network of a declared one', '203.0.113.77', 'undeclared', 'api.vendor.example'],
    ['no name', '192.0.2.9', 'undeclared', null],
    ['no name, in the network of a declared host', '203.0.113.11', 'unknown', null],
    ['no name, in the IPv6 network of a declared host', '2001:db8:1:9::1', 'unknown', null],
    ['no name, in the private network of a declared host', '10.9.0.6', 'undeclared', null],
  ])('with %s', (_what, address, state, name) => {
    expect(attribute(address)).toEqual({ state, name });
  });

  test('is unknown for an address that declared and other hosts share', () => {
    book.learned('other.example', ['203.0.113.10'], 0);
    expect(attribute('203.0.113.10')).toEqual({ state: 'unknown', name: null });
  });

  test('is unknown for an address that several known hosts share', () => {
    known({ others: new Set(['api.vendor.example', 'other.example']) });
    book.learned('other.example', ['198.51.100.1'], 0);
    expect(attribute('198.51.100.1')).toEqual({ state: 'unknown', name: null });
  });

  test('does not become unknown by names that only the agent looks up, through the CONNECT lane', () => {
    book.learned('a.evil.example', ['198.51.100.1', '192.0.2.9'], 0);
    book.learned('b.evil.example', ['198.51.100.1', '192.0.2.9'], 0);
    expect(attribute('198.51.100.1')).toEqual({ state: 'undeclared', name: null });
    expect(attribute('192.0.2.9')).toEqual({ state: 'undeclared', name: null });
  });

  test('knows declared hosts although the agent has looked up a thousand others', () => {
    known({ expected: new Set(['api.example', 'late.example']) });
    for (let index = 0; index < 1_200; index++) book.learned(`${index}.evil.example`, ['192.0.2.9'], 0);
    book.learned('late.example', ['203.0.113.50'], 0);
    expect(attribute('203.0.113.50').state).toBe('expected');
  });

  test('is expected for an address that declared hosts share', () => {
    book.learned('db.corp', ['203.0.113.10'], 0);
    expect(attribute('203.0.113.10').state).toBe('expected');
  });

  test('is unknown while a declared host is not resolved', () => {
    known({ expected: new Set(['api.example', 'late.example']) });
    expect(attribute('192.0.2.9').state).toBe('unknown');
    book.learned('late.example', [], 0);
    expect(attribute('192.0.2.9').state).toBe('undeclared');
  });

  test('is unknown without a name if the manifest has patterns, and expected for their hosts', () => {
    known({ domains: ['.files.example'] });
    expect(attribute('192.0.2.9').state).toBe('unknown');
    expect(attribute('198.51.100.1').state).toBe('undeclared');
    book.learned('a.files.example', ['192.0.2.9'], 0);
    expect(attribute('192.0.2.9').state).toBe('expected');
  });

  test('is unknown with a name if the manifest has references', () => {
    known({ isPartial: true });
    expect(attribute('198.51.100.1')).toEqual({ state: 'unknown', name: 'api.vendor.example' });
  });

  test('is forgotten an hour after the last response', () => {
    expect(attribute('203.0.113.10', 3_599_999).state).toBe('expected');
    expect(attribute('203.0.113.10', 3_600_000).state).toBe('undeclared');
    book.learned('api.example', ['203.0.113.10'], 3_600_000);
    expect(attribute('203.0.113.10', 3_600_001).state).toBe('expected');
  });

  test('keeps at most 256 addresses of a host', () => {
    for (let index = 0; index < 300; index++)
      book.learned('api.example', [`10.1.${index >> 8}.${index & 255}`], 0);
    expect([attribute('10.1.0.45').state, attribute('10.1.0.46').state]).toEqual(['undeclared', 'expected']);
  });
});

describe('the attribution of the upstream of a lane', () => {
  const lane = (id: string, host: string, port = 443) => ({ lane: id, host, port });
  const attribute = (address: string, port = 443) => book.attribute(parseIp(address)!, port, 0);
  const PAST = { state: 'undeclared', name: 'api.openai.com', lanes: ['openai'] };

  beforeEach(() => {
    book.setHosts({
      expected: new Set(['api.openai.com', 'db.corp', '192.0.2.60', '2001:db8::60']),
      ...{ others: new Set(['api.vendor.example']), domains: [], isPartial: true },
      lanes: [lane('openai', 'api.openai.com'), lane('azure', '192.0.2.60'), lane('groq', '2001:db8::60')],
    });
    book.learned('api.openai.com', ['203.0.113.10', '2001:db8:1::1'], 0);
  });

  test.each([
    ['203.0.113.10', 443, PAST],
    ['2001:db8:1::1', 443, PAST],
    ['203.0.113.10', 9000, { state: 'expected', name: null }],
    ['192.0.2.60', 443, { state: 'undeclared', name: null, lanes: ['azure'] }],
    ['2001:db8::60', 443, { state: 'undeclared', name: null, lanes: ['groq'] }],
  ])('with the address %s and the port %s', (address, port, attribution) => {
    expect(attribute(address, port)).toEqual(attribution);
  });

  test('is expected for an address that another declared host shares', () => {
    book.learned('db.corp', ['203.0.113.10', '192.0.2.60'], 0);
    expect([attribute('203.0.113.10').state, attribute('192.0.2.60').state]).toEqual([
      'expected',
      'expected',
    ]);
  });

  test('is unknown for an address that a known vendor shares', () => {
    book.learned('api.vendor.example', ['203.0.113.10'], 0);
    expect(attribute('203.0.113.10')).toEqual({ state: 'unknown', name: null });
  });

  test('is not changed by names that the agent looks up, through the CONNECT lane', () => {
    book.learned('a.evil.example', ['203.0.113.10'], 0);
    expect(attribute('203.0.113.10')).toEqual(PAST);
  });

  test('names all lanes to one address', () => {
    const lanes = [lane('openai', 'api.openai.com'), lane('compatible:b', 'api.openai.com')];
    book.setHosts({
      expected: new Set(['api.openai.com']),
      others: new Set(),
      domains: [],
      isPartial: false,
      lanes,
    });
    expect(attribute('203.0.113.10').lanes).toEqual(['openai', 'compatible:b']);
  });

  const facts = (at = AT, nowMs = 0) => {
    census.settle(AT, nowMs);
    return census
      .facts(at, nowMs)
      .unseenEgress.map(({ address, name, verdict, lanes }) => [address, name, verdict, lanes]);
  };
  const closed = row(`${POD}:40000`, '203.0.113.10:443', { state: STATES.timeWait, uid: 0, inode: 0 });
  const FOUND = ['203.0.113.10', 'api.openai.com', 'undeclared', ['openai']];

  test('is a finding for a connection of the agent, and none for one of the sidecar', () => {
    own.pairs.add('40001 203.0.113.10 443');
    scan([row(`${POD}:40001`, '203.0.113.10:443', { uid: SIDECAR })]);
    expect(facts()).toEqual([]);
    scan([row(`${POD}:40002`, '203.0.113.10:443')]);
    expect(facts()).toEqual([FOUND]);
  });

  test('ignores connections that were closed before the first scan', () => {
    scan([closed]);
    scan([closed]);
    expect(facts()).toEqual([]);
    scan([closed, { ...closed, local: `${POD}:40001` }]);
    expect(facts()).toEqual([FOUND]);
  });

  test('ignores the proxy of a service mesh, and not the connection that it makes for the agent', () => {
    const proxy = (port: number, rest: Partial<FixtureRow> = {}): FixtureRow =>
      row(`${POD}:${port}`, '203.0.113.10:443', { uid: 1337, ...rest });
    scan([]);
    scan([proxy(40000), proxy(40001)]);
    scan([{ ...closed, local: `${POD}:40002` }]);
    expect(facts()).toEqual([]);
    scan([proxy(40003), row(`${POD}:40004`, '203.0.113.10:443')]);
    expect(facts()).toEqual([FOUND]);
  });

  test('of the proxy of a service mesh to another host is a finding', () => {
    scan([row(`${POD}:40000`, '198.51.100.1:443', { uid: 1337 })]);
    expect(facts()).toEqual([['198.51.100.1', null, 'unknown', undefined]]);
  });

  test('keeps its lane as long as it is a finding', () => {
    scan([row(`${POD}:40000`, '203.0.113.10:443')]);
    expect(facts()).toEqual([FOUND]);
    const nowMs = 86_400_000;
    expect(census.facts(AT, nowMs).unseenEgress).toMatchObject([
      { name: 'api.openai.com', lanes: ['openai'] },
    ]);
  });
});

test('known hosts are the declared ones, those of the product, and vendors', () => {
  const declared = { exact: new Set(['api.openai.com']), domains: ['.corp'], unresolved: ['spec.model'] };
  const { expected, others, ...rest } = knownHostsOf(declared, ['Platform.Example', '10.0.0.53'], []);
  expect([...expected]).toEqual(['api.openai.com', 'platform.example', '10.0.0.53']);
  expect([...others]).toContain('api.anthropic.com');
  expect([...others]).not.toContain('api.openai.com');
  expect([...others]).not.toContain('localhost');
  expect(rest).toEqual({ domains: ['.corp'], isPartial: true, lanes: [] });
});

test('name servers are read from resolv.conf', () => {
  const text =
    'search a.svc\nnameserver 10.96.0.10\n# nameserver 1.1.1.1\n  nameserver fe80::1%eth0\noptions ndots:5\n';
  expect(nameserversIn(text)).toEqual(['10.96.0.10', 'fe80::1%eth0']);
});

describe('the list of findings', () => {
  const address = (index: number) => parseIp(`198.51.${index >> 8}.${index & 255}`)!;
  const undeclared = () => ({ state: 'undeclared', name: null }) as const;
  const at = (seconds: number) => new Date(AT.getTime() + seconds * 1000);

  test('omits an address until the names were resolved after its first connection', () => {
    const targets = new UnseenTargets();
    targets.record(address(1), 443, { at: at(1), isOfAgent: true });
    expect([targets.isPending, targets.list(at(1), undeclared)]).toEqual([true, []]);
    expect(targets.settle(at(0), undeclared)).toBe(false);
    expect(targets.isPending).toBe(true);
    targets.settle(at(1), undeclared);
    targets.record(address(1), 443, { at: at(9), isOfAgent: true });
    expect(targets.isPending).toBe(false);
    expect(targets.list(at(9), undeclared)).toEqual([
      {
        ...{ address: '198.51.0.1', port: 443, name: null, verdict: 'undeclared', count: 2 },
        ...{ firstSeen: '2026-11-23T12:00:01.000Z', lastSeen: '2026-11-23T12:00:09.000Z' },
      },
    ]);
  });

  test('needs the names again after half an hour, if the connections continue', () => {
    const targets = new UnseenTargets();
    targets.record(address(1), 443, { at: at(0), isOfAgent: true });
    targets.settle(at(0), undeclared);
    targets.record(address(1), 443, { at: at(1800), isOfAgent: true });
    expect(targets.isPending).toBe(false);
    targets.record(address(1), 443, { at: at(1801), isOfAgent: true });
    expect([targets.isPending, targets.list(at(1801), undeclared)]).toEqual([true, [expect.anything()]]);
    targets.settle(at(1801), undeclared);
    expect(targets.isPending).toBe(false);
  });

  test('loses addresses that the names explain', () => {
    const targets = new UnseenTargets();
    targets.record(address(1), 443, { at: at(0), isOfAgent: true });
    expect(targets.settle(at(0), () => ({ state: 'expected', name: null }))).toBe(true);
    expect(targets.list(at(0), undeclared)).toEqual([]);
  });

  test('has at most 200 addresses, those that were seen last', () => {
    const targets = new UnseenTargets();
    for (let index = 0; index < 200; index++)
      targets.record(address(index), 443, { at: at(0), isOfAgent: true });
    targets.record(address(0), 443, { at: at(1), isOfAgent: true });
    targets.record(address(500), 443, { at: at(1), isOfAgent: true });
    targets.settle(at(1), undeclared);
    const listed = targets.list(at(1), undeclared).map((each) => each.address);
    expect([listed.length, targets.dropped]).toEqual([188, 13]);
    expect(listed.slice(0, 2)).toEqual(['198.51.1.244', '198.51.0.0']);
    expect(listed).toContain('198.51.0.14');
    expect(listed).not.toContain('198.51.0.13');
  });

  test('forgets an address after a day', () => {
    const targets = new UnseenTargets();
    targets.record(address(1), 443, { at: at(0), isOfAgent: true });
    targets.settle(at(0), undeclared);
    expect(targets.list(at(86_400), undeclared)).toHaveLength(1);
    expect(targets.list(at(86_401), undeclared)).toHaveLength(0);
  });
});

describe('the budget of scans', () => {
  test('is 0.8 % of a core in the long run', () => {
    const budget = new ScanBudget(0);
    let spentMs = 0;
    for (let nowMs = 0; nowMs <= 600_000; nowMs += 50) {
      if (!budget.allows(nowMs)) continue;
      budget.spend(8);
      spentMs += 8;
    }
    expect(spentMs).toBeGreaterThan(600_000 * 0.0077);
    expect(spentMs).toBeLessThan(600_000 * 0.0083);
  });

  test('allows a scan some minutes after one during which the process was stopped', () => {
    const budget = new ScanBudget(0);
    budget.spend(3_600_000);
    expect([budget.allows(60_000), budget.allows(660_000)]).toEqual([false, true]);
  });

  test('allows a burst after a quiet time', () => {
    const budget = new ScanBudget(0);
    for (let index = 0; index < 50; index++) {
      expect(budget.allows(1_000_000)).toBe(true);
      budget.spend(3);
    }
    expect(budget.allows(1_000_000)).toBe(false);
    expect(budget.allows(1_000_001)).toBe(true);
  });
});
