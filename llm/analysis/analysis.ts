import { cut } from '../../core/untrusted/fields.ts';

/** Control, format and invisible characters become a space, and the text is cut. Empty: nothing in the text is visible. */
export function cleanText(text: string, max: number): string {
  const visible = text
    .slice(0, 4 * max)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ');
  return cut(visible.trim(), max);
}
