import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ChangedText, TextOutcome } from '../core/injection/inject-text.ts';
import type { CliContext } from './context.ts';
import { makeDirectory } from './make-directory.ts';
import { failed, json, printable, type Rendered } from './rendered.ts';
import { readSources, type SourceFile } from './source-files.ts';
import { replaceFile } from '../push/replace-file.ts';
import { causeOf } from './file-failure.ts';

export interface Target {
  /** Name of the agent, instead of the workload's name. */
  agentName?: string;
  /** File or directory to write to; absent: standard output. */
  output?: string;
  json?: true;
}

interface Result extends ChangedText {
  source: SourceFile;
  /** Path of the written file; null: not written. */
  output: string | null;
}

interface Work {
  /** Report word and JSON key for a changed workload. */
  done: string;
  change: (text: string) => ChangedText;
}

/** Reads manifests, changes their workloads, and writes all of them or none. */
export async function changeFiles(
  paths: readonly string[],
  { done, change }: Work,
  target: Target,
  context: CliContext,
): Promise<Rendered> {
  const fail = (problems: readonly string[]): Rendered =>
    failed(
      problems.map((problem) => `error: ${problem}\n`).join(''),
      target.json ? json({ error: problems.join('; ') }) : '',
    );
  const read = await readSources(paths, context);
  if (!read.ok) return fail(read.problems);
  const results = read.sources.map((source): Result => ({ ...change(source.text), source, output: null }));
  const outcomes = results.flatMap((result) => result.outcomes);
  const problem = duplicateName(outcomes, target);
  if (problem !== null) return fail([problem]);
  const isRefused = outcomes.some(({ action }) => action === 'refused');
  if (target.output !== undefined && !isRefused) {
    const writeProblem = await writeAll(results, target.output, { isOne: read.isOne, context });
    if (writeProblem !== null) return fail([writeProblem]);
  }
  const errors = results.flatMap((result) => reportLines(result, done)).join('');
  const text = target.output === undefined && !isRefused ? joined(results) : '';
  const output = target.json ? json(reportOf(results, done, { isRefused, target })) : text;
  const rejection = 'error: nothing was written because a workload was refused\n';
  return { output, errors: isRefused ? errors + rejection : errors, exitCode: isRefused ? 1 : 0 };
}

/** Two workloads with the same agent name would count as one agent. */
function duplicateName(outcomes: readonly TextOutcome[], { agentName }: Target): string | null {
  const count = outcomes.filter(({ action }) => action === 'changed').length;
  return agentName !== undefined && count > 1
    ? `--agent-name applies to a single workload, but ${count} would be injected; set the annotation platform.io/agent-name on each workload`
    : null;
}

/** Returns the first problem; null: all written. A single file goes to the path itself unless the path is a directory. */
async function writeAll(
  results: readonly Result[],
  output: string,
  { isOne, context }: { isOne: boolean; context: CliContext },
): Promise<string | null> {
  const isInDirectory = !isOne || (await isDirectory(resolve(context.cwd, output)));
  const places = results.map(({ source }) => (isInDirectory ? join(output, source.place) : output));
  const duplicate = places.find((place, index) => places.indexOf(place) !== index);
  if (duplicate !== undefined) return `${printable(duplicate)}: two inputs have this output path`;
  for (const [index, result] of results.entries()) {
    const place = places[index] ?? output;
    try {
      await makeDirectory(dirname(resolve(context.cwd, place)));
      await replaceFile(resolve(context.cwd, place), result.text, 0o666);
      result.output = place;
    } catch (error) {
      return `cannot write ${printable(place)}: ${causeOf(error)}`;
    }
  }
  return null;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

/** One stream of documents. */
function joined(results: readonly Result[]): string {
  return results
    .map(({ text }, index) => {
      const ended = index === results.length - 1 || text.endsWith('\n') ? text : `${text}\n`;
      if (index === 0) return ended;
      // A byte order mark begins a text only.
      const document = ended.replace(/^\ufeff/, '');
      return document.startsWith('---') ? document : `---\n${document}`;
    })
    .join('');
}

function reportLines({ source, outcomes }: Result, done: string): string[] {
  return outcomes.map(({ document, kind, name, action, message }) => {
    const word = action === 'changed' ? done : action === 'passed' ? '' : action;
    const what = [kind || 'document', name].filter(Boolean).join('/');
    const result = [word, message].filter(Boolean).join(': ');
    return `${printable(`${source.file}[${document + 1}] ${what}: ${result}`)}\n`;
  });
}

function reportOf(
  results: readonly Result[],
  done: string,
  { isRefused, target }: { isRefused: boolean; target: Target },
): Record<string, unknown> {
  const outcomes = results.flatMap((result) => result.outcomes);
  const count = (action: TextOutcome['action']) => outcomes.filter((one) => one.action === action).length;
  return {
    [done]: isRefused ? 0 : count('changed'),
    skipped: count('skipped'),
    refused: count('refused'),
    passed: count('passed'),
    files: results.map(({ source, output, text, outcomes: own }) => ({
      file: source.file,
      ...(output !== null && { output }),
      ...(target.output === undefined && !isRefused && { text }),
      documents: own.map((outcome) => ({
        ...outcome,
        document: outcome.document + 1,
        action: outcome.action === 'changed' ? done : outcome.action,
      })),
    })),
  };
}
