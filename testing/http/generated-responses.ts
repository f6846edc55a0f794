/** A generated response as an agent would send it. */
export interface GeneratedResponse {
  /** Method of the request. */
  method: 'GET' | 'HEAD';
  /** Bytes as latin1, one character per byte. The agent closes the connection after them. */
  wire: string;
}

export type Dice = () => number;

export const pick = <T>(dice: Dice, list: readonly T[]): T => list[Math.floor(dice() * list.length)]!;
export const chance = (dice: Dice, share: number): boolean => dice() < share;
export const upTo = (dice: Dice, max: number): number => Math.floor(dice() * (max + 1));

/** Trailers that some clients merge into the headers. */
const TRAILERS = ['Content-Length: 5', 'Transfer-Encoding: gzip', 'Connection: close', 'X-Sum: 1'];
const NAMES = [
  'Date',
  'X-A',
  'x-a',
  'Set-Cookie',
  'Content-Type',
  'ETag',
  "!#$%&'*+-.^_`|~09",
  'constructor',
];
const VALUES = [
  '',
  'a',
  'a b',
  'text/event-stream',
  '\xe4\xff',
  'x'.repeat(60),
  '"quoted, list"',
  'a\tb',
  '0',
];
const BLANKS = ['', ' ', ' ', ' ', '\t', '  \t '];
const CONNECTIONS = [
  'close',
  'keep-alive',
  'Keep-Alive',
  'X-A',
  'x-a, close',
  'keep-alive, Upgrade',
  'closed',
  ',',
];
const REASONS = ['OK', '', 'Not Found', 'a  b', ' padded ', '\xe4', 'OK OK OK OK OK'];
const STATUSES = [200, 200, 200, 200, 201, 204, 205, 206, 301, 304, 404, 500, 599, 600, 999];
const INFORMATION = [100, 102, 103, 103, 199];
const EXTENSIONS = ['', '', '', '', ';a', ';a=b', ';a="b c"', ';a;b=c', ';a="\\""'];

/** Texts that parsers are known to read differently. */
export const TOKENS: readonly string[] = [
  ...[
    '\r\n',
    '\n',
    '\r',
    '\0',
    ' ',
    '\t',
    '\x0b',
    '\x0c',
    '\x7f',
    '\x80',
    '\x85',
    '\xa0',
    '\xff',
    ':',
    ';',
    ',',
    '"',
  ],
  ...[
    '+',
    '-',
    '0',
    '5',
    'f',
    '0x',
    'g',
    'chunked',
    'identity',
    'gzip',
    'HTTP/1.0',
    'HTTP/1.1',
    'HTTP/2.0',
    '\r\n\r\n',
  ],
  ...[
    '0\r\n\r\n',
    '5\r\nhello\r\n',
    '\r\n ',
    '\r\n\t',
    ' HTTP/1.1 200 OK\r\n',
    '18446744073709551616',
    '9007199254740993',
  ],
  ...[
    'Content-Length: 5\r\n',
    'Content-Length: 0\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: close\r\n',
  ],
  ...[
    'Transfer-Encoding: gzip, chunked\r\n',
    'Transfer-Encoding: identity\r\n',
    'Connection: keep-alive\r\n',
    'X: 1\r\n',
  ],
  ...[
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 101 X\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  ],
];

export function fieldsOf(dice: Dice, max: number): string {
  let text = '';
  for (let i = upTo(dice, max); i > 0; i -= 1)
    text += `${pick(dice, NAMES)}:${pick(dice, BLANKS)}${pick(dice, VALUES)}${pick(dice, BLANKS)}\r\n`;
  return text;
}

export function bodyOf(dice: Dice): string {
  const length = pick(dice, [0, 1, 5, 17, 60, 200]);
  let body = '';
  while (body.length < length)
    body += chance(dice, 0.2) ? '\r\n0\r\n\r\n' : String.fromCharCode(upTo(dice, 255));
  return body;
}

