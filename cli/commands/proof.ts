import { Argument, InvalidArgumentError, Option } from 'commander';
import { provedBy } from '../../core/audit/earned.ts';
import { RULES } from '../../core/audit/rules.ts';
import { EXTERNAL_TOOLS, type ExternalTool } from '../../core/shapes/values.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { invalidManifest, load } from '../load.ts';
import { defaultManifest, NO_MANIFEST } from '../manifest-argument.ts';
import { httpUrl } from '../option-values.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { importProofs, type ImportedFile, type ImportReport } from '../proof/import-proofs.ts';
import { printable, refusal, reported, type Rendered } from '../rendered.ts';
import { painter, plural, type Paint } from '../table.ts';

interface ProofFlags extends FormatFlags {
  from?: ExternalTool;
  rule?: string;
  /** Path of the manifest, as typed. */
  manifest?: string;
  namespace?: string;
  dryRun?: true;
  controlUrl: URL;
}

export const addProof: AddCommand = (program, context, finish) => {
  program
    .command('proof')
    .summary('import the results of other test tools as proofs')
    .description(
      'Reads the results of promptfoo, garak, Inspect, DeepEval or SARIF, and writes a proof for each compliance rule whose tests passed. Texts of prompts and responses are not imported.',
    )
    .addArgument(new Argument('<action>', 'what to do').choices(['import']))
    .argument('<files...>', 'files with results')
    .addOption(
      new Option('--from <tool>', 'the tool; default: the form of the file decides').choices(EXTERNAL_TOOLS),
    )
    .option('--rule <rule>', 'the rule that all tests show; required for SARIF', provableRule)
    .option('--manifest <file>', 'path to the manifest; default: agent.yaml, agent.yml or agent.json')
    .option('--namespace <name>', 'namespace of the agent, for the control plane')
    .option('--dry-run', 'print the proofs, and write nothing')
    .option(
      '--control-url <url>',
      "URL of the sidecar's control port",
      httpUrl,
      new URL('http://localhost:4001'),
    )
    .addOption(
      jsonOption(
        '{files[]{file, tool, rules[]{ruleId, names[], run, passed, failed, errors, refused}, ignored[]}, proofs[]{ruleId, submission, receiver, isStale}, problems[]}',
      ),
    )
    .addOption(formatOption())
    .addOption(new ReportOption())
    .addHelpText('after', HELP)
    .action(async (_action: string, files: string[], flags: ProofFlags) =>
      finish(await importFiles(files, flags, context)),
    );
};

const HELP = `
Examples:
  $ platform proof import results.json
  $ platform proof import garak.report.jsonl --dry-run
  $ platform proof import scan.sarif --rule SEC-LLM-04 --json

The names of tests decide the rule; names that show no rule are ignored. Data sets, Inspect and DeepEval show EVAL-01. A proof
requires 20 tests of the rule, no failure and no error; spec.evaluation.external changes the limits per tool. It expires after
90 days, and is stale while the manifest, the model, the prompt file or agent.lock differs from that of the import.
The proof goes to the control plane if PLATFORM_CONTROL_PLANE_URL and PLATFORM_TOKEN or PLATFORM_ADMIN_KEY are set, else to
--control-url.

Exit codes: 0 every rule that was tested has a proof; 1 a file cannot be read, its run did not end, a rule has no proof, or a
proof was not stored.`;

function provableRule(value: string): string {
  const ids = RULES.filter((rule) => provedBy(rule).length > 0).map(({ id }) => id);
  if (!ids.includes(value)) throw new InvalidArgumentError(`Allowed choices are ${ids.join(', ')}.`);
  return value;
}

async function importFiles(
  files: readonly string[],
  flags: ProofFlags,
  context: CliContext,
): Promise<Rendered> {
  const manifestFile = flags.manifest ?? (await defaultManifest(context));
  if (manifestFile === null) return refusal(NO_MANIFEST, flags.json);
  const manifest = await load(manifestFile, context);
  if (!manifest.ok) return invalidManifest(manifest, flags.json);
  const { controlUrl, namespace, from, rule } = flags;
  const report = await importProofs({
    ...{ files, cwd: context.cwd, manifest, manifestFile, from, rule, now: context.now() },
    receiver: flags.dryRun === true ? null : { env: context.env, controlUrl, namespace },
  });
  const isFailed = report.problems.length > 0 || report.proofs.length === 0;
  const rendered = reported(flags, report, textOf(report, painter(context.color)), isFailed ? 1 : 0);
  const warnings = report.proofs.filter(({ isStale }) => isStale).map(({ ruleId }) => staleText(ruleId));
  const lines = [...report.problems.map((each) => `error: ${each}\n`), ...warnings];
  return { ...rendered, errors: lines.join('') };
}

const staleText = (ruleId: string): string =>
  `warning: the proof of ${ruleId} is stale: the agent does not run with the manifest, the model, the prompt file and the lock of this import\n`;

function textOf({ files, proofs }: ImportReport, paint: Paint): string {
  const stored = proofs.map(({ ruleId, submission, receiver }) => {
    const until = submission.expiresAt?.slice(0, 10) ?? '';
    const where = receiver === null ? 'not written' : `written to ${receiver}`;
    return `proof of ${ruleId}, expires ${until}, ${where}\n`;
  });
  return files.map((each) => fileText(each, paint)).join('') + stored.join('');
}

function fileText({ file, tool, rules, ignored }: ImportedFile, paint: Paint): string {
  const lines = rules.map(({ ruleId, names, run, passed, errors, refused }) => {
    const mark = refused === null ? paint('green', 'passed ') : paint('red', 'refused');
    const shown = names.length === 0 ? '' : `: ${names.map(printable).join(', ')}`;
    const without = errors === 0 ? '' : `, ${errors} without a result`;
    return `  ${mark}  ${ruleId.padEnd(10)}  ${passed} of ${plural(run, 'test')} passed${without}${shown}\n`;
  });
  if (ignored.length > 0) lines.push(`  ignored: ${ignored.map(printable).join(', ')}\n`);
  return `${paint('bold', printable(file))}  ${printable(tool)}\n${lines.join('')}`;
}
