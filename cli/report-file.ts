import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { replaceFile } from '../push/replace-file.ts';
import type { CliContext } from './context.ts';
import { causeOf, isSameFile, OVERWRITES_INPUT } from './file-failure.ts';
import { printable, type Rendered } from './rendered.ts';

/** The file of `--output` of a command that prints a report. */
export class ReportFile {
  /** As typed. */
  readonly #name: string;
  readonly #command: Command;
  readonly #cwd: string;

  constructor(name: string, command: Command, { cwd }: CliContext) {
    this.#name = name;
    this.#command = command;
    this.#cwd = cwd;
  }

  /** Why the file must not be written: it is an argument of the command. null: it may be written. */
  async problem(): Promise<string | null> {
    for (const argument of this.#command.processedArgs)
      if (
        typeof argument === 'string' &&
        (await isSameFile(resolve(this.#cwd, this.#name), resolve(this.#cwd, argument)))
      )
        return `cannot write ${printable(this.#name)}: ${OVERWRITES_INPUT}`;
    return null;
  }

  /** Writes the result, without colours. A command that failed without a result writes nothing. */
  async write(rendered: Rendered): Promise<Rendered> {
    const { output, errors, exitCode, json } = rendered;
    if (json === undefined) return rendered;
    const isText = this.#command.getOptionValue('format') === 'text';
    const isJson = isText && this.#name.toLowerCase().endsWith('.json');
    const text = isText ? stripVTControlCharacters(output) : output;
    const name = printable(this.#name);
    try {
      await replaceFile(resolve(this.#cwd, this.#name), isJson ? json : text, 0o666);
      return { ...rendered, errors: `wrote ${name}\n${errors}` };
    } catch (error) {
      const failure = `error: cannot write ${name}: ${causeOf(error)}\n`;
      return { ...rendered, errors: errors + failure, exitCode: exitCode || 1 };
    }
  }
}
