import type { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import type { Environment } from '../runtime/env.ts';
import type { Rendered } from './rendered.ts';

/** Process state that a command uses in addition to files and sockets. */
export interface CliContext {
  env: Environment;
  /** Working directory for relative paths. */
  cwd: string;
  now: () => Date;
  /** Whether to print colours: standard output is a terminal that supports them, and NO_COLOR is not set. */
  color: boolean;
  /** Prompts the user at the terminal; null: no terminal. */
  ask: Ask | null;
  /** Shows on a terminal what the command waits for; absent: no terminal. */
  progress?: (line: string) => void;
  /** Prints a warning immediately, before the command continues; absent: warnings are dropped. */
  warn?: (line: string) => void;
  /** From its call on, Ctrl-C aborts this signal instead of ending the process, so that a command can report what it has. */
  onInterrupt?: () => AbortSignal;
  /** Reads all of standard input; absent: no standard input. */
  stdin?: () => Promise<Uint8Array>;
  /** For a command that serves a protocol on standard input and output; absent: there is none. */
  stdio?: () => Stdio;
}

/** Standard input and output while a command serves a protocol on them. */
export interface Stdio {
  input: Readable;
  output: Writable;
  /** From the call of `stdio` on, SIGTERM, SIGHUP and Ctrl-C abort this signal instead of ending the process. */
  stopped: AbortSignal;
}

/** Asks one question; an empty line means `fallback`. Rejects if the user ends the input. */
export type Ask = (question: string, fallback: string) => Promise<string>;

/** Adds one command to the program. Its action passes its result to `finish`. */
export type AddCommand = (
  program: Command,
  context: CliContext,
  finish: (rendered: Rendered) => void,
) => void;
