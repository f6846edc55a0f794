import { describe, expect, test } from '@jest/globals';
import { countersOf, tableOf, type FixtureRow } from '../../testing/sidecar/proc-net.ts';
import { addressText, isLoopback, isUnspecified, neighbourhoodOf, parseIp } from './address.ts';
import { emptyRow, readSocketTable, STATES } from './socket-table.ts';
import { ActiveOpens, activeOpensOf } from './tcp-counters.ts';

/** All rows of a text, in parts of `size` bytes as a reader would pass them. */
function rowsIn(text: string, size = Infinity): string[] {
  const found: string[] = [];
  let rest = Buffer.alloc(0);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    const part = Buffer.concat([rest, bytes.subarray(at, at + size)]);
    const used = readSocketTable(part, part.length, emptyRow(), (row) => {
      found.push(
        `${row.localPort} > ${addressText(row.remote)} ${row.remotePort} ${row.state} ${row.uid} ${row.inode}`,
      );
    });
    rest = Buffer.from(part.subarray(used));
  }
  return found;
}

/** As Linux 6.18 wrote it. */
const RECORDED_TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     
   0: 0100007F:526B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4582118 2 00000000958c9e0f 100 0 0 10 0                   
   1: 0A00020A:C350 07020000C0:01BB 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 20 4 30 10 -1
   2: 0A02000A:C350 070200C0:01BB 01 00000000:00000000 02:000003E8 00000000  1000        0 4582119 2 0000000037e5ca30 20 4 30 10 -1                 
`;
const RECORDED_TCP6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:A72F 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4593326 1 00000000a6344244 100 0 0 10 0
   1: 0000000000000000FFFF00000100007F:499A 0000000000000000FFFF00000100007F:E124 06 00000000:00000000 03:00000700 00000000     0        0 0 3 00000000ea343ccd
`;

describe('a table of sockets', () => {
  test('is read as the kernel wrote it', () => {
    expect(rowsIn(RECORDED_TCP)).toEqual([
      '21099 > 0.0.0.0 0 10 0 4582118',
      '50000 > 192.0.2.7 443 1 1000 4582119',
    ]);
    expect(rowsIn(RECORDED_TCP6)).toEqual(['42799 > :: 0 10 0 4593326', '18842 > 127.0.0.1 57636 6 0 0']);
  });

  const ROWS: FixtureRow[] = [
    {
      local: '10.0.2.10:40000',
      remote: '198.51.100.200:8443',
      state: STATES.synSent,
      uid: 4_294_967_294,
      inode: 1,
    },
    { local: '10.0.2.10:1', remote: '255.255.255.255:65535', state: STATES.timeWait, uid: 0, inode: 0 },
    ...Array.from({ length: 100 }, (_, index): FixtureRow => ({
      ...{ local: `10.0.2.10:${index + 2}`, remote: `192.0.2.${index}:443` },
      ...{ state: STATES.established, uid: 70_000, inode: 10 ** 9 + index },
    })),
  ];

  test.each([1, 7, 149, 150, 4096])('is the same in parts of %s bytes', (size) => {
    const text = tableOf(ROWS);
    expect(rowsIn(text, size)).toEqual(rowsIn(text));
    expect(rowsIn(text)).toHaveLength(ROWS.length);
    expect(rowsIn(text)[0]).toBe('40000 > 198.51.100.200 8443 2 4294967294 1');
  });

  test('has IPv6 addresses, and IPv4 addresses in IPv6 notation', () => {
    const rows: FixtureRow[] = [
      { local: '[2001:db8::a]:50000', remote: '[2001:db8:0:1::ff]:443', state: 1, uid: 1, inode: 1 },
      { local: '[::ffff:10.0.0.1]:50001', remote: '[::ffff:192.0.2.1]:443', state: 1, uid: 1, inode: 1 },
    ];
    expect(rowsIn(tableOf(rows))).toEqual([
      '50000 > 2001:db8:0:1::ff 443 1 1 1',
      '50001 > 192.0.2.1 443 1 1 1',
    ]);
  });

  test.each([
    '',
    '\n\n',
    'no table\n',
    '   0: 0100007F:526B\n',
    '   0: 0100007F:526B 0100007F:1F90 01\n',
    '   0: 0100007f:526B 0100007F:1F90 0x 00000000:00000000 00:00000000 00000000 0 0 1\n',
    '   0: 0100007F:526B 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 x 0 1\n',
    `${'9'.repeat(70_000)}\n`,
  ])('without a valid line has no rows: %#', (text) => {
    expect(rowsIn(text)).toEqual([]);
  });
});

