import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const END = '<!-- End of the generated part -->';

const contentOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/**
 * A page with a new generated part, which is between the line `begin` and the end line after it. `text`: the page so far; default: the
 * file.
 */
export function withPart(file: string, begin: string, part: string, text = contentOf(file)): string {
  const start = text.indexOf(begin);
  const end = text.indexOf(END, start);
  if (start < 0 || end < start) throw new Error(`${file} has no generated part "${begin}"`);
  return `${text.slice(0, start)}${begin}\n\n${part}\n${text.slice(end)}`;
}
