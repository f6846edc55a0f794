/** One socket of the network namespace, as `/proc/net/{tcp,tcp6,udp,udp6}` lists it. The object is reused for every row. */
export interface SocketRow {
  localPort: number;
  remotePort: number;
  /** A value of `STATES`. */
  state: number;
  uid: number;
  /** 0: the socket has no file descriptor any more, and its `uid` may be 0 for that reason. */
  inode: number;
  /** The remote address. IPv4 addresses in IPv6 notation become IPv4 addresses. */
  remote: SocketAddress;
  /** Start and end of the local and the remote address in the buffer: one text per connection while it exists. */
  keyStart: number;
  keyEnd: number;
}

/** An IPv4 address in `words[3]`, or an IPv6 address, as 32-bit numbers in network order. */
export interface SocketAddress {
  family: 4 | 6;
  words: [number, number, number, number];
}

/** Numbers of the kernel (include/net/tcp_states.h). UDP sockets use `established` (connected) and `closed` only. */
export const STATES = {
  established: 0x01,
  /** The handshake is not complete: the connection was attempted. */
  synSent: 0x02,
  synReceived: 0x03,
  timeWait: 0x06,
  closed: 0x07,
  listen: 0x0a,
  newSynReceived: 0x0c,
} as const;

const [LINE_FEED, SPACE, COLON] = [0x0a, 0x20, 0x3a];
/** Between the state and the uid: `00000000:00000000 00:00000000 00000000` (queues, timer, retransmissions). */
const FIELDS_BEFORE_UID = 3;
/** Addresses are written as 32-bit numbers of the machine, although their bytes are in network order. */
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
/** Third word of an IPv4 address in IPv6 notation. */
const MAPPED = 0x0000ffff;

export function emptyRow(): SocketRow {
  const remote: SocketAddress = { family: 4, words: [0, 0, 0, 0] };
  return { localPort: 0, remotePort: 0, state: 0, uid: 0, inode: 0, remote, keyStart: 0, keyEnd: 0 };
}

/**
 * Calls `visit` with `row` for each complete line of the buffer that describes a socket, and returns the number of bytes of
 * the complete lines. The caller passes the rest again, in front of the next bytes. Lines in another format are skipped.
 * Creates no object and no text: a table can have 20,000 lines.
 */
export function readSocketTable(
  buffer: Uint8Array,
  length: number,
  row: SocketRow,
  visit: (row: SocketRow) => void,
): number {
  let start = 0;
  for (;;) {
    const end = buffer.indexOf(LINE_FEED, start);
    if (end < 0 || end >= length) return start;
    if (readLine(buffer, start, end, row)) visit(row);
    start = end + 1;
  }
}

/** false: the header, or not a line of a socket table. */
function readLine(buffer: Uint8Array, start: number, end: number, row: SocketRow): boolean {
  // The number of the line has no fixed width.
  const colon = buffer.indexOf(COLON, start);
  if (colon < 0 || colon + 2 >= end || buffer[colon + 1] !== SPACE) return false;
  const local = colon + 2;
  const localEnd = buffer.indexOf(COLON, local);
  const digits = localEnd - local;
  if (digits !== 8 && digits !== 32) return false;
  const remote = localEnd + 6;
  const remoteEnd = remote + digits;
  const stateAt = remoteEnd + 6;
  if (stateAt + 2 >= end || buffer[remoteEnd] !== COLON) return false;
  row.localPort = hex(buffer, localEnd + 1, 4);
  row.remotePort = hex(buffer, remoteEnd + 1, 4);
  row.state = hex(buffer, stateAt, 2);
  readAddress(buffer, remote, digits, row.remote);
  row.keyStart = local;
  row.keyEnd = remoteEnd + 5;
  return readOwner(buffer, stateAt + 2, end, row);
}

/** The uid and the inode are decimal numbers without a fixed width. */
function readOwner(buffer: Uint8Array, from: number, end: number, row: SocketRow): boolean {
  let at = from;
  for (let field = 0; field < FIELDS_BEFORE_UID; field++) at = fieldEnd(buffer, blanks(buffer, at, end), end);
  const uid = blanks(buffer, at, end);
  const uidEnd = fieldEnd(buffer, uid, end);
  const timeout = blanks(buffer, uidEnd, end);
  const timeoutEnd = fieldEnd(buffer, timeout, end);
  const inode = blanks(buffer, timeoutEnd, end);
  const inodeEnd = fieldEnd(buffer, inode, end);
  if (inodeEnd === inode) return false;
  row.uid = decimal(buffer, uid, uidEnd);
  row.inode = decimal(buffer, inode, inodeEnd);
  return !Number.isNaN(row.uid + row.inode + row.localPort + row.remotePort + row.state);
}

function blanks(buffer: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && buffer[at] === SPACE) at += 1;
  return at;
}

function fieldEnd(buffer: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && buffer[at] !== SPACE) at += 1;
  return at;
}

function readAddress(buffer: Uint8Array, at: number, digits: number, address: SocketAddress): void {
  const { words } = address;
  if (digits === 8) {
    address.family = 4;
    words[3] = inNetworkOrder(hex(buffer, at, 8));
    return;
  }
  for (let index = 0; index < 4; index++) words[index] = inNetworkOrder(hex(buffer, at + 8 * index, 8));
  address.family = words[0] === 0 && words[1] === 0 && words[2] === MAPPED ? 4 : 6;
}

function inNetworkOrder(word: number): number {
  if (!IS_LITTLE_ENDIAN) return word;
  return (((word & 0xff) << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}

/** NaN: not a hexadecimal number. */
function hex(buffer: Uint8Array, at: number, digits: number): number {
  let value = 0;
  for (let index = at; index < at + digits; index++) {
    const code = buffer[index] ?? 0;
    // The kernel writes upper case.
    const digit =
      code >= 0x30 && code <= 0x39 ? code - 0x30 : code >= 0x41 && code <= 0x46 ? code - 0x37 : NaN;
    value = value * 16 + digit;
  }
  return value;
}

/** NaN: not a decimal number. */
function decimal(buffer: Uint8Array, from: number, to: number): number {
  let value = to > from ? 0 : NaN;
  for (let index = from; index < to; index++) {
    const code = buffer[index] ?? 0;
    value = value * 10 + (code >= 0x30 && code <= 0x39 ? code - 0x30 : NaN);
  }
  return value;
}
