/** The start of a TLS connection, as far as it was received. */
export type ClientHello =
  /** More bytes are needed. */
  | { kind: 'incomplete' }
  /** The connection does not begin with a TLS handshake. */
  | { kind: 'not-tls' }
  /** A TLS handshake that breaks its format or is too large. */
  | { kind: 'malformed' }
  | {
      kind: 'hello';
      /** Lower case, without a final dot; null: the message has no server name. */
      serverName: string | null;
      /** The message has an encrypted inner message, which may name another server. Browsers also send this at random. */
      hasEncryptedHello: boolean;
    };

/** Maximum bytes of the message. With keys for post-quantum cryptography it has about 1,800 bytes. */
export const MAX_HELLO_BYTES = 16 * 1024;
/** Maximum bytes to receive until the result is known: each record of the message may be small. */
export const MAX_PREFIX_BYTES = 2 * MAX_HELLO_BYTES;

const [HANDSHAKE, MAJOR_VERSION, CLIENT_HELLO] = [0x16, 0x03, 0x01];
const RECORD_HEAD = 5;
const MESSAGE_HEAD = 4;
const MAX_RECORD = 16 * 1024;
const [SERVER_NAME, ENCRYPTED_CLIENT_HELLO] = [0x0000, 0xfe0d];
const HOST_NAME = 0;

const INCOMPLETE: ClientHello = { kind: 'incomplete' };
const MALFORMED: ClientHello = { kind: 'malformed' };

/** Reads the ClientHello from the first bytes of a connection. Never throws. The message may span several records. */
export function readClientHello(bytes: Uint8Array): ClientHello {
  if (bytes.length > 0 && bytes[0] !== HANDSHAKE) return { kind: 'not-tls' };
  if (bytes.length > 1 && bytes[1] !== MAJOR_VERSION) return { kind: 'not-tls' };
  const message = messageIn(bytes);
  if (message === 'incomplete') return bytes.length > MAX_PREFIX_BYTES ? MALFORMED : INCOMPLETE;
  if (message === 'malformed') return MALFORMED;
  return helloIn(message) ?? MALFORMED;
}

/** The body of the first handshake message, joined from its records. */
function messageIn(bytes: Uint8Array): Uint8Array | 'incomplete' | 'malformed' {
  const message = new Uint8Array(MAX_HELLO_BYTES + MAX_RECORD);
  let length = 0;
  for (let at = 0; at + RECORD_HEAD <= bytes.length;) {
    const size = numberAt(bytes, at + 3, 2);
    if (bytes[at] !== HANDSHAKE || bytes[at + 1] !== MAJOR_VERSION) return 'malformed';
    if (size === 0 || size > MAX_RECORD) return 'malformed';
    const part = bytes.subarray(at + RECORD_HEAD, at + RECORD_HEAD + size);
    message.set(part, length);
    length += part.length;
    at += RECORD_HEAD + size;
    if (length > 0 && message[0] !== CLIENT_HELLO) return 'malformed';
    if (length < MESSAGE_HEAD) continue;
    const end = MESSAGE_HEAD + numberAt(message, 1, 3);
    if (end > MAX_HELLO_BYTES) return 'malformed';
    if (length >= end) return message.subarray(MESSAGE_HEAD, end);
  }
  return 'incomplete';
}

/** null: the message breaks its format. */
function helloIn(message: Uint8Array): ClientHello | null {
  const reader = new Reader(message);
  reader.skip(2 + 32);
  reader.skip(reader.number(1));
  reader.skip(reader.number(2));
  reader.skip(reader.number(1));
  let serverName: string | null = null;
  const seen = new Set<number>();
  // A message without extensions ends here.
  if (!reader.isAtEnd) {
    const extensions = reader.part(reader.number(2));
    while (!extensions.isAtEnd && !extensions.isBroken) {
      const type = extensions.number(2);
      const content = extensions.part(extensions.number(2));
      // A second server name could hide the first one.
      if (seen.has(type)) return null;
      seen.add(type);
      if (type !== SERVER_NAME) continue;
      serverName = serverNameIn(content);
      if (serverName === null) return null;
    }
    if (extensions.isBroken) return null;
  }
  if (reader.isBroken || !reader.isAtEnd) return null;
  return { kind: 'hello', serverName, hasEncryptedHello: seen.has(ENCRYPTED_CLIENT_HELLO) };
}

/** The only host name of the extension; null: the extension breaks its format. */
function serverNameIn(content: Reader): string | null {
  const list = content.part(content.number(2));
  const type = list.number(1);
  const name = list.part(list.number(2)).text();
  if (content.isBroken || list.isBroken || !content.isAtEnd || !list.isAtEnd || type !== HOST_NAME)
    return null;
  return /^[\x21-\x7e]+$/.test(name) ? name.toLowerCase().replace(/\.$/, '') : null;
}

function numberAt(bytes: Uint8Array, at: number, size: number): number {
  let value = 0;
  for (let index = at; index < at + size; index++) value = value * 256 + (bytes[index] ?? 0);
  return value;
}

/** Reads fields one after the other. After a read behind the end, `isBroken` is set and all values are empty. */
class Reader {
  isBroken = false;
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  skip(size: number): void {
    this.part(size);
  }

  number(size: number): number {
    const part = this.#take(size);
    return numberAt(part, 0, part.length);
  }

  part(size: number): Reader {
    const part = new Reader(this.#take(size));
    part.isBroken = this.isBroken;
    return part;
  }

  text(): string {
    return String.fromCharCode(...this.#bytes);
  }

  #take(size: number): Uint8Array {
    if (this.isBroken || this.#at + size > this.#bytes.length) {
      this.isBroken = true;
      return new Uint8Array();
    }
    const start = this.#at;
    this.#at += size;
    return this.#bytes.subarray(start, this.#at);
  }
}
