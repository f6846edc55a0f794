import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import type { CliContext } from '../../cli/context.ts';
import { runCommandLine } from '../../cli/program.ts';
import type { Rendered } from '../../cli/rendered.ts';

interface CommandFolder {
  /** The path of a file; without a name, that of the folder. */
  at: (name?: string) => string;
  /** Writes a file, and creates its directories. */
  write: (name: string, text: string | Buffer) => void;
  read: (name: string) => string;
  /** Sorted names of the entries. */
  names: (directory?: string) => string[];
  /** Runs a command in the folder. Blanks separate the arguments of a text. */
  run: (args: string | readonly string[], context?: Partial<CliContext>) => Promise<Rendered>;
}

/** An empty folder for each test of the file, in which it runs commands. */
export function commandFolder(): CommandFolder {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'cli-'));
  });
  afterEach(() => rmSync(cwd, { recursive: true, force: true }));
  const at = (name = '.') => join(cwd, name);
  return {
    at,
    write(name, text) {
      mkdirSync(dirname(at(name)), { recursive: true });
      writeFileSync(at(name), text);
    },
    read: (name) => readFileSync(at(name), 'utf8'),
    names: (directory) => readdirSync(at(directory)).toSorted(),
    run: (args, context) =>
      runCommandLine(typeof args === 'string' ? args.split(' ').filter(Boolean) : args, {
        ...{ env: {}, cwd, now: () => new Date('2026-01-02T03:04:05Z'), color: false, ask: null },
        ...context,
      }),
  };
}
