import type { ManifestProblem } from '../../core/manifest/manifest.ts';
import { asYaml } from '../../core/manifest/describe-problem.ts';
import { manifestWarnings } from '../../core/manifest/manifest-warnings.ts';
import { MANIFEST_SCHEMA } from '../../core/manifest/schema.ts';
import { describeRefusal, type LoadedManifest } from '../../runtime/manifest-file.ts';
import { parsePath, positionsIn } from '../../core/manifest/position.ts';
import type { AddCommand } from '../context.ts';
import type { Finding, FindingsReport } from '../findings/finding.ts';
import { FINDING_FORMATS } from '../findings/formats.ts';
import { load, problemLines, validationOf, type InvalidManifest } from '../load.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { FINDINGS, formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { done, failed, json, printable, reported, type Rendered } from '../rendered.ts';
import { plural } from '../table.ts';

interface ValidateFlags extends FormatFlags {
  schema?: true;
  /** Warnings are problems. */
  strict?: true;
}

export const addValidate: AddCommand = (program, context, finish) => {
  program
    .command('validate')
    .summary('check a manifest against the schema')
    .description(
      'Checks a manifest against the schema, without network or environment. Lists all problems, and warns about declarations that cannot be checked and about secrets in the file.',
    )
    .addArgument(new ManifestArgument({ unless: 'schema' }))
    .addOption(jsonOption('{valid, agentName, version, apiVersion, problems[], warnings[]}'))
    .addOption(formatOption(FINDINGS))
    .addOption(new ReportOption())
    .option('--strict', 'treat warnings as problems')
    .option('--schema', 'print the JSON Schema of manifests instead')
    .addHelpText('after', HELP)
    .action(async (file: string, flags: ValidateFlags) => {
      if (flags.schema) finish(reported({ json: true }, MANIFEST_SCHEMA, ''));
      else {
        const read = await load(file, context);
        const loaded = flags.strict ? strictly(read) : read;
        finish({ ...renderValidation(loaded, flags), json: json(validationOf(loaded)) });
      }
    });
};

const HELP = `
Examples:
  $ platform validate
  $ platform validate agent.yaml --json
  $ platform validate agent.yaml --strict --format github
  $ platform validate --schema > agent.schema.json

Exit codes: 0 valid; 1 not valid, with a warning and --strict, or the file cannot be read.`;

/** Valid, with warnings on standard error, or every problem with its position. */
function renderValidation(loaded: LoadedManifest, { format }: ValidateFlags): Rendered {
  if (format !== 'text') {
    const output =
      format === 'json' ? json(validationOf(loaded)) : FINDING_FORMATS[format](findingsOf(loaded));
    return done(output, loaded.ok ? 0 : 1);
  }
  if (!loaded.ok) return renderProblems(loaded);
  const { name, version } = loaded.manifest.metadata;
  return { ...done(`${loaded.file} is valid: ${name} ${version}\n`), errors: warningLines(loaded) };
}

/** The manifest with its warnings as further problems. */
function strictly(loaded: LoadedManifest): LoadedManifest {
  const warnings = warningsOf(loaded);
  if (warnings.length === 0) return loaded;
  return { ok: false, file: loaded.file, problems: [...(loaded.ok ? [] : loaded.problems), ...warnings] };
}

function warningsOf(loaded: LoadedManifest): ManifestProblem[] {
  if (!loaded.ok) return loaded.warnings ?? [];
  const positionOf = positionsIn(loaded.text);
  return manifestWarnings(loaded.manifest).map((each) => ({ ...each, ...positionOf(parsePath(each.path)) }));
}

function warningLines(loaded: LoadedManifest): string {
  return warningsOf(loaded)
    .map(({ path, message }) => `warning: ${loaded.file}: ${path}: ${printable(message)}\n`)
    .join('');
}

/** Problems in a file are the result, on standard output; an unreadable file is an error. */
function renderProblems(loaded: InvalidManifest): Rendered {
  if (loaded.unreadable === true) return failed(problemLines(loaded));
  return failed(
    `error: ${loaded.file} is not valid: ${plural(loaded.problems.length, 'problem')}\n${warningLines(loaded)}`,
    `${describeRefusal(loaded).join('\n')}\n`,
  );
}

/** The gap report uses the same code for a manifest that is not valid. */
const INVALID = { code: 'manifest.invalid', severity: 'high', title: 'The manifest is not valid.' } as const;
const WARNING = {
  code: 'manifest.warning',
  severity: 'low',
  title: 'The manifest should be changed.',
} as const;

function findingsOf(loaded: LoadedManifest): FindingsReport {
  const { file } = loaded;
  const findingOf =
    (kind: typeof INVALID | typeof WARNING) =>
    ({ path, message, line, column, suggestion }: ManifestProblem): Finding => {
      const hint = suggestion === undefined ? '' : ` (did you mean ${asYaml(suggestion)}?)`;
      const where = path === '' ? {} : { item: path };
      const text = `${path === '' ? '' : `${path}: `}${message}${hint}`;
      return { ...kind, ...where, message: text, help: '', file, line, column };
    };
  const problems = loaded.ok ? [] : loaded.problems.map(findingOf(INVALID));
  const state = loaded.ok ? 'is valid' : `is not valid: ${plural(problems.length, 'problem')}`;
  return {
    ...{ command: 'validate', file, summary: `${file} ${state}` },
    findings: [...problems, ...warningsOf(loaded).map(findingOf(WARNING))],
    passed: loaded.ok ? [INVALID.code] : [],
  };
}
