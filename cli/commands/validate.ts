import type { Command } from 'commander';
import { asYaml } from '../../core/manifest/describe-problem.ts';
import { manifestWarnings } from '../../core/manifest/manifest-warnings.ts';
import { MANIFEST_SCHEMA } from '../../core/manifest/schema.ts';
import { describeRefusal, type LoadedManifest } from '../../runtime/manifest-file.ts';
import { parsePath, positionsIn } from '../../core/manifest/position.ts';
import type { AddCommand } from '../context.ts';
import type { Finding, FindingsReport } from '../findings/finding.ts';
import { formatOf, formatOption, jsonOption, type FormatFlags } from '../findings/format-option.ts';
import { FINDING_FORMATS } from '../findings/formats.ts';
import { load, problemLines, validationOf, type InvalidManifest } from '../load.ts';
import { done, failed, json, printable, type Rendered } from '../rendered.ts';
import { plural } from '../table.ts';

interface ValidateFlags extends FormatFlags {
  schema?: true;
}

export const addValidate: AddCommand = (program, context, finish) => {
  program
    .command('validate')
    .summary('check a manifest against the schema')
    .description(
      'Checks a manifest against the schema, without network or environment. Lists all problems, and warns about declarations that cannot be checked and about secrets in the file.',
    )
    .argument('[file]', 'path to the manifest, such as agent.yaml')
    .addOption(jsonOption('{valid, agentName, version, apiVersion, problems[], warnings[]}'))
    .addOption(formatOption())
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
  $ platform validate agent.yaml --format github
  $ platform validate --schema > agent.schema.json

Exit codes: 0 valid; 1 not valid, or the file cannot be read.`;

/** Valid, with warnings on standard error, or every problem with its position. */
function renderValidation(loaded: LoadedManifest, flags: ValidateFlags): Rendered {
  const format = formatOf(flags);
  if (format !== 'text') {
    const output =
      format === 'json' ? json(validationOf(loaded)) : FINDING_FORMATS[format](findingsOf(loaded));
    return done(output, loaded.ok ? 0 : 1);
  }
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

/** The gap report uses the same code for a manifest that is not valid. */
const CODE = 'manifest.invalid';

function findingsOf(loaded: LoadedManifest): FindingsReport {
  const { file } = loaded;
  const command = 'validate';
  if (loaded.ok) {
    const findings = warningsOf(loaded);
    return { command, file, summary: `${file} is valid`, findings, passed: [CODE] };
  }
  const findings = loaded.problems.map(({ path, message, line, column, suggestion }): Finding => {
    const hint = suggestion === undefined ? '' : ` (did you mean ${asYaml(suggestion)}?)`;
    const where = path === '' ? '' : `${path}: `;
    return {
      code: CODE,
      ...(path !== '' && { item: path }),
      severity: 'high',
      title: 'The manifest is not valid.',
      message: `${where}${message}${hint}`,
      help: '',
      file,
      line,
      column,
    };
  });
  return {
    command,
    file,
    summary: `${file} is not valid: ${plural(findings.length, 'problem')}`,
    findings,
    passed: [],
  };
}

function warningsOf({ file, manifest, text }: LoadedManifest & { ok: true }): Finding[] {
  const positionOf = positionsIn(text);
  return manifestWarnings(manifest).map(({ path, message }) => ({
    code: 'manifest.warning',
    item: path,
    severity: 'low',
    title: 'The manifest is valid, but should be changed.',
    message: `${path}: ${message}`,
    help: '',
    file,
    ...positionOf(parsePath(path)),
  }));
}
