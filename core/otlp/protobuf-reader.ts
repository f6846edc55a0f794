import { MalformedExport, millisecondsOf } from './span.ts';

/** Wire types of protobuf that proto3 uses. */
export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
export const FIXED32 = 5;
export type WireType = typeof VARINT | typeof FIXED64 | typeof BYTES | typeof FIXED32;

const NAMES: Readonly<Record<WireType, string>> = {
  [VARINT]: 'a varint',
  [FIXED64]: 'a 64-bit value',
  [BYTES]: 'a length and bytes',
  [FIXED32]: 'a 32-bit value',
};

const FROM_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** For texts that may be cut in the middle of a character. */
const FROM_CUT_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });
const MAX_VARINT_BYTES = 10;

/** A range of the request's bytes. */
export interface Range {
  from: number;
  to: number;
}

/**
 * Reads the fields of one protobuf message after the other without copying bytes. Truncated values, groups, the field number 0
 * and varints of more than 64 bits are errors.
 */
export class ProtobufReader {
  /** The number of the current field. */
  field = 0;
  wire: WireType = VARINT;
  /** Value of the current field: the varint, or the position of the first byte. */
  value = 0;
  /** Position after the current field. */
  at: number;
  #negative = false;
  readonly #bytes: Uint8Array;
  readonly #to: number;

  constructor(bytes: Uint8Array, { from, to }: Range = { from: 0, to: bytes.length }) {
    this.#bytes = bytes;
    this.at = from;
    this.#to = to;
  }

  /** Goes to the next field. Returns false at the end of the message. */
  next(): boolean {
    if (this.at === this.#to) return false;
    const tag = this.#varint();
    if (tag > 0xffff_ffff || this.#negative) throw new MalformedExport('a field number is too large');
    this.field = Math.floor(tag / 8);
    if (this.field === 0) throw new MalformedExport('a field has the number 0');
    const wire = tag % 8;
    if (wire === VARINT) this.value = this.#varint();
    else if (wire === FIXED64) this.value = this.#skip(8);
    else if (wire === FIXED32) this.value = this.#skip(4);
    else if (wire === BYTES) {
      const length = this.#varint();
      if (this.#negative) throw new MalformedExport('a length is negative');
      this.value = this.#skip(length);
    } else throw new MalformedExport(`field ${this.field} has the wire type ${wire}`);
    this.wire = wire;
    return true;
  }

  /** The current field is of this wire type, as its definition requires. */
  require(wire: WireType, name: string): void {
    if (this.wire !== wire) throw new MalformedExport(`${name} is not ${NAMES[wire]}`);
  }

  /** The bytes of the current field. */
  get range(): Range {
    return { from: this.value, to: this.at };
  }

  /** The current varint as a signed number; exact up to 2^53. */
  get int64(): number {
    if (!this.#negative) return this.value;
    let low = 0n;
    for (let position = 0; position < MAX_VARINT_BYTES; position += 1)
      low |= BigInt((this.#bytes[this.at - MAX_VARINT_BYTES + position] ?? 0) & 0x7f) << BigInt(7 * position);
    return Number(BigInt.asIntN(64, low));
  }

  get double(): number {
    return this.#view().getFloat64(0, true);
  }

  /** The current 64-bit value of nanoseconds, in milliseconds. */
  get milliseconds(): number {
    const view = this.#view();
    return millisecondsOf(view.getUint32(4, true) * 2 ** 32 + view.getUint32(0, true));
  }

  get hex(): string {
    return Buffer.from(this.#bytes.subarray(this.value, this.at)).toString('hex');
  }

  /** The current bytes as text, at most `maxBytes` of them. */
  text(maxBytes: number, name: string): string {
    const isCut = this.at - this.value > maxBytes;
    const bytes = this.#bytes.subarray(this.value, isCut ? this.value + maxBytes : this.at);
    if (isCut) return FROM_CUT_UTF8.decode(bytes);
    try {
      return FROM_UTF8.decode(bytes);
    } catch {
      throw new MalformedExport(`${name} is not valid UTF-8`);
    }
  }

  /** The 64 bits of the current field. */
  #view(): DataView {
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + this.value, 8);
  }

  #skip(length: number): number {
    const from = this.at;
    if (length > this.#to - from) throw new MalformedExport('a field is longer than its message');
    this.at = from + length;
    return from;
  }

  #varint(): number {
    let value = 0;
    this.#negative = false;
    for (let position = 0; position < MAX_VARINT_BYTES; position += 1) {
      if (this.at === this.#to) throw new MalformedExport('a number is cut off');
      const byte = this.#bytes[this.at] ?? 0;
      this.at += 1;
      if (position === MAX_VARINT_BYTES - 1) {
        if (byte > 1) break;
        this.#negative = byte === 1;
      }
      value += (byte & 0x7f) * 2 ** (7 * position);
      if (byte < 0x80) return value;
    }
    throw new MalformedExport('a number has more than 64 bits');
  }
}
