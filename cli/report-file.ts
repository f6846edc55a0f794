import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { isSameFile, OVERWRITES_INPUT } from './file-failure.ts';
import { writeProblem } from './write-problem.ts';
import { printable, type Rendered } from './rendered.ts';

/** The file of `--output` of a command that prints a report. */
interface ReportFile {
  /** As typed. */
  name: string;
  command: Command;
  cwd: string;
}

/** Why the file must not be written: it is an argument of the command. null: it may be written. */
export async function reportProblem({ name, command, cwd }: ReportFile): Promise<string | null> {
  for (const argument of command.processedArgs.flat() as unknown[])
    if (typeof argument === 'string' && (await isSameFile(resolve(cwd, name), resolve(cwd, argument))))
      return `cannot write ${printable(name)}: ${OVERWRITES_INPUT}`;
  return null;
}

/** Writes the result, without colours. A command that failed without a result writes nothing. */
export async function writeReport({ name, command, cwd }: ReportFile, rendered: Rendered): Promise<Rendered> {
  const { output, errors, exitCode, json } = rendered;
  if (json === undefined) return rendered;
  const isText = command.getOptionValue('format') === 'text';
  const isJson = isText && name.toLowerCase().endsWith('.json');
  const text = isText ? stripVTControlCharacters(output) : output;
  const problem = await writeProblem(resolve(cwd, name), name, isJson ? json : text);
  if (problem === null) return { ...rendered, errors: `wrote ${printable(name)}\n${errors}` };
  return { ...rendered, errors: `${errors}error: ${problem}\n`, exitCode: exitCode || 1 };
}
