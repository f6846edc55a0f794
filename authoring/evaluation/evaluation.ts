import type { Manifest } from '../../core/manifest/manifest.ts';
import type { Sample } from './dataset.ts';

/** What one sample brought. */
export interface SampleResult {
  /** 1-based line in the dataset. */
  line: number;
  input: string;
  expected: string;
  passed: boolean;
  /** The beginning of the response; absent without a response. */
  response?: string;
  /** Why there is no response to compare; absent if there is one. */
  error?: string;
  latencyMs: number;
  /** Total tokens as the response reports them; absent: unknown. */
  tokens?: number;
}

/** Result of `platform evaluate --json`. */
export interface EvaluationReport {
  dataset: string;
  agentUrl: string;
  /** Samples with a result. */
  totalSamples: number;
  /** `pass_rate`: 0..1 */
  metrics: { pass_rate: number };
  /** `spec.evaluation.thresholds.pass_rate`; null: not declared. */
  threshold: number | null;
  /** FAIL: `ciGate` is true and the rate is below the threshold. */
  ciGateResult: 'PASS' | 'FAIL';
  /** Milliseconds; null: no sample has a response. */
  latencyMs: { p50: number; p95: number; p99: number } | null;
  /** Sum of the known tokens. */
  tokens: { total: number; samplesWithoutTokens: number };
  /** The run ended before all samples. */
  interrupted?: true;
  samples: SampleResult[];
}

const MAX_RESPONSE = 500;

/** Compares a response with the sample. `text`: the whole text of the response. */
export function judgeSample(
  { line, input, expected }: Sample,
  { text, latencyMs, tokens }: { text: string; latencyMs: number; tokens: number | null },
): SampleResult {
  const passed = text.toLowerCase().includes(expected.toLowerCase());
  const response = text.length > MAX_RESPONSE ? `${text.slice(0, MAX_RESPONSE)}…` : text;
  return { line, input, expected, passed, response, latencyMs, ...(tokens !== null && { tokens }) };
}

export function evaluationReport(
  { spec: { evaluation } }: Manifest,
  run: { dataset: string; agentUrl: string; samples: readonly SampleResult[]; isInterrupted: boolean },
): EvaluationReport {
  const samples = run.samples.toSorted((a, b) => a.line - b.line);
  const passRate = samples.length === 0 ? 0 : samples.filter(({ passed }) => passed).length / samples.length;
  const threshold = evaluation?.thresholds?.['pass_rate'] ?? null;
  const isBelow = evaluation?.ciGate === true && threshold !== null && passRate < threshold;
  return {
    dataset: run.dataset,
    agentUrl: run.agentUrl,
    totalSamples: samples.length,
    metrics: { pass_rate: passRate },
    threshold,
    ciGateResult: isBelow ? 'FAIL' : 'PASS',
    latencyMs: percentiles(
      samples.filter(({ error }) => error === undefined).map(({ latencyMs }) => latencyMs),
    ),
    tokens: {
      total: samples.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
      samplesWithoutTokens: samples.filter(({ tokens }) => tokens === undefined).length,
    },
    ...(run.isInterrupted && { interrupted: true }),
    samples,
  };
}

/** Nearest-rank percentiles. */
function percentiles(values: readonly number[]): EvaluationReport['latencyMs'] {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (percent: number) => sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? 0;
  return { p50: at(50), p95: at(95), p99: at(99) };
}
