import { diffManifests, type DiffReport } from '../../authoring/diff/diff.ts';
import { DRIFT_RULES } from '../../authoring/diff/drift-rules.ts';
import { positionsIn } from '../../core/manifest/position.ts';
import type { DriftSeverity, Severity } from '../../core/shapes/values.ts';
import type { AddCommand, CliContext } from '../context.ts';
import type { Finding } from '../findings/finding.ts';
import { FINDING_FORMATS } from '../findings/formats.ts';
import { invalidManifest } from '../load.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { FINDINGS, formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { done, printable, reported, type Rendered } from '../rendered.ts';
import { loadRevision, REVISION } from '../revision.ts';
import { painter, table, type Cell } from '../table.ts';

interface DiffFlags extends FormatFlags {
  /** Exit code 1 if there is a change. */
  exitCode?: true;
}

export const addDiff: AddCommand = (program, context, finish) => {
  program
    .command('diff')
    .summary('compare two manifests')
    .description(
      'Compares two manifests. Items of lists are compared by name or type, so their order does not matter. Each change has a severity and an impact on a score that starts at 100.',
    )
    .argument('<from>', 'the earlier manifest: a file, or a git revision such as main:agent.yaml')
    .addArgument(new ManifestArgument({ name: 'to', what: 'the later manifest: a file or a git revision' }))
    .addOption(
      jsonOption(
        '{from, to, scoreFrom, scoreTo, gradeFrom, gradeTo, netScoreChange, changes[]{type, property, severity, scoreImpact, description, code}}',
      ),
    )
    .option('--exit-code', 'exit with 1 if there is a change')
    .addOption(formatOption(FINDINGS))
    .addOption(new ReportOption())
    .addHelpText('after', HELP)
    .action(async (from: string, to: string, flags: DiffFlags) =>
      finish(await diff(from, to, flags, context)),
    );
};

const HELP = `
Examples:
  $ platform diff agent.yaml agent.new.yaml
  $ platform diff main:agent.yaml --exit-code
  $ platform diff HEAD~1:agent.yaml HEAD:agent.yaml --format markdown

A git revision is REVISION:PATH; the path starts at the root of the repository, or with ./ at the working directory.
HIGH: a guardrail or a key reference was removed. MEDIUM: the model or its provider changed, or a part of the evaluation
was removed. LOW: any other change. A secret that is written into a manifest is shown as [literal value].

Exit codes: 0 compared; 1 there is a change and --exit-code is set, or a manifest cannot be read or is not valid.`;

async function diff(from: string, to: string, flags: DiffFlags, context: CliContext): Promise<Rendered> {
  const [before, after] = [await loadRevision(from, context), await loadRevision(to, context)];
  if (!before.ok) return invalidManifest(before, flags.json);
  if (!after.ok) return invalidManifest(after, flags.json);
  const report = diffManifests(
    { name: from, manifest: before.manifest },
    { name: to, manifest: after.manifest },
  );
  const exitCode = flags.exitCode && report.changes.length > 0 ? 1 : 0;
  const { format } = flags;
  if (format === 'json' || format === 'text')
    return reported(flags, withoutPaths(report), diffText(report, context), exitCode);
  const rendered = FINDING_FORMATS[format]({
    command: 'diff',
    file: fileOf(to),
    summary: `${from} to ${to}: ${scoresOf(report)}`,
    findings: findingsOf(report, after.text),
    passed: [],
  });
  return { ...done(rendered, exitCode), json: '' };
}

function withoutPaths({ changes, ...report }: DiffReport): object {
  return { ...report, changes: changes.map(({ path: _path, ...change }) => change) };
}

type Scores = Omit<DiffReport, 'from' | 'to' | 'changes'>;

function scoresOf({ scoreTo, netScoreChange }: Scores): string {
  return `score relative to the first file ${scoreTo}/100 (${netScoreChange})`;
}

const STYLES = { HIGH: 'red', MEDIUM: 'yellow', LOW: 'dim' } as const;

function diffText({ from, to, changes, ...scores }: DiffReport, { color }: CliContext): string {
  const paint = painter(color);
  const heading = `${paint('bold', `${printable(from)} to ${printable(to)}`)}  ${scoresOf(scores)}\n`;
  if (changes.length === 0) return `${heading}\nno change\n`;
  const rows = changes.map(({ severity, scoreImpact, description }): Cell[] => [
    { text: severity, style: STYLES[severity] },
    { text: String(scoreImpact) },
    { text: printable(description) },
  ]);
  return `${heading}\n${table(['SEVERITY', 'IMPACT', 'CHANGE'], rows, paint)}`;
}

const SEVERITIES: Readonly<Record<DriftSeverity, Severity>> = { HIGH: 'high', MEDIUM: 'medium', LOW: 'low' };

const titleOf = (code: string) => DRIFT_RULES.find((rule) => rule.code === code)?.when ?? code;

/** Path without the revision. */
const fileOf = (name: string): string => name.replace(REVISION, '');

/** Positions are in the later manifest; a removed value is at the nearest parent that is left. */
function findingsOf({ to, changes }: DiffReport, text: string): Finding[] {
  const positionOf = positionsIn(text);
  const file = fileOf(to);
  return changes.map(({ code, property, severity, scoreImpact, description, path }) => ({
    code,
    item: property,
    severity: SEVERITIES[severity],
    title: titleOf(code),
    message: `${description} (impact ${scoreImpact}).`,
    help: '',
    file,
    ...positionOf(path),
  }));
}
