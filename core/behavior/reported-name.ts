import { cut } from '../untrusted/fields.ts';

/** UTF-16 units of a name that reports carry: the sidecar compares declared and reported names up to here. */
export const MAX_NAME_LENGTH = 500;

/** A character that a name in a behavioral header stands for itself with: an RFC 9110 token character other than `%`. */
const ENCODED = /[^!#$&'*+\-.^_`|~0-9A-Za-z]/gu;

const HIGH_BYTES = /^[\0-\xff]*[\x80-\xff][\0-\xff]*$/;
const UTF8 = new TextEncoder();
/** Without `ignoreBOM` a name that begins with U+FEFF would lose it. */
const FROM_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A declared name as reports carry it: well-formed Unicode, at most `MAX_NAME_LENGTH` units. */
export function reportedName(declared: string): string {
  return cut(declared.toWellFormed(), MAX_NAME_LENGTH);
}

/** A name as one list member of a behavioral header: percent-encoded UTF-8. */
export function headerFormOf(name: string): string {
  return name.toWellFormed().replaceAll(ENCODED, percentEncoded);
}

/**
 * The name that one list member of a behavioral header stands for. Agents that do not encode names send raw UTF-8 or
 * ISO 8859-1: Node gives both as one character for each byte. What is not valid percent-encoding is the name itself.
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
