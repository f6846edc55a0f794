const [LINE_FEED, SPACE] = [0x0a, 0x20];
const TCP = bytesOf('Tcp: ');
const ACTIVE_OPENS = 'ActiveOpens';

/**
 * `ActiveOpens` of `/proc/net/snmp`: the connections that were attempted in this network namespace since its creation.
 * null: the file has another format. Creates no text of the whole file, because the counters are read 20 times per second.
 */
export function activeOpensOf(buffer: Uint8Array, length: number): number | null {
  const names = lineFrom(buffer, 0, length);
  const values = names === null ? null : lineFrom(buffer, names.end, length);
  if (names === null || values === null) return null;
  const column = columnOf(buffer, names);
  return column < 0 ? null : numberAt(buffer, values, column);
}

interface Line {
  /** First byte after `Tcp: `. */
  start: number;
  end: number;
}

/** The next line that begins with `Tcp: `. */
function lineFrom(buffer: Uint8Array, from: number, length: number): Line | null {
  let start = from;
  while (start < length) {
    const found = buffer.indexOf(LINE_FEED, start);
    const end = found < 0 || found > length ? length : found;
    if (beginsWith(buffer, start, TCP)) return { start: start + TCP.length, end };
    start = end + 1;
  }
  return null;
}

function beginsWith(buffer: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) if (buffer[at + index] !== bytes[index]) return false;
  return true;
}

const NAME = bytesOf(ACTIVE_OPENS);

function columnOf(buffer: Uint8Array, { start, end }: Line): number {
  let column = 0;
  for (let at = start; at < end; at++) {
    const after = buffer[at + NAME.length];
    if (beginsWith(buffer, at, NAME) && (after === SPACE || after === LINE_FEED)) return column;
    while (at < end && buffer[at] !== SPACE) at += 1;
    column += 1;
  }
  return -1;
}

function numberAt(buffer: Uint8Array, { start, end }: Line, column: number): number | null {
  let at = start;
  for (let skipped = 0; skipped < column; skipped++) at = buffer.indexOf(SPACE, at) + 1;
  let value = 0;
  let digits = 0;
  for (; at < end && buffer[at] !== SPACE; at++, digits++) {
    const code = buffer[at] ?? 0;
    if (code < 0x30 || code > 0x39) return null;
    value = value * 10 + code - 0x30;
  }
  return digits === 0 ? null : value;
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
