import { InvalidArgumentError, Option } from 'commander';
import { audit, type AuditResult, type RuleResult } from '../../core/audit/audit.ts';
import { fixesOf } from '../../core/audit/fixes.ts';
import { PACKS, type Pack } from '../../core/shapes/values.ts';
import { auditObject } from '../audit-object.ts';
import { auditText } from '../audit-text.ts';
import { parsePath, positionsIn } from '../../core/manifest/position.ts';
import type { AddCommand, CliContext } from '../context.ts';
import type { EvaluatedSuppression } from '../../core/shapes/audit.ts';
import type { Finding, FindingsReport } from '../findings/finding.ts';
import { FINDING_FORMATS } from '../findings/formats.ts';
import { invalidManifest, load } from '../load.ts';
import { httpUrl, score } from '../option-values.ts';
import {
  collectLabel,
  denialsText,
  judgeManifest,
  organisationFindings,
  organisationObject,
  organisationText,
  type OrganisationFlags,
} from '../organisation.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import {
  FINDINGS,
  formatOption,
  jsonOption,
  ReportOption,
  type FormatFlags,
  type OutputFormat,
} from '../output-options.ts';
import { json, refusal, type Rendered } from '../rendered.ts';
import { evidenceFor } from '../sidecar-evidence.ts';
import { shownUrl } from '../sidecar-request.ts';
import { painter } from '../table.ts';

interface AuditFlags extends FormatFlags, OrganisationFlags {
  /** Absent: the packs of the manifest, else all. */
  pack?: Pack[];
  /** URL of the sidecar's control port; absent: audit only the manifest. */
  url?: URL;
  /** Count local proofs even if the sidecar does not accept them. */
  acceptLocalProofs?: boolean;
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
    .addArgument(new ManifestArgument())
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
    .option(
      '--policy <path>',
      "file or directory with the organisation's rules (AgentPolicy); a broken Deny rule is exit code 1",
    )
    .option('--namespace <name>', 'namespace of the agent, for --policy')
    .option('--namespace-label <key=value>', 'label of the namespace, for --policy; repeatable', collectLabel)
    .addOption(
      jsonOption(
        '{compliant {status, reason, message}, overallScore, grade, passedRules, totalRules, violations[], fixes[]{ruleIds, path, recommendation, score, grade}, suppressions[]}; with --url also provedScore, provedGrade, pendingProofCount, countedProofs[]{ruleId, origin}, uncountedProofs[], staleProofs[]; with --policy also organisation{allowed, findings[]{policy, rule, severity, action, path, message}, notJudged[]{policy, rule, reason}}',
      ),
    )
    .addOption(formatOption(FINDINGS))
    .addOption(new ReportOption())
    .option('--fail-below <score>', 'exit with 1 if the declared score is below this (0 to 100)', score)
    .addHelpText('after', HELP)
    .action(async (file: string, flags: AuditFlags) => finish(await auditFile(file, flags, context)));
};

const HELP = `
Examples:
  $ platform audit
  $ platform audit agent.yaml --pack owasp-llm-top10 --fail-below 75
  $ platform audit agent.yaml --url localhost:4001
  $ platform audit agent.yaml --json --output audit.json
  $ platform audit agent.yaml --format sarif > audit.sarif
  $ platform audit agent.yaml --policy organisation/ --namespace shop --namespace-label env=production

A passed rule is marked [D] declared. With --url it can also be [P] probed (its check passes), [B] observed (requests
through the sidecar show it) or [X] proved (an unexpired proof was submitted; its origin is shown). If the sidecar accepts
proofs only from the control plane, local proofs count only with --accept-local-proofs. An unreachable sidecar is an error.
With --policy the manifest is compared with the organisation's rules. What cannot be judged without the cluster is listed as not
judged here. The report ends with the fixes that raise the declared score most, at most five. Each score includes the fixes before it.

Exit codes: 0 audit complete; 1 the declared score is below --fail-below, a Deny rule of --policy is broken, the manifest or the
policy is not valid, the sidecar is unreachable, or the report cannot be written.`;

