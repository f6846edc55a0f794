/** The order of the first columns has not changed since Linux 2.2. */
const NAMES = Buffer.from('\nTcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens ');
const VALUES = Buffer.from('\nTcp: ');
const COLUMNS_BEFORE = 4;
const SPACE = 0x20;

/**
 * `ActiveOpens` of `/proc/net/snmp`: the connections that were attempted in this network namespace since its creation.
 * null: the file has another format. Searches with native functions, because the number is searched a few times per second and
 * code that runs so rarely is not compiled.
 */
export function activeOpensOf(buffer: Buffer, length: number): number | null {
  return fieldIn(buffer, length)?.value ?? null;
}

interface Field {
  value: number;
  start: number;
  end: number;
}

/** With the blanks around the number, so that a longer number before it is noticed. */
interface KnownField extends Field {
  bytes: Buffer;
}

function isAt(buffer: Buffer, { bytes, start }: KnownField): boolean {
  for (let index = 0; index < bytes.length; index++)
    if (buffer[start - 1 + index] !== bytes[index]) return false;
  return true;
}

/** The same counter, read again and again: while its bytes stay the same, they are only compared. */
export class ActiveOpens {
  #known: KnownField | null = null;

  of(buffer: Buffer, length: number): number | null {
    const known = this.#known;
    if (known !== null && known.end < length && isAt(buffer, known)) return known.value;
    const field = fieldIn(buffer, length);
    this.#known =
      field === null
        ? null
        : { ...field, bytes: Buffer.from(buffer.subarray(field.start - 1, field.end + 1)) };
    return field?.value ?? null;
  }
}

function fieldIn(buffer: Buffer, length: number): Field | null {
  const names = buffer.indexOf(NAMES);
  if (names < 0) return null;
  const values = buffer.indexOf(VALUES, names + NAMES.length);
  if (values < 0) return null;
  let at = values + VALUES.length;
  for (let column = 0; column < COLUMNS_BEFORE; column++) {
    at = buffer.indexOf(SPACE, at) + 1;
    if (at === 0) return null;
  }
  const end = buffer.indexOf(SPACE, at);
  if (end < 0 || end > length) return null;
  const text = buffer.toString('latin1', at, end);
  return /^\d+$/.test(text) ? { value: Number(text), start: at, end } : null;
}
