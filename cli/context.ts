import type { Environment } from '../runtime/env.ts';

/** What a command can know of the world besides files and sockets. */
export interface CliContext {
  env: Environment;
  /** Folder that relative paths start from. */
  cwd: string;
  now: () => Date;
  /** Whether standard output shows colours: a terminal that has them, and NO_COLOR is not set. */
  color: boolean;
  /** Asks the person at the terminal; null: there is nobody to ask. */
  ask: Ask | null;
  /** Shows, on a terminal, what a command waits for; absent: there is none. */
  progress?: (line: string) => void;
  /** Shows at once what must be known before the command goes on; absent: nobody reads it. */
  warn?: (line: string) => void;
  /** All of standard input; absent: there is none. */
  stdin?: () => Promise<Uint8Array>;
}

/** One question with the answer that an empty line means; rejects when the person ends the input. */
export type Ask = (question: string, fallback: string) => Promise<string>;
