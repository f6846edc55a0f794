import type { AddCommand, CliContext } from '../context.ts';
import { assessmentText } from '../egress/assessment-text.ts';
import { parseAssessment, type ShownAssessment } from '../egress/reports.ts';
import { httpUrl, score } from '../option-values.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { refusal, reported, type Rendered } from '../rendered.ts';
import { failureText, requestJson } from '../sidecar-request.ts';
import { painter } from '../table.ts';

interface GapFlags extends FormatFlags {
  url: URL;
  /** Exit code 1 if the score is below this, 0..100. */
  failBelow?: number;
}

export const addGap: AddCommand = (program, context, finish) => {
  program
    .command('gap')
    .summary('show how a running agent differs from its manifest, and how to fix it')
    .description(
      'Shows whether a running agent is compliant, each difference from its manifest with the points that it costs and its fix, and which declared items something showed in the last 24 hours.',
    )
    .option('--url <url>', "URL of the sidecar's control port", httpUrl, new URL('http://localhost:4001'))
    .addOption(jsonOption('the response of GET /gap'))
    .addOption(formatOption())
    .addOption(new ReportOption())
    .option('--fail-below <score>', 'exit with 1 if the score is below this (0 to 100)', score)
    .addHelpText('after', HELP)
    .action(async (flags: GapFlags) => finish(await gap(flags, context)));
};

const HELP = `
Examples:
  $ platform gap
  $ platform gap --url localhost:4001 --fail-below 75
  $ kubectl port-forward pod/my-agent-0 4001 & platform gap --json

Exit codes: 0 printed, whatever the verdict; 1 the score is below --fail-below, the sidecar is unreachable, or the result cannot
be written.`;

/** Shows the gap report of a sidecar. */
async function gap(flags: GapFlags, { color }: CliContext): Promise<Rendered> {
  const parse = (body: unknown): { body: unknown; assessment: ShownAssessment } | null => {
    const assessment = parseAssessment(body);
    return assessment && { body, assessment };
  };
  try {
    const { body, assessment } = await requestJson(flags.url, '/gap', parse);
    const rendered = reported(flags, body, assessmentText(assessment, painter(color)));
    const { score: found } = assessment;
    const { failBelow = 0 } = flags;
    if (found >= failBelow) return rendered;
    return { ...rendered, errors: `error: the score ${found} is below ${failBelow}\n`, exitCode: 1 };
  } catch (error) {
    return refusal(failureText(error), flags.json);
  }
}
