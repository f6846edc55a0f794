import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const END = '<!-- End of the generated part -->';

/** A page with a new generated part, which is between the line `begin` and the end line. */
export function withPart(file: string, begin: string, part: string): string {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const [start, end] = [text.indexOf(begin), text.indexOf(END)];
  if (start < 0 || end < start) throw new Error(`${file} has no generated part "${begin}"`);
  return `${text.slice(0, start)}${begin}\n\n${part}\n${text.slice(end)}`;
}
