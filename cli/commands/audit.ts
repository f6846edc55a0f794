import { resolve } from 'node:path';
import { audit, type AuditResult } from '../../core/audit/audit.ts';
import type { Evidence } from '../../core/audit/earned.ts';
import type { Pack } from '../../core/manifest/packs.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import { auditText } from '../audit-text.ts';
import type { CliContext } from '../context.ts';
import { failed, json, printable, type Rendered } from '../rendered.ts';
import { fetchEvidence, shownUrl } from '../sidecar-evidence.ts';
import { painter } from '../table.ts';
import { replaceFile } from '../../push/replace-file.ts';
import { causeOf } from '../write-file.ts';
import { problemLines, problemObjects } from './validate.ts';

export interface AuditCommandOptions {
  /** Empty: the packs of the manifest, else all. */
  packs: readonly Pack[];
  /** URL of the sidecar's control port; null: audit only the manifest. */
  url: URL | null;
  /** Count local proofs even if the sidecar does not accept them. */
  acceptLocalProofs: boolean;
  json: boolean;
  /** Additional output file, as typed. */
  output?: string;
  /** Exit code 1 if the declared score is below this, 0..100. */
  failBelow?: number;
}

/** `audit <file>`: audits the manifest against the compliance rules, with `--url` also against the sidecar's evidence. */
export async function auditCommand(
  loaded: LoadedManifest,
  options: AuditCommandOptions,
  context: CliContext,
): Promise<Rendered> {
  if (!loaded.ok) {
    const body = { error: 'the manifest is not valid', problems: problemObjects(loaded) };
    return failed(problemLines(loaded), options.json ? json(body) : '');
  }
  const { manifest } = loaded;
  const fetched =
    options.url === null ? null : await evidenceOf(manifest, options.url, options.acceptLocalProofs);
  if (fetched?.ok === false)
    return failed(`error: ${fetched.reason}\n`, options.json ? json({ error: fetched.reason }) : '');
  const evidence = fetched?.evidence ?? null;
  const result = audit(manifest, { packs: options.packs, evidence, at: context.now() });
  const rendered = renderAudit(result, options, context.color);
  return options.output === undefined
    ? rendered
    : written(rendered, options.output, { result, options, context });
}

/** Evidence of the sidecar; a failure if the sidecar belongs to another agent. */
async function evidenceOf(
  manifest: Manifest,
  url: URL,
  acceptLocalProofs: boolean,
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
export function renderAudit(
  result: AuditResult,
  options: Pick<AuditCommandOptions, 'json' | 'failBelow' | 'url'>,
  color: boolean,
): Rendered {
  const { score } = result.declared;
  const isBelow = options.failBelow !== undefined && score < options.failBelow;
  return {
    output: options.json ? json(auditObject(result)) : textOf(result, options.url, color),
    errors: isBelow ? `error: the declared score ${score} is below ${options.failBelow}\n` : '',
    exitCode: isBelow ? 1 : 0,
  };
}

function textOf(result: AuditResult, url: URL | null, color: boolean): string {
  return auditText(result, url === null ? null : shownUrl(url), painter(color));
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
  { result, options, context }: { result: AuditResult; options: AuditCommandOptions; context: CliContext },
): Promise<Rendered> {
  const isJson = options.json || output.toLowerCase().endsWith('.json');
  const text = isJson ? json(auditObject(result)) : textOf(result, options.url, false);
  try {
    await replaceFile(resolve(context.cwd, output), text, 0o666);
  } catch (error) {
    const reason = `error: cannot write ${printable(output)}: ${causeOf(error)}\n`;
    return { ...rendered, errors: rendered.errors + reason, exitCode: 1 };
  }
  return { ...rendered, errors: `wrote ${printable(output)}\n${rendered.errors}` };
}