function collectPack(value: string, before: Pack[] = []): Pack[] {
  const pack = PACKS.find((each) => each === value);
  if (pack === undefined) throw new InvalidArgumentError(`Allowed choices are ${PACKS.join(', ')}.`);
  return [...before, pack];
}

const ONLY_DECLARED = {
  evidence: null,
  compliant: {
    status: 'Unknown',
    reason: 'NotObserved',
    message: 'the manifest alone does not show what the agent does; --url adds what its sidecar has seen',
  },
} as const;

/** Audits the manifest against the compliance rules, with `--url` also against the sidecar's evidence. */
async function auditFile(file: string, flags: AuditFlags, context: CliContext): Promise<Rendered> {
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, flags.json);
  const { manifest } = loaded;
  const { acceptLocalProofs: acceptLocal = false } = flags;
  const fetched = flags.url === undefined ? null : await evidenceFor(manifest, flags.url, { acceptLocal });
  if (fetched?.ok === false) return refusal(fetched.reason, flags.json);
  const { evidence, compliant } = fetched ?? ONLY_DECLARED;
  const result = audit(manifest, { packs: flags.pack ?? [], evidence, at: context.now() });
  const proofs = evidence?.proofs ?? null;
  const judged =
    flags.policy === undefined
      ? null
      : await judgeManifest(manifest, { path: flags.policy, flags, proofs }, context);
  if (judged?.ok === false) return refusal(judged.reason, flags.json);
  const judgement = judged?.judgement ?? null;
  const outputIn = (format: OutputFormat, color: boolean): string => {
    if (format === 'json') {
      const organisation = judgement === null ? {} : { organisation: organisationObject(judgement) };
      return json({ compliant, ...auditObject(manifest, result), ...organisation });
    }
    if (format === 'text') {
      const sidecar = flags.url === undefined ? null : shownUrl(flags.url);
      const paint = painter(color);
      const text = auditText(result, { fixes: fixesOf(manifest, result), sidecar, compliant }, paint);
      return judgement === null ? text : `${text}\n${organisationText(judgement, paint)}`;
    }
    const about = { file, text: loaded.text };
    const report = findingsOf(result, about);
    const found = judgement === null ? [] : organisationFindings(judgement, about);
    return FINDING_FORMATS[format]({ ...report, findings: [...report.findings, ...found] });
  };
  const output = outputIn(flags.format, context.color);
  const errors = belowText(result, flags) + (judgement === null ? '' : denialsText(judgement));
  return { errors, exitCode: errors === '' ? 0 : 1, output, json: outputIn('json', false) };
}

/** An error line if the declared score is below `failBelow`; else empty. */
function belowText(result: AuditResult, { failBelow }: AuditFlags): string {
  const { score } = result.declared;
  if (failBelow === undefined || score >= failBelow) return '';
  return `error: the declared score ${score} is below ${failBelow}\n`;
}

/** The violations at their positions in the manifest. */
function findingsOf(
  { declared, proved, results, suppressions }: AuditResult,
  { file, text }: { file: string; text: string },
): FindingsReport {
  const positionOf = positionsIn(text);
  const scores = [`declared score ${declared.score}/100`];
  if (proved !== null) scores.push(`proved score ${proved.score}/100`);
  return {
    command: 'audit',
    file,
    summary: scores.join(', '),
    passed: results.flatMap(({ passed, rule }) => (passed ? [rule.id] : [])),
    findings: [...results.flatMap(violation), ...suppressions.flatMap(unused)],
  };

  function violation(each: RuleResult): Finding[] {
    if (each.passed) return [];
    const { id, severity, message, recommendation, references } = each.rule;
    const position = positionOf(parsePath(each.path));
    return [
      { code: id, severity, title: message, message, help: recommendation, references, file, ...position },
    ];
  }

  function unused({ rule, state }: EvaluatedSuppression, index: number): Finding[] {
    if (state !== 'unused') return [];
    const finding = {
      code: 'suppression.unused',
      item: rule,
      severity: 'low' as const,
      title: 'A suppression is not needed.',
      message: `The suppression of ${rule} is not needed: the manifest satisfies the rule.`,
      help: 'Remove the suppression.',
    };
    return [{ ...finding, file, ...positionOf(['spec', 'compliance', 'suppressions', index]) }];
  }
}
