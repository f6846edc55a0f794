import { globSync, readFileSync } from 'node:fs';

/** Command lines of running processes that contain the text. A zombie has no command line. */
export function processesWith(text: string): string[] {
  return globSync('/proc/[0-9]*/cmdline').flatMap((file) => {
    try {
      const line = readFileSync(file, 'utf8').replaceAll('\0', ' ');
      return line.includes(text) ? [line] : [];
    } catch {
      // The process ended between listing and reading.
      return [];
    }
  });
}
