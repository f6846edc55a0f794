import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TABLES, UDP_TABLES, type TableName } from '../../core/census/socket-census.ts';
import { emptyRow, readSocketTable, STATES } from '../../core/census/socket-table.ts';
import { activeOpensOf } from '../../core/census/tcp-counters.ts';
import { countersOf, tableOf, type FixtureRow } from '../../testing/sidecar/proc-net.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import { sharedNamespaceReason } from './network-namespace.ts';
import { OwnConnections } from './own-connections.ts';
import { ProcFiles } from './proc-files.ts';

let root: string;
let files: ProcFiles;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'census-'));
  await mkdir(join(root, 'net'));
  await mkdir(join(root, 'fd'));
  files = new ProcFiles(root);
});
afterEach(async () => {
  files.close();
  await rm(root, { recursive: true });
});

const write = (name: string, text: string) => writeFile(join(root, 'net', name), text);
const rowsOf = (count: number): FixtureRow[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ local: `10.0.0.1:${(index % 60_000) + 1}`, remote: `192.0.2.1:${index % 60_000}` },
    ...{ state: STATES.established, uid: 1, inode: index },
  }));

/** Rows by table, and the sum of their inodes. */
function counter() {
  const counts: Partial<Record<TableName, number>> = {};
  let inodes = 0;
  const take = (table: TableName, buffer: Buffer, length: number): number =>
    readSocketTable(buffer, length, emptyRow(), ({ inode }) => {
      counts[table] = (counts[table] ?? 0) + 1;
      inodes += inode;
    });
  return { take, result: () => ({ counts, inodes }) };
}

describe('the files of a network namespace', () => {
  test('have the counters, read again each time', async () => {
    await write('snmp', countersOf(41));
    const read = () => {
      files.readCounters();
      return activeOpensOf(files.counters.bytes, files.counters.length);
    };
    expect(read()).toBe(41);
    await write('snmp', countersOf(42));
    expect(read()).toBe(42);
  });

  test.each<[what: string, next: string, isChange: boolean]>([
    ['the same bytes', 'Udp: 12 3\n', false],
    ['another first byte', 'udp: 12 3\n', true],
    ['another last number', 'Udp: 12 4\n', true],
    ['fewer bytes', 'Udp: 12\n', true],
    ['more bytes', 'Udp: 12 30\n', true],
  ])('have counters that show a change: %s', async (_what, next, isChange) => {
    await write('snmp', 'Udp: 12 3\n');
    expect(files.readCounters()).toBe(true);
    expect(files.readCounters()).toBe(false);
    await write('snmp', next);
    expect(files.readCounters()).toBe(isChange);
    expect(files.readCounters()).toBe(false);
    expect(files.counters.bytes.toString('latin1', 0, files.counters.length)).toBe(next);
  });

  test('have tables of any size, read here or in a thread', async () => {
    await write('tcp', tableOf(rowsOf(2_000)));
    await write('udp', tableOf(rowsOf(1)));
    const [here, thread, again] = [counter(), counter(), counter()];
    files.readTables(TABLES, here.take);
    await files.readTablesInThread(TABLES, thread.take);
    await files.readTablesInThread(TABLES, again.take);
    expect(here.result()).toEqual({ counts: { tcp: 2_000, udp: 1 }, inodes: (1_999 * 2_000) / 2 });
    expect(thread.result()).toEqual(here.result());
    expect(again.result()).toEqual(here.result());
  });

  test('may be read in part', async () => {
    await write('tcp', tableOf(rowsOf(3)));
    await write('udp', tableOf(rowsOf(2)));
    const [here, thread] = [counter(), counter()];
    files.readTables(UDP_TABLES, here.take);
    await files.readTablesInThread(UDP_TABLES, thread.take);
    expect([here.result().counts, thread.result().counts]).toEqual([{ udp: 2 }, { udp: 2 }]);
  });

  test('may be cut in the middle of a line', async () => {
    await write('tcp', tableOf(rowsOf(2)).slice(0, -10));
    const [here, thread] = [counter(), counter()];
    files.readTables(TABLES, here.take);
    await files.readTablesInThread(TABLES, thread.take);
    expect([here.result().counts, thread.result().counts]).toEqual([{ tcp: 1 }, { tcp: 1 }]);
  });

  test('may be missing', async () => {
    const read = counter();
    files.readTables(TABLES, read.take);
    await files.readTablesInThread(TABLES, read.take);
    expect(read.result().counts).toEqual({});
    expect(() => files.readCounters()).toThrow('ENOENT');
  });

  test('are read again in a new thread after the thread has ended', async () => {
    await write('tcp', tableOf(rowsOf(3)));
    const read = counter();
    const ended = files.readTablesInThread(TABLES, read.take);
    files.endThread();
    await expect(ended).rejects.toThrow('the thread that reads the socket tables ended');
    await files.readTablesInThread(TABLES, read.take);
    expect(read.result().counts).toEqual({ tcp: 3 });
  });

  test('have the sockets of the process and the names of interfaces', async () => {
    await symlink('socket:[17]', join(root, 'fd', '3'));
    await symlink('socket:[18]', join(root, 'fd', '4'));
    await symlink('/dev/null', join(root, 'fd', '5'));
    await write('dev', 'Inter-| Receive\n face |bytes\n    lo: 1 2\n  eth0:30 4\n');
    expect([...files.ownInodes()].toSorted()).toEqual([17, 18]);
    expect(files.interfaces()).toEqual(['lo', 'eth0']);
  });
});

