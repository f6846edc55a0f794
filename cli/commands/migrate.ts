import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { migrate as migrateText } from '../../authoring/migrate/migrate.ts';
import { describeProblem } from '../../core/manifest/describe-problem.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { readCauseOf } from '../file-failure.ts';
import { writeProblem } from '../write-problem.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { done, failed, printable, refusal, type Rendered } from '../rendered.ts';
import { decodeText } from '../source-files.ts';

interface MigrateFlags {
  dryRun?: true;
  /** Path of the new file, as typed; absent: the file itself. */
  output?: string;
}

export const addMigrate: AddCommand = (program, context, finish) => {
  program
    .command('migrate')
    .summary('convert a manifest to the current format')
    .description(
      'Converts a manifest of an earlier version, or of agentspec, to platform.io/v1. Comments and order are kept. Fields without a place in the format are kept under x- keys and listed.',
    )
    .addArgument(new ManifestArgument())
    .option('--dry-run', 'print the changes as a diff and write nothing')
    .option('-o, --output <file>', 'write the result to this file instead of the source')
    .addHelpText('after', HELP)
    .action(async (file: string, flags: MigrateFlags) => finish(await migrate(file, flags, context)));
};

const HELP = `
Examples:
  $ platform migrate agent.yaml --dry-run
  $ platform migrate agent.yaml
  $ platform migrate agentspec.yaml -o agent.yaml

Exit codes: 0 migrated, or already in the current format; 1 there is no migration, the result would not be valid, or the
file cannot be read or written.`;

async function migrate(file: string, flags: MigrateFlags, context: CliContext): Promise<Rendered> {
  const name = printable(file);
  let text: string;
  try {
    text = decodeText(await readFile(resolve(context.cwd, file)));
  } catch (error) {
    return failed(`error: cannot read ${name}: ${readCauseOf(error)}\n`);
  }
  const migration = migrateText(text);
  if (migration.outcome === 'failed') {
    const problems = migration.problems.map((problem) => `error: ${describeProblem(file, problem)}\n`);
    return failed(`error: ${name} was not migrated: ${migration.reason}\n${problems.join('')}`);
  }
  const isCurrent = migration.outcome === 'current';
  if (isCurrent && (flags.dryRun || flags.output === undefined)) return done(`${name} is up to date\n`);
  const { changes, text: result } = isCurrent ? { changes: [], text } : migration;
  const listed = changes.map(({ path, change }) => `${printable(path)}: ${printable(change)}\n`).join('');
  if (flags.dryRun) {
    const patch = createTwoFilesPatch(file, flags.output ?? file, text, result, undefined, undefined, {
      headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true },
    });
    return { ...done(patch), errors: listed };
  }
  const target = flags.output ?? file;
  const problem = await writeProblem(resolve(context.cwd, target), target, result);
  return problem === null ? done(`${listed}wrote ${printable(target)}\n`) : refusal(problem, false);
}
