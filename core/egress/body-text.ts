export type Encoding = 'utf8' | 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';

/** How JSON in each encoding begins, with and without a byte order mark: its first two characters are ASCII (RFC 4627). */
const STARTS: readonly [
  Encoding,
  (first: number, second: number, third: number, fourth: number) => boolean,
][] = [
  ['utf-32be', (a, b, c) => a === 0 && b === 0 && (c === 0 || c === 0xfe)],
  ['utf-32le', (a, b, c, d) => (b === 0 || (a === 0xff && b === 0xfe)) && c === 0 && d === 0],
  ['utf-16be', (a, b) => a === 0 || (a === 0xfe && b === 0xff)],
  ['utf-16le', (a, b) => b === 0 || (a === 0xff && b === 0xfe)],
];

function encodingOf(bytes: Uint8Array): Encoding {
  const [a = 1, b = 1, c = 1, d = 1] = bytes;
  return STARTS.find(([, isStart]) => isStart(a, b, c, d))?.[0] ?? 'utf8';
}

export interface BodyText {
  /** Without byte order marks and blanks around it. */
  text: string;
  encoding: Encoding;
}

/** The text of a body that may be JSON. Python's clients and servers read it in UTF-16 and UTF-32 too, whatever the header says. */
export function bodyText(bytes: Buffer): BodyText {
  const encoding = encodingOf(bytes);
  const text = decoded(bytes, encoding).trim();
  return { text, encoding };
}

/** The bytes of a text that replaces one in the encoding: what reads UTF-16 by its header must still read it. UTF-32 becomes UTF-8. */
export function encodedText(text: string, encoding: Encoding): Buffer {
  if (!encoding.startsWith('utf-16')) return Buffer.from(text);
  const bytes = Buffer.from(text, 'utf16le');
  return encoding === 'utf-16be' ? bytes.swap16() : bytes;
}

function decoded(bytes: Buffer, encoding: Encoding): string {
  if (encoding === 'utf8') return bytes.toString('utf8');
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return new TextDecoder(encoding).decode(bytes);
  return fromUtf32(bytes, encoding === 'utf-32le');
}

/** Node.js has no decoder of UTF-32. */
function fromUtf32(bytes: Buffer, isLittle: boolean): string {
  const units = Buffer.alloc(bytes.length);
  let used = 0;
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const point = isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    used += units.write(String.fromCodePoint(Math.min(point, 0x10ffff)), used, 'utf16le');
  }
  return units.toString('utf16le', 0, used);
}
