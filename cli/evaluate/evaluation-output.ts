import type { EvaluationReport, SampleResult } from '../../authoring/evaluation/evaluation.ts';
import type { CliContext } from '../context.ts';
import { FINDING_FORMATS } from '../findings/formats.ts';
import { printable } from '../rendered.ts';
import { painter, plural, table, type Cell, type Paint } from '../table.ts';

/** A JUnit file with one test case per sample. */
export function evaluationJunit({ dataset, samples }: EvaluationReport): string {
  return FINDING_FORMATS.junit({
    command: 'evaluate',
    file: dataset,
    summary: dataset,
    passed: samples.filter(({ passed }) => passed).map(({ line }) => `${dataset}:${line}`),
    findings: samples
      .filter(({ passed }) => !passed)
      .map((sample) => ({
        code: `${dataset}:${sample.line}`,
        severity: 'medium',
        title: 'The response does not contain the expected text.',
        message: failureText(sample),
        help: '',
        file: dataset,
        line: sample.line,
        column: 1,
      })),
  });
}

const failureText = ({ expected, response, error }: SampleResult): string =>
  error ?? `expected ${JSON.stringify(expected)} in ${JSON.stringify(response ?? '')}`;

/** PASS only if every sample passed; a gate with a threshold below 100 % can pass with failed samples. */
function resultText({ ciGateResult, interrupted }: EvaluationReport, failed: number, paint: Paint): string {
  if (ciGateResult === 'FAIL') return paint('red', 'FAIL');
  if (failed > 0) return paint('yellow', `${failed} FAILED`);
  return interrupted === true ? paint('yellow', 'INTERRUPTED') : paint('green', 'PASS');
}

/** The report for a terminal. */
export function evaluationText(report: EvaluationReport, { color }: CliContext): string {
  const paint = painter(color);
  const { metrics, threshold, totalSamples, latencyMs, tokens, samples } = report;
  const failed = samples.filter(({ passed }) => !passed);
  const rate = `${(metrics.pass_rate * 100).toFixed(1)} %`;
  const reached = metrics.pass_rate < (threshold ?? 0) ? 'not reached' : 'reached';
  const gate = threshold === null ? '' : `, threshold ${threshold * 100} % ${reached}`;
  const lines = [
    `${paint('bold', printable(report.dataset))} at ${report.agentUrl}`,
    `  ${resultText(report, failed.length, paint)}  ${totalSamples - failed.length} of ${totalSamples} passed (${rate}${gate})`,
  ];
  if (latencyMs !== null)
    lines.push(`  latency p50 ${latencyMs.p50} ms, p95 ${latencyMs.p95} ms, p99 ${latencyMs.p99} ms`);
  lines.push(
    `  tokens ${tokens.total}${tokens.samplesWithoutTokens === 0 ? '' : `, unknown for ${plural(tokens.samplesWithoutTokens, 'sample')}`}`,
  );
  const rows = failed.map((sample): Cell[] => [
    { text: String(sample.line) },
    { text: printable(sample.input).slice(0, 40) },
    { text: printable(failureText(sample)).slice(0, 120), style: 'red' },
  ]);
  const failures = rows.length === 0 ? '' : `\n${table(['LINE', 'INPUT', 'FAILURE'], rows, paint)}`;
  return `${lines.join('\n')}\n${failures}`;
}
