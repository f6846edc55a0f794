import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { audit, type AuditResult } from '../../core/audit/audit.ts';
import { isPack, PACKS, type Pack } from '../../core/manifest/packs.ts';
import { auditObject } from '../audit-object.ts';
import { auditText } from '../audit-text.ts';
import { parsePath, positionsIn } from '../../core/manifest/position.ts';
import type { AddCommand, CliContext } from '../context.ts';
import type { Finding, FindingsReport } from '../findings/finding.ts';
import {
  formatOf,
  formatOption,
  jsonOption,
  type FormatFlags,
  type OutputFormat,
} from '../findings/format-option.ts';
import { FINDING_FORMATS } from '../findings/formats.ts';
import { invalidManifest, load } from '../load.ts';
import { httpUrl } from '../option-values.ts';
import { json, printable, refusal, type Rendered } from '../rendered.ts';
import { evidenceFor } from '../sidecar-evidence.ts';
import { shownUrl } from '../sidecar-request.ts';
import { painter } from '../table.ts';
import { replaceFile } from '../../push/replace-file.ts';
import { causeOf, isSameFile, OVERWRITES_INPUT } from '../file-failure.ts';

interface AuditFlags extends FormatFlags {
  /** Absent: the packs of the manifest, else all. */
  pack?: Pack[];
  /** URL of the sidecar's control port; absent: audit only the manifest. */
  url?: URL;
  /** Count local proofs even if the sidecar does not accept them. */
  acceptLocalProofs?: boolean;
  /** Additional output file, as typed. */
  output?: string;
  /** Exit code 1 if the declared score is below this, 0..100. */
  failBelow?: number;
}

export const addAudit: AddCommand = (program, context, finish) => {
  program
    .command('audit')
    .summary('audit a manifest against the compliance rules')
    .description(
      'Audits a manifest against the compliance rules. The declared score rates the declarations in the manifest. With --url, the proved score rates the declarations for which the sidecar has evidence.',
    )
    .argument('<file>', 'path to the manifest, such as agent.yaml')
    .addOption(
      new Option(
        '--pack <pack>',
        'audit only this pack; repeatable; default: spec.compliance.packs, else all',
      )
        .choices(PACKS)
        .argParser(collectPack),
    )
    .option(
      '--url <url>',
      "URL of the sidecar's control port, to get its checks, observations and proofs",
      httpUrl,
    )
    .option(
      '--accept-local-proofs',
      'count proofs written through port 4001 even if the sidecar accepts proofs only from the control plane',
    )
    .addOption(
      jsonOption(
        '{overallScore, grade, passedRules, totalRules, violations[], suppressions[]}; with --url also provedScore, provedGrade, pendingProofCount, countedProofs[]{ruleId, origin}, uncountedProofs[]',
      ),
    )
    .addOption(formatOption())
    .option(
      '--output <file>',
      'also write the report to a file, in the same format, or as JSON if its name ends in .json',
    )
    .option('--fail-below <score>', 'exit with 1 if the declared score is below this (0 to 100)', score)
    .addHelpText('after', HELP)
    .action(async (file: string, flags: AuditFlags) => finish(await auditFile(file, flags, context)));
};

const HELP = `
Examples:
  $ platform audit agent.yaml
  $ platform audit agent.yaml --pack owasp-llm-top10 --fail-below 75
  $ platform audit agent.yaml --url http://localhost:4001
  $ platform audit agent.yaml --json --output audit.json
  $ platform audit agent.yaml --format sarif > audit.sarif

A passed rule is marked [D] declared. With --url it can also be [P] probed (its check passes), [B] observed (requests
through the sidecar show it) or [X] proved (an unexpired proof was submitted; its origin is shown). If the sidecar accepts
proofs only from the control plane, local proofs count only with --accept-local-proofs. An unreachable sidecar is an error.

Exit codes: 0 audit complete; 1 the declared score is below --fail-below, the manifest is not valid, the sidecar is
unreachable, or the report cannot be written.`;

