import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { injectManifests, uninjectManifests } from '../../core/injection/inject-manifests.ts';
import type { ChangedText, TextOutcome } from '../../core/injection/inject-text.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';
import type { CliContext } from '../context.ts';
import { makeFolder } from '../make-folder.ts';
import { failed, json, printable, type Rendered } from '../rendered.ts';
import { readSources, type SourceFile } from '../source-files.ts';
import { causeOf, replaceFile } from '../write-file.ts';

export interface InjectTarget {
  /** The agent's name, in place of the workload's. */
  agentName?: string;
  /** File or folder to write to; without it the texts go to standard output. */
  output?: string;
  json: boolean;
}

interface Result extends ChangedText {
  source: SourceFile;
  /** Where it was written to. */
  output: string | null;
}

/** `inject <paths>`: manifests with the sidecar in their workloads. */
export async function injectFiles(
  paths: readonly string[],
  settings: InjectionSettings,
  target: InjectTarget,
  context: CliContext,
): Promise<Rendered> {
  const change = (text: string) => injectManifests(text, settings, target.agentName);
  return changeFiles(paths, { done: 'injected', change }, target, context);
}

/** `uninject <paths>`: manifests as they were before. */
export async function uninjectFiles(
  paths: readonly string[],
  target: InjectTarget,
  context: CliContext,
): Promise<Rendered> {
  return changeFiles(paths, { done: 'uninjected', change: uninjectManifests }, target, context);
}

interface Work {
  /** The word for a workload that was changed. */
  done: string;
  change: (text: string) => ChangedText;
}

async function changeFiles(
  paths: readonly string[],
  { done, change }: Work,
  target: InjectTarget,
  context: CliContext,
): Promise<Rendered> {
  const fail = (problems: readonly string[]): Rendered =>
    failed(
      problems.map((problem) => `${problem}\n`).join(''),
      target.json ? json({ error: problems.join('; ') }) : '',
    );
  const read = await readSources(paths, context);
  if (!read.ok) return fail(read.problems);
  const results = read.sources.map((source): Result => ({ ...change(source.text), source, output: null }));
  const outcomes = results.flatMap((result) => result.outcomes);
  const problem = namesTwice(outcomes, target);
  if (problem !== null) return fail([problem]);
  const isRefused = outcomes.some(({ action }) => action === 'refused');
  if (target.output !== undefined && !isRefused) {
    const unwritten = await writeAll(results, target.output, { isOne: read.isOne, context });
    if (unwritten !== null) return fail([unwritten]);
  }
  const errors = results.flatMap((result) => reportLines(result, done)).join('');
  const text = target.output === undefined && !isRefused ? joined(results) : '';
  const output = target.json ? json(reportOf(results, done, { isRefused, target })) : text;
  const rejection = 'nothing was written, since a workload was refused\n';
  return { output, errors: isRefused ? errors + rejection : errors, exitCode: isRefused ? 1 : 0 };
}

/** Two workloads of one name would be one agent. */
function namesTwice(outcomes: readonly TextOutcome[], { agentName }: InjectTarget): string | null {
  const count = outcomes.filter(({ action }) => action === 'changed').length;
  return agentName !== undefined && count > 1
    ? `--agent-name names one workload, and ${count} would be injected: use the annotation platform.io/agent-name on each`
    : null;
}

/** null: all written. A single file goes to the path itself, unless that is a folder. */
async function writeAll(
  results: readonly Result[],
  output: string,
  { isOne, context }: { isOne: boolean; context: CliContext },
): Promise<string | null> {
  const isFolder = !isOne || (await isDirectory(resolve(context.cwd, output)));
  const places = results.map(({ source }) => (isFolder ? join(output, source.place) : output));
  const twice = places.find((place, index) => places.indexOf(place) !== index);
  if (twice !== undefined) return `${printable(twice)}: two inputs would be written there`;
  for (const [index, result] of results.entries()) {
    const place = places[index] ?? output;
    try {
      await makeFolder(dirname(resolve(context.cwd, place)));
      await replaceFile(resolve(context.cwd, place), result.text);
      result.output = place;
    } catch (error) {
      return `${printable(place)}: cannot be written: ${causeOf(error)}`;
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
      return index === 0 || ended.startsWith('---') ? ended : `---\n${ended}`;
    })
    .join('');
}

function reportLines({ source, outcomes }: Result, done: string): string[] {
  return outcomes.map(({ document, kind, name, action, message }) => {
    const word = action === 'changed' ? done : action === 'passed' ? '' : action;
    const what = [kind || 'document', name].filter(Boolean).join('/');
    const said = [word, message].filter(Boolean).join(': ');
    return `${printable(`${source.file}[${document + 1}] ${what}: ${said}`)}\n`;
  });
}

function reportOf(
  results: readonly Result[],
  done: string,
  { isRefused, target }: { isRefused: boolean; target: InjectTarget },
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