describe('the counter of opened connections', () => {
  const read = (text: string) => activeOpensOf(Buffer.from(text), Buffer.byteLength(text));
  const names = 'Ip: A\nIp: 1\nTcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens\n';

  test.each<[string, number | null]>([
    [`${names}Tcp: 1 200 120000 -1 1261753 1190879\nUdp: A\nUdp: 1\n`, 1_261_753],
    [`${names}Tcp: 1 200 120000 -1 0 5\n`, 0],
    [`${names}Udp: 1 200 120000 -1 0 5\n`, null],
    [`${names}Tcp: 1 2\n`, null],
    [`${names}Tcp: 1 2 3 4 -5 6\n`, null],
    ['\nTcpExt: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens\nTcpExt: 1 2 3 4 5 6\n', null],
    ['\nTcp: ActiveOpens PassiveOpens\nTcp: 7 8\n', null],
    [names, null],
    ['', null],
  ])('of %j is %j', (text, expected) => {
    expect(read(text)).toBe(expected);
  });
});

describe('an address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6'],
    ['fe80::1%eth0', 'fe80::1'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['1:0:0:2::', '1:0:0:2::'],
  ])('%s is written as %s', (text, expected) => {
    expect(addressText(parseIp(text)!)).toBe(expected);
  });

  test.each([
    '',
    '1.2.3',
    '1.2.3.256',
    '::1::',
    ':1',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    'g::',
    'example.com',
    '::1.2.3.4:5',
  ])('%s is not an address', (text) => {
    expect(parseIp(text)).toBeNull();
  });

  test.each([
    ['127.0.0.1', true, false],
    ['127.9.9.9', true, false],
    ['::1', true, false],
    ['::ffff:127.0.0.1', true, false],
    ['128.0.0.1', false, false],
    ['0.0.0.0', false, true],
    ['::', false, true],
    ['::2', false, false],
  ])('%s: loopback %s, unspecified %s', (text, loopback, unspecified) => {
    expect([isLoopback(parseIp(text)!), isUnspecified(parseIp(text)!)]).toEqual([loopback, unspecified]);
  });

  test('has a neighbourhood of /24 or /48', () => {
    const of = (text: string) => neighbourhoodOf(parseIp(text)!);
    expect(of('192.0.2.1')).toBe(of('::ffff:192.0.2.254'));
    expect(of('192.0.2.1')).not.toBe(of('192.0.3.1'));
    expect(of('2001:db8:1::1')).toBe(of('2001:db8:1:ffff::2'));
    expect(of('2001:db8:1::1')).not.toBe(of('2001:db8:2::1'));
  });
});

test('the counter is the same when it is read again and again, whatever changes in the file', () => {
  const opens = new ActiveOpens();
  const files = [
    ...[5, 5, 9, 10, 99, 100].map((count) => countersOf(count)),
    countersOf(100).replace('3009', '30099'),
    countersOf(200).replace('3009', '30099'),
    countersOf(12),
    countersOf(12).replace('3009', '30'),
    'something else',
    countersOf(12),
  ];
  for (const file of files) {
    const buffer = Buffer.from(file.padEnd(1000, '\0'));
    expect(opens.of(buffer, file.length)).toBe(activeOpensOf(buffer, file.length));
  }
});