function collectPack(value: string, before: Pack[] = []): Pack[] {
  if (!isPack(value)) throw new InvalidArgumentError(`Allowed choices are ${PACKS.join(', ')}.`);
  return [...before, value];
}

function score(value: string): number {
  const number = /^\d{1,3}(?:\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= 100)) throw new InvalidArgumentError('Must be a number from 0 to 100, such as 75.');
  return number;
}

/** Audits the manifest against the compliance rules, with `--url` also against the sidecar's evidence. */
async function auditFile(file: string, flags: AuditFlags, context: CliContext): Promise<Rendered> {
  const isJson = formatOf(flags) === 'json';
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, isJson);
  const { manifest } = loaded;
  const { output } = flags;
  if (output !== undefined && (await isSameFile(resolve(context.cwd, output), resolve(context.cwd, file))))
    return refusal(`cannot write ${printable(output)}: ${OVERWRITES_INPUT}`, isJson);
  const { acceptLocalProofs: acceptLocal = false } = flags;
  const fetched = flags.url === undefined ? null : await evidenceFor(manifest, flags.url, { acceptLocal });
  if (fetched?.ok === false) return refusal(fetched.reason, isJson);
  const evidence = fetched?.evidence ?? null;
  const result = audit(manifest, { packs: flags.pack ?? [], evidence, at: context.now() });
  const outputIn = (format: OutputFormat, color: boolean): string => {
    if (format === 'json') return json(auditObject(result));
    if (format === 'text') return textOf(result, flags.url, color);
    return FINDING_FORMATS[format](findingsOf(result, { file, text: loaded.text }));
  };
  const rendered = { ...belowOf(result, flags), output: outputIn(formatOf(flags), context.color) };
  if (flags.output === undefined) return rendered;
  const isJsonFile = formatOf(flags) === 'text' && flags.output.toLowerCase().endsWith('.json');
  return await written(
    rendered,
    outputIn(isJsonFile ? 'json' : formatOf(flags), false),
    flags.output,
    context,
  );
}

/** An error and exit code 1 if the declared score is below `failBelow`. */
function belowOf(result: AuditResult, { failBelow }: AuditFlags): Pick<Rendered, 'errors' | 'exitCode'> {
  const { score } = result.declared;
  if (failBelow === undefined || score >= failBelow) return { errors: '', exitCode: 0 };
  return { errors: `error: the declared score ${score} is below ${failBelow}\n`, exitCode: 1 };
}

function textOf(result: AuditResult, url: URL | undefined, color: boolean): string {
  return auditText(result, url === undefined ? null : shownUrl(url), painter(color));
}

/** The violations at their positions in the manifest. */
function findingsOf(
  { declared, proved, verdicts }: AuditResult,
  { file, text }: { file: string; text: string },
): FindingsReport {
  const positionOf = positionsIn(text);
  const scores = [`declared ${declared.score}/100 ${declared.grade}`];
  if (proved !== null) scores.push(`proved ${proved.score}/100 ${proved.grade}`);
  return {
    command: 'audit',
    file,
    summary: scores.join(', '),
    passed: verdicts.flatMap(({ passed, rule }) => (passed ? [rule.id] : [])),
    findings: verdicts.flatMap((verdict): Finding[] => {
      if (verdict.passed) return [];
      const { id, severity, message, recommendation } = verdict.rule;
      const position = positionOf(parsePath(verdict.path));
      return [{ code: id, severity, title: message, message, help: recommendation, file, ...position }];
    }),
  };
}

/** Also writes the report to the file `output`. */
async function written(
  rendered: Rendered,
  text: string,
  output: string,
  { cwd }: CliContext,
): Promise<Rendered> {
  try {
    await replaceFile(resolve(cwd, output), text, 0o666);
  } catch (error) {
    const reason = `error: cannot write ${printable(output)}: ${causeOf(error)}\n`;
    return { ...rendered, errors: rendered.errors + reason, exitCode: 1 };
  }
  return { ...rendered, errors: `wrote ${printable(output)}\n${rendered.errors}` };
}
