import type { Command } from 'commander';
import { manifestWarnings } from '../../core/manifest/manifest-warnings.ts';
import { MANIFEST_SCHEMA } from '../../core/manifest/schema.ts';
import { describeRefusal, type LoadedManifest } from '../../runtime/manifest-file.ts';
import type { AddCommand } from '../context.ts';
import { load, problemLines, problemObjects, type InvalidManifest } from '../load.ts';
import { done, failed, json, printable, type Rendered } from '../rendered.ts';
import { plural } from '../table.ts';

interface ValidateFlags {
  json?: true;
  schema?: true;
}

export const addValidate: AddCommand = (program, context, finish) => {
  program
    .command('validate')
    .summary('check a manifest against the schema')
    .description(
      'Checks a manifest against the schema, without network or environment. Lists all problems, and warns about declarations that cannot be checked.',
    )
    .argument('[file]', 'path to the manifest, such as agent.yaml')
    .option('--json', 'print {valid, agentName, version, apiVersion, problems[], warnings[]}')
    .option('--schema', 'print the JSON Schema of manifests instead')
    .addHelpText('after', HELP)
    .action(async (file: string | undefined, flags: ValidateFlags, command: Command) => {
      if (flags.schema) finish(done(json(MANIFEST_SCHEMA)));
      else if (file === undefined) command.error("error: missing required argument 'file'");
      else finish(renderValidation(await load(file, context), flags));
    });
};

const HELP = `
Examples:
  $ platform validate agent.yaml
  $ platform validate agent.yaml --json
  $ platform validate --schema > agent.schema.json

Exit codes: 0 valid; 1 not valid, or the file cannot be read.`;

/** Valid, with warnings on standard error, or every problem with its position. */
function renderValidation(loaded: LoadedManifest, flags: ValidateFlags): Rendered {
  if (flags.json) return { ...done(json(validationOf(loaded))), exitCode: loaded.ok ? 0 : 1 };
  if (!loaded.ok) return renderProblems(loaded);
  const { name, version } = loaded.manifest.metadata;
  return {
    ...done(`${loaded.file} is valid: ${name} ${version}\n`),
    errors: manifestWarnings(loaded.manifest)
      .map(({ path, message }) => `warning: ${loaded.file}: ${path}: ${printable(message)}\n`)
      .join(''),
  };
}

/** Problems in a file are the result, on standard output; an unreadable file is an error. */
function renderProblems(loaded: InvalidManifest): Rendered {
  if (loaded.unreadable === true) return failed(problemLines(loaded));
  return failed(
    `error: ${loaded.file} is not valid: ${plural(loaded.problems.length, 'problem')}\n`,
    `${describeRefusal(loaded).join('\n')}\n`,
  );
}

function validationOf(loaded: LoadedManifest): Record<string, unknown> {
  if (!loaded.ok) return { valid: false, problems: problemObjects(loaded) };
  const { apiVersion, metadata } = loaded.manifest;
  return {
    valid: true,
    agentName: metadata.name,
    version: metadata.version,
    apiVersion,
    problems: [],
    warnings: manifestWarnings(loaded.manifest),
  };
}
