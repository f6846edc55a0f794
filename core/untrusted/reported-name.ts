import { cut } from './fields.ts';

/** Maximum UTF-16 units of a name in reports. The sidecar compares declared and reported names up to this length. */
export const MAX_NAME_LENGTH = 500;

/** Characters that a behavioral header must encode: all except RFC 9110 token characters, and `%` itself. */
const ENCODED = /[^!#$&'*+\-.^_`|~0-9A-Za-z]/gu;

const HIGH_BYTES = /^[\0-\xff]*[\x80-\xff][\0-\xff]*$/;
const UTF8 = new TextEncoder();
/** Without `ignoreBOM` the decoder would remove a leading U+FEFF from a name. */
const FROM_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A declared name in the form used in reports: well-formed Unicode, at most `MAX_NAME_LENGTH` units. */
export function reportedName(declared: string): string {
  return cut(declared.toWellFormed(), MAX_NAME_LENGTH);
}

/** Encodes a name as a list member of a behavioral header: percent-encoded UTF-8. */
export function headerFormOf(name: string): string {
  return name.toWellFormed().replaceAll(ENCODED, percentEncoded);
}

/**
 * Decodes a list member of a behavioral header. Agents that do not encode names send raw UTF-8 or ISO 8859-1, which Node
 * returns as one character per byte. A member that is not valid percent-encoding is returned as it is.
 */
export function nameFromHeader(member: string): string {
  const text = HIGH_BYTES.test(member) ? fromBytes(member) : member;
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function percentEncoded(character: string): string {
  let encoded = '';
  for (const byte of UTF8.encode(character))
    encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return encoded;
}

function fromBytes(text: string): string {
  try {
    return FROM_UTF8.decode(Uint8Array.from(text, (character) => character.charCodeAt(0)));
  } catch {
    return text;
  }
}