describe('a shared network namespace', () => {
  const notThere = '/nonexistent';
  test.each([
    ['a pod', ['lo', 'eth0'], null],
    [
      'a pod with tunnels of the kernel and a second network',
      ['lo', 'tunl0', 'sit0', 'ip6tnl0', 'eth0', 'net1'],
      null,
    ],
    ['a node with a bridge', ['lo', 'eth0', 'cni0'], 'cni0'],
    ['a node with pods', ['lo', 'eth0', 'veth1f2e'], 'veth1f2e'],
    ['a node of kind', ['lo', 'eth0', 'veth0a'], 'veth0a'],
    ['a node of AWS', ['lo', 'eth0', 'eni0123456789a'], 'eni0123456789a'],
    ['a machine with Docker', ['lo', 'wlan0', 'docker0'], 'docker0'],
  ])('is recognised in %s', (_what, interfaces, found) => {
    const reason =
      found === null ? null : `the network namespace is that of a node: it has the interface ${found}`;
    expect(sharedNamespaceReason(interfaces, notThere)).toBe(reason);
  });

  test('is recognised by a setting that only the machine has', async () => {
    await write('dev', '');
    expect(sharedNamespaceReason(['lo'], join(root, 'net', 'dev'))).toContain('that of the machine');
  });
});

const hasTables = existsSync('/proc/self/net/tcp');

describe('the connections of this process', () => {
  const servers = new TestServers();
  let own: OwnConnections;
  let nowMs = 0;
  const looked: string[] = [];
  const ownPorts: number[] = [];

  beforeEach(() => {
    nowMs = 0;
    own = new OwnConnections({
      inodes: () => new ProcFiles().ownInodes(),
      ownPorts,
      isOwnAddress: (address) => address === '127.0.0.1' || address === '::ffff:127.0.0.1',
      onLookup: (host, address) => looked.push(`${host} ${address}`),
      nowMs: () => nowMs,
    });
  });
  afterEach(async () => {
    own.close();
    await servers.close();
  });

  test('are counted and known until some time after their end', async () => {
    const port = await servers.tcp((socket) => socket.resume());
    const before = { attempts: own.attempts, accepts: own.accepts };
    const socket = connect(port, 'localhost');
    await once(socket, 'connect');
    const local = socket.localPort ?? 0;
    expect(looked).toContain('localhost 127.0.0.1');
    expect(own.attempts - before.attempts).toBeGreaterThanOrEqual(1);
    const address = socket.remoteAddress ?? '';
    const has = (remotePort: number, to = address): boolean => own.has(local, remotePort, () => to);
    expect([has(port), has(port + 1), has(port, '192.0.2.1')]).toEqual([true, false, false]);
    socket.destroy();
    await once(socket, 'close');
    nowMs = 69_999;
    expect(has(port)).toBe(true);
    nowMs = 70_000;
    expect(has(port)).toBe(false);
  });

  test('are counted when the process accepts them on its own ports', async () => {
    let port = 0;
    const accepted = new Promise<void>((resolve) => {
      void servers
        .tcp(() => resolve())
        .then((listening) => {
          port = listening;
          ownPorts.push(port);
          connect(port, '127.0.0.1').on('error', () => undefined);
        });
    });
    await accepted;
    expect(own.accepts).toBe(1);
  });

  test('that fail are attempts, and the errors stay those of their owner', async () => {
    const port = await servers.closedPort();
    const before = own.attempts;
    const socket = connect(port, '127.0.0.1');
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    expect(own.attempts).toBe(before + 1);
    expect(socket.listenerCount('error')).toBe(0);
  });

  test('that the kernel rejects are no attempts', async () => {
    const before = own.attempts;
    // The broadcast address is not valid for TCP.
    const socket = connect(9, '255.255.255.255');
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(own.attempts - before).toBe(error.code === 'ENETUNREACH' ? 0 : 1);
  });

  (hasTables ? test : test.skip)(
    'are in the tables of the kernel with a descriptor of this process',
    async () => {
      const port = await servers.tcp((socket) => socket.resume());
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      const local = socket.localPort;
      const found: number[] = [];
      new ProcFiles().readTables(TABLES, (table, buffer, length) =>
        readSocketTable(buffer, length, emptyRow(), (row) => {
          if (table === 'tcp' && row.localPort === local && row.remotePort === port) found.push(row.inode);
        }),
      );
      own.renew();
      expect(found).toHaveLength(1);
      expect([own.hasInode(found[0] ?? 0), own.hasInode(1)]).toEqual([true, false]);
      socket.destroy();
    },
  );
});
