import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { audit, type AuditResult } from '../../core/audit/audit.ts';
import type { Evidence } from '../../core/audit/earned.ts';
import { isPack, PACKS, type Pack } from '../../core/manifest/packs.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { auditText } from '../audit-text.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { invalidManifest, load } from '../load.ts';
import { httpUrl } from '../option-values.ts';
import { json, printable, refusal, type Rendered } from '../rendered.ts';
import { fetchEvidence, shownUrl } from '../sidecar-evidence.ts';
import { painter } from '../table.ts';
import { replaceFile } from '../../push/replace-file.ts';
import { causeOf } from '../file-failure.ts';

interface AuditFlags {
  /** Absent: the packs of the manifest, else all. */
  pack?: Pack[];
  /** URL of the sidecar's control port; absent: audit only the manifest. */
  url?: URL;
  /** Count local proofs even if the sidecar does not accept them. */
  acceptLocalProofs?: boolean;
  json?: true;
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
    .option(
      '--pack <pack>',
      `audit only this pack; repeatable (${PACKS.join(', ')}; default: spec.compliance.packs, else all)`,
      collectPack,
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
    .option(
      '--json',
      'print {overallScore, grade, passedRules, totalRules, violations[], suppressions[]}; with --url also provedScore, provedGrade, pendingProofCount, countedProofs[]{ruleId, origin}, uncountedProofs[]',
    )
    .option(
      '--output <file>',
      'also write the report to a file: JSON with --json or a name ending in .json, else text',
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
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, flags.json);
  const { manifest } = loaded;
  const fetched = flags.url === undefined ? null : await evidenceOf(manifest, flags.url, flags);
  if (fetched?.ok === false) return refusal(fetched.reason, flags.json);
  const evidence = fetched?.evidence ?? null;
  const result = audit(manifest, { packs: flags.pack ?? [], evidence, at: context.now() });
  const rendered = renderAudit(result, flags, context.color);
  return flags.output === undefined ? rendered : written(rendered, flags.output, { result, flags, context });
}

/** Evidence of the sidecar; a failure if the sidecar belongs to another agent. */
async function evidenceOf(
  manifest: Manifest,
  url: URL,
  { acceptLocalProofs = false }: AuditFlags,
): Promise<{ ok: true; evidence: Evidence } | { ok: false; reason: string }> {
  const fetched = await fetchEvidence(url, acceptLocalProofs);
  if (!fetched.ok) return { ok: false, reason: `${fetched.reason}\n${fetched.advice}` };
  const { name } = manifest.metadata;
  if (fetched.agentName === name) return fetched;
  const other = printable(fetched.agentName);
  return {
    ok: false,
    reason: `the sidecar at ${shownUrl(url)} belongs to agent "${other}", but the manifest is for "${name}"`,
  };
}

/** Output of `audit`; exit code 1 if the declared score is below `failBelow`. */
function renderAudit(result: AuditResult, flags: AuditFlags, color: boolean): Rendered {
  const { score } = result.declared;
  const isBelow = flags.failBelow !== undefined && score < flags.failBelow;
  return {
    output: flags.json ? json(auditObject(result)) : textOf(result, flags.url, color),
    errors: isBelow ? `error: the declared score ${score} is below ${flags.failBelow}\n` : '',
    exitCode: isBelow ? 1 : 0,
  };
}

function textOf(result: AuditResult, url: URL | undefined, color: boolean): string {
  return auditText(result, url === undefined ? null : shownUrl(url), painter(color));
}

/** Output of `--json`; the proved score only if evidence was requested. */
function auditObject(result: AuditResult): Record<string, unknown> {
  const { declared, proved, verdicts, suppressions, pendingProofs, uncountedProofs } = result;
  const passedRules = verdicts.filter(({ passed }) => passed).length;
  return {
    overallScore: declared.score,
    grade: declared.grade,
    ...(proved === null
      ? {}
      : {
          provedScore: proved.score,
          provedGrade: proved.grade,
          pendingProofCount: pendingProofs.length,
          countedProofs: verdicts.flatMap(countedOf),
          uncountedProofs,
        }),
    passedRules,
    totalRules: verdicts.length,
    violations: verdicts.flatMap((each) => (each.passed ? [] : [violationOf(each)])),
    suppressions,
  };
}

/** A rule with a counted proof, and the origin of the proof. */
function countedOf(verdict: AuditResult['verdicts'][number]): { ruleId: string; origin: string | null }[] {
  if (!verdict.passed || verdict.earned !== 'X') return [];
  return [{ ruleId: verdict.rule.id, origin: verdict.origin ?? null }];
}

function violationOf({ rule, path }: AuditResult['verdicts'][number] & { passed: false }): object {
  const { id, severity, pack, tier, message, recommendation, references } = rule;
  return { ruleId: id, severity, pack, tier, message, path, recommendation, references };
}

/** Also writes the report to a file: JSON with `--json` or a name ending in .json, else text without colours. */
async function written(
  rendered: Rendered,
  output: string,
  { result, flags, context }: { result: AuditResult; flags: AuditFlags; context: CliContext },
): Promise<Rendered> {
  const isJson = flags.json === true || output.toLowerCase().endsWith('.json');
  const text = isJson ? json(auditObject(result)) : textOf(result, flags.url, false);
  try {
    await replaceFile(resolve(context.cwd, output), text, 0o666);
  } catch (error) {
    const reason = `error: cannot write ${printable(output)}: ${causeOf(error)}\n`;
    return { ...rendered, errors: rendered.errors + reason, exitCode: 1 };
  }
  return { ...rendered, errors: `wrote ${printable(output)}\n${rendered.errors}` };
}