export function chunked(dice: Dice, body: string): string {
  let text = '';
  for (let at = 0; at < body.length;) {
    const size = 1 + upTo(dice, Math.min(40, body.length - at - 1));
    const digits = size.toString(16);
    const written = chance(dice, 0.2) ? `00${digits.toUpperCase()}` : digits;
    text += `${written}${pick(dice, EXTENSIONS)}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}0${pick(dice, EXTENSIONS)}\r\n${chance(dice, 0.3) ? fieldsOf(dice, 3) : ''}${chance(dice, 0.05) ? `${pick(dice, TRAILERS)}\r\n` : ''}\r\n`;
}

/** Header lines in random order. */
export function shuffled(dice: Dice, lines: readonly string[]): string {
  return lines
    .map((line) => ({ line, at: dice() }))
    .sort((a, b) => a.at - b.at)
    .map(({ line }) => line)
    .join('');
}

/** Changes a few bytes of a valid message. `tokens`: texts that are inserted. */
export function mutated(dice: Dice, valid: string, tokens: readonly string[] = TOKENS): string {
  let wire = valid;
  for (let i = upTo(dice, 2); i >= 0; i -= 1) {
    // Most decisions of a parser depend on the head.
    const end = chance(dice, 0.7) ? wire.indexOf('\r\n\r\n') + 4 : wire.length;
    const at = upTo(dice, end);
    const kind = dice();
    if (kind < 0.45) wire = wire.slice(0, at) + pick(dice, tokens) + wire.slice(at);
    else if (kind < 0.6) wire = wire.slice(0, at) + String.fromCharCode(upTo(dice, 255)) + wire.slice(at + 1);
    else if (kind < 0.75) wire = wire.slice(0, at) + wire.slice(at + 1 + upTo(dice, 5));
    else if (kind < 0.85) wire = wire.slice(0, at);
    else {
      const lines = wire.split(/(?<=\n)/);
      const line = pick(dice, lines);
      lines.splice(upTo(dice, lines.length), 0, line);
      wire = lines.join('');
    }
  }
  return wire;
}

/** A random response: half of them are valid, the others are valid ones with a few changed bytes. */
export function generatedResponse(dice: Dice): GeneratedResponse {
  let wire = '';
  while (chance(dice, 0.1)) wire += `HTTP/1.1 ${pick(dice, INFORMATION)} X\r\n${fieldsOf(dice, 2)}\r\n`;
  const version = chance(dice, 0.85) ? '1.1' : pick(dice, ['1.0', '1.0', '0.9', '2.0']);
  wire += `HTTP/${version} ${pick(dice, STATUSES)}${chance(dice, 0.95) ? ` ${pick(dice, REASONS)}` : ''}\r\n`;
  const body = bodyOf(dice);
  const lines = [fieldsOf(dice, 4)];
  if (chance(dice, 0.3)) lines.push(`Connection:${pick(dice, BLANKS)}${pick(dice, CONNECTIONS)}\r\n`);
  if (chance(dice, 0.2)) lines.push(`Keep-Alive: timeout=${upTo(dice, 9)}\r\n`);
  const framing = dice();
  let bytes = body;
  if (framing < 0.45) lines.push(`Content-Length:${pick(dice, BLANKS)}${body.length}\r\n`);
  else if (framing < 0.85) {
    const coding = pick(dice, [
      'chunked',
      'chunked',
      'chunked',
      'Chunked',
      'CHUNKED',
      'chunked ',
      'chunked\t',
    ]);
    lines.push(`${pick(dice, ['Transfer-Encoding', 'transfer-encoding'])}: ${coding}\r\n`);
    bytes = chunked(dice, body);
  }
  wire += `${shuffled(dice, lines)}\r\n`;
  const method = chance(dice, 0.9) ? 'GET' : 'HEAD';
  if (method === 'GET' || chance(dice, 0.1)) wire += bytes;
  return { method, wire: chance(dice, 0.5) ? wire : mutated(dice, wire) };
}

/** Cuts bytes into random pieces, or into single bytes. */
export function piecesOf(dice: Dice, wire: string, isByteByByte: boolean): Buffer[] {
  const bytes = Buffer.from(wire, 'latin1');
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = isByteByByte ? 1 : 1 + upTo(dice, Math.max(1, bytes.length >> 1));
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
