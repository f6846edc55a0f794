import { resolve } from 'node:path';
import { audit, type AuditResult } from '../../core/audit/audit.ts';
import type { Evidence } from '../../core/audit/earned.ts';
import type { Pack } from '../../core/audit/packs.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import { auditText } from '../audit-text.ts';
import type { CliContext } from '../context.ts';
import { failed, json, printable, type Rendered } from '../rendered.ts';
import { askSidecar, shownUrl } from '../sidecar-evidence.ts';
import { painter } from '../table.ts';
import { causeOf, replaceFile } from '../write-file.ts';
import { problemLines, problemObjects } from './validate.ts';

export interface AuditCommandOptions {
  /** Empty: the manifest's, else all. */
  packs: readonly Pack[];
  /** The sidecar's control port; null: the manifest alone. */
  url: URL | null;
  /** Count local proofs also where the sidecar accepts none. */
  acceptLocalProofs: boolean;
  json: boolean;
  /** A file that gets the report too, as it was typed. */
  output?: string;
  /** Lowest declared score that is not a failure, 0..100. */
  failBelow?: number;
}

/** `audit <file>`: the manifest held against the compliance rules, and with `--url` against what its sidecar can show. */
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
  const asked =
    options.url === null ? null : await evidenceOf(manifest, options.url, options.acceptLocalProofs);
  if (asked?.ok === false)
    return failed(`${asked.reason}\n`, options.json ? json({ error: asked.reason }) : '');
  const evidence = asked?.evidence ?? null;
  const result = audit(manifest, { packs: options.packs, evidence, at: context.now() });
  const rendered = renderAudit(result, options, context.color);
  return options.output === undefined
    ? rendered
    : written(rendered, options.output, { result, options, context });
}

/** What the sidecar knows; of another agent's it is no evidence at all. */
async function evidenceOf(
  manifest: Manifest,
  url: URL,
  acceptLocalProofs: boolean,
): Promise<{ ok: true; evidence: Evidence } | { ok: false; reason: string }> {
  const asked = await askSidecar(url, acceptLocalProofs);
  if (!asked.ok) return { ok: false, reason: `${asked.reason}\n${asked.advice}` };
  const { name } = manifest.metadata;
  if (asked.agentName === name) return asked;
  const other = printable(asked.agentName);
  return {
    ok: false,
    reason: `${shownUrl(url)} is the sidecar of the agent ${other}, and this is the manifest of ${name}: what it knows shows nothing here`,
  };
}

/** What `audit` prints, and its exit code: 1 when the declared score is below the wanted one. */
export function renderAudit(
  result: AuditResult,
  options: Pick<AuditCommandOptions, 'json' | 'failBelow' | 'url'>,
  color: boolean,
): Rendered {
  const { score } = result.declared;
  const isBelow = options.failBelow !== undefined && score < options.failBelow;
  return {
    output: options.json ? json(auditObject(result)) : textOf(result, options.url, color),
    errors: isBelow ? `the declared score ${score} is below ${options.failBelow}\n` : '',
    exitCode: isBelow ? 1 : 0,
  };
}

function textOf(result: AuditResult, url: URL | null, color: boolean): string {
  return auditText(result, url === null ? null : shownUrl(url), painter(color));
}

/** What `--json` prints; the proved score only where somebody was asked for evidence. */
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

/** A rule that a proof shows, and the origin of the proof. */
function countedOf(verdict: AuditResult['verdicts'][number]): { ruleId: string; origin: string | null }[] {
  if (!verdict.passed || verdict.earned !== 'X') return [];
  return [{ ruleId: verdict.rule.id, origin: verdict.origin ?? null }];
}

function violationOf({ rule, path }: AuditResult['verdicts'][number] & { passed: false }): object {
  const { id, severity, pack, tier, message, recommendation, references } = rule;
  return { ruleId: id, severity, pack, tier, message, path, recommendation, references };
}

/** The report in a file too: JSON where that is asked for or the file's name says so, else text without colours. */
async function written(
  rendered: Rendered,
  output: string,
  { result, options, context }: { result: AuditResult; options: AuditCommandOptions; context: CliContext },
): Promise<Rendered> {
  const isJson = options.json || output.toLowerCase().endsWith('.json');
  const text = isJson ? json(auditObject(result)) : textOf(result, options.url, false);
  try {
    await replaceFile(resolve(context.cwd, output), text);
  } catch (error) {
    const reason = `${printable(output)} cannot be written: ${causeOf(error)}\n`;
    return { ...rendered, errors: rendered.errors + reason, exitCode: 1 };
  }
  return { ...rendered, errors: `wrote ${printable(output)}\n${rendered.errors}` };
}
