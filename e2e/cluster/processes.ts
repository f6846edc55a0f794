import { globSync, readFileSync } from 'node:fs';

/** The command lines, of living processes, that contain the text. A zombie has none. */
export function processesWith(text: string): string[] {
  return globSync('/proc/[0-9]*/cmdline').flatMap((file) => {
    try {
      const line = readFileSync(file, 'utf8').replaceAll('\0', ' ');
      return line.includes(text) ? [line] : [];
    } catch {
      // It ended between the two looks, as some process of this machine does at any time.
      return [];
    }
  });
}
