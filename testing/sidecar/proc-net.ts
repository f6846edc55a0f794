import { parseIp } from '../../core/census/address.ts';

/** A socket of a table. Addresses are `host:port`, with brackets for IPv6. */
export interface FixtureRow {
  local: string;
  remote: string;
  /** A value of `STATES`. */
  state: number;
  uid: number;
  inode: number;
}

/** The text of `/proc/net/tcp` or `tcp6` (Documentation/networking/proc_net_tcp.rst), for this machine's byte order. */
export function tableOf(rows: readonly FixtureRow[]): string {
  const header =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
  return [header.padEnd(149), ...rows.map(lineOf)].map((line) => `${line}\n`).join('');
}

/** The text of `/proc/net/snmp`, with this number of opened connections. */
export function countersOf(activeOpens: number): string {
  return [
    'Ip: Forwarding DefaultTTL InReceives',
    'Ip: 1 64 3009',
    'Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab',
    `Tcp: 1 200 120000 -1 ${activeOpens} 12 0 0 3`,
    'Udp: InDatagrams NoPorts InErrors OutDatagrams',
    'Udp: 1 0 0 1',
    '',
  ].join('\n');
}

function lineOf({ local, remote, state, uid, inode }: FixtureRow, index: number): string {
  const fields = [
    `${String(index).padStart(4)}:`,
    ...[hexOf(local), hexOf(remote), hex(state, 2), '00000000:00000000', '00:00000000', '00000000'],
    ...[String(uid).padStart(5), '0'.padStart(8), inode, 1, '0000000000000000', 20, 4, 30, 10, -1],
  ];
  return fields.join(' ').padEnd(149);
}

function hexOf(text: string): string {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
  const address = parseIp(host);
  if (address === null) throw new Error(`${text} is not an address and port`);
  // A socket for both protocols has IPv4 addresses in IPv6 notation.
  const words = host.includes(':') ? address.words : [address.words[3]];
  return `${words.map((word) => hex(machineOrder(word), 8)).join('')}:${hex(Number(port), 4)}`;
}

/** The number that a machine has in memory for these four bytes. */
function machineOrder(word: number): number {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, word);
  return new Uint32Array(bytes.buffer)[0] ?? 0;
}

const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0');
