import type { Json } from '../../core/egress/model-wire.ts';
import { jsonText } from '../../core/egress/wires/members.ts';

const CLOSE = 0x7d;

/**
 * The text of `next`. If it only has more members than `known`, whose text is `raw`, they are inserted and all other bytes stay:
 * writing a parsed document again would change numbers that JavaScript cannot represent. null: the document is nested too deeply to be written.
 */
export function jsonWith(raw: Buffer, known: Json, next: Json): Buffer | null {
  const changed = Object.keys(next).filter((key) => next[key] !== known[key]);
  const isOnlyMore = changed.every((key) => !Object.hasOwn(known, key));
  const end = raw.lastIndexOf(CLOSE);
  if (!isOnlyMore || end < 0 || Object.keys(known).length === 0) {
    const text = jsonText(next);
    return text === null ? null : Buffer.from(text);
  }
  const members = changed.map((key) => `,${JSON.stringify(key)}:${JSON.stringify(next[key])}`);
  return Buffer.concat([raw.subarray(0, end), Buffer.from(members.join('')), raw.subarray(end)]);
}
