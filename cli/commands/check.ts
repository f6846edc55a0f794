import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import type { CheckReport } from '../../authoring/diagnosis/check-report.ts';
import {
  CHECK_SEVERITIES,
  fails,
  type CheckFinding,
  type CheckSeverity,
} from '../../authoring/diagnosis/rule.ts';
import type { ClusterResult } from '../cluster/connect.ts';
import { addClusterOptions, type ClusterFlags } from '../cluster-options.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { duration } from '../option-values.ts';
import { printable, refusal, reported, type Rendered } from '../rendered.ts';
import { painter, plural, type Paint } from '../table.ts';

type CheckFlags = ClusterFlags & {
  /** Check before the installation. */
  pre?: true;
  failOn: CheckSeverity;
  /** Milliseconds; absent: one attempt. */
  wait?: number;
};

export const addCheck: AddCommand = (program, context, finish) => {
  const command = program
    .command('check')
    .summary('check a cluster and the installation in it')
    .description(
      'Checks the cluster, the installation and its agents, and reports each problem with a hint. It changes nothing: test pods are created only as dry runs.',
    )
    .option('--pre', 'check before the installation whether the product can be installed')
    .addOption(
      new Option(
        '--wait [duration]',
        'retry until all checks pass, for at most 90s, 5m or 1h, for example; without a duration 2m',
      )
        .preset('2m')
        .argParser(duration('smh')),
    )
    .addOption(
      new Option('--fail-on <severity>', 'exit with 1 if a finding has at least this severity')
        .choices(CHECK_SEVERITIES)
        .default('error'),
    );
  addClusterOptions(command, '{version, server, kubernetes, release, findings[], passed[]}')
    .addHelpText('after', HELP)
    .action(async (flags: CheckFlags) => finish(await check(flags, context)));
};

const HELP = `
Examples:
  $ platform check --pre
  $ platform check
  $ platform check --wait 5m -n platform-system
  $ platform check --json --fail-on warning

Each finding has a code, a hint and a link to docs/reference/checks.md. A check is "unknown" if you lack a permission that
it needs. The missing permission is shown, and the check counts as a finding.

Exit codes: 0 no finding of that severity (default: error) or above; 1 at least one such finding, or the cluster is
unreachable.`;

const PAUSE_MS = 2_000;

/** Finds problems of the cluster or the installation. */
async function check(flags: CheckFlags, context: CliContext): Promise<Rendered> {
  const { runCheck } = await import('../cluster/main.ts');
  const endMs = performance.now() + (flags.wait ?? 0);
  for (;;) {
    const result = await runCheck(flags, context);
    const leftMs = endMs - performance.now();
    if (leftMs <= 0 || !shouldRetry(result, flags))
      return result.ok
        ? renderCheck(result.report, { ...flags, color: context.color })
        : refusal(printable(result.reason), flags.json);
    context.progress?.(`${progressOf(result, flags)}; ${Math.ceil(leftMs / 1_000)} s left`);
    await sleep(Math.min(PAUSE_MS, leftMs));
  }
}

function shouldRetry(result: ClusterResult<CheckReport>, { failOn }: CheckFlags): boolean {
  return result.ok ? fails(result.report.findings, failOn) : result.isTransient;
}

function progressOf(result: ClusterResult<CheckReport>, { failOn }: CheckFlags): string {
  if (!result.ok) return `waiting: ${printable(result.reason)}`;
  const codes = result.report.findings.filter((each) => fails([each], failOn)).map(({ code }) => code);
  return `waiting for ${[...new Set(codes)].join(', ')}`;
}

/** Output and exit code of `platform check`. */
export function renderCheck(
  report: CheckReport,
  flags: Pick<CheckFlags, 'json' | 'failOn'> & Pick<CliContext, 'color'>,
): Rendered {
  const exitCode = fails(report.findings, flags.failOn) ? 1 : 0;
  return reported(flags, report, checkText(report, painter(flags.color)), exitCode);
}

function checkText({ server, kubernetes, release, findings, passed }: CheckReport, paint: Paint): string {
  const head = [
    `cluster ${printable(server)}${kubernetes === null ? '' : `, Kubernetes ${printable(kubernetes)}`}`,
    ...(release === null
      ? []
      : [`release ${release.name} in ${release.namespace}, version ${release.versions.join(', ')}`]),
  ];
  const blocks = findings.map((finding) => findingText(finding, paint));
  return [`${head.join('\n')}\n`, ...blocks, `${summary(findings, passed.length, paint)}\n`].join('\n');
}

const STYLE = { error: 'red', warning: 'yellow', unknown: 'dim' } as const;

const wordOf = ({ status, severity }: CheckFinding) => (status === 'unknown' ? status : severity);

function findingText(finding: CheckFinding, paint: Paint): string {
  const word = wordOf(finding);
  const { code, message, hint, docs } = finding;
  return `${paint(STYLE[word], word)} ${paint('bold', code)}: ${printable(message)}\n  ${printable(hint)}\n  ${paint('dim', docs)}\n`;
}

function summary(findings: readonly CheckFinding[], passed: number, paint: Paint): string {
  const count = (word: keyof typeof STYLE) => findings.filter((each) => wordOf(each) === word).length;
  const counted = CHECK_SEVERITIES.filter((word) => count(word) > 0).map((word) => plural(count(word), word));
  const unknown = count('unknown') > 0 ? [`${count('unknown')} unknown`] : [];
  const text = [...counted, ...unknown, `${plural(passed, 'check')} passed`].join(', ');
  return findings.length === 0 ? paint('green', text) : text;
}
