import type { Packages } from './row.ts';

/** One agent with an instrumentation package, whose spans are the only report of its model calls and tools. */
export interface InstrumentedRow {
  name: string;
  packages: Exclude<Packages, 'none'>;
  /** Packages whose versions the test names if it fails. */
  shows: readonly string[];
  program: string;
  /** File of its recorded exports in core/otlp/samples. */
  sample: string;
  env: Readonly<Record<string, string>>;
  /** Whether the row runs in `make test`. */
  isFast?: true;
}

const GZIP = { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' };

export const INSTRUMENTED_ROWS: readonly InstrumentedRow[] = [
  {
    name: 'OpenTelemetry for Python',
    packages: 'python',
    shows: ['opentelemetry-instrumentation-openai-v2', 'opentelemetry-exporter-otlp-proto-http'],
    program: 'instrumented-agent.py',
    sample: 'opentelemetry-python.pb',
    env: { INSTRUMENTATION: 'opentelemetry' },
    isFast: true,
  },
  {
    name: 'OpenLLMetry for Python, gzip',
    packages: 'python',
    shows: ['opentelemetry-instrumentation-openai'],
    program: 'instrumented-agent.py',
    sample: 'openllmetry-python.pb',
    env: { INSTRUMENTATION: 'openllmetry', ...GZIP },
  },
  {
    name: 'OpenInference for Python',
    packages: 'python',
    shows: ['openinference-instrumentation-openai'],
    program: 'instrumented-agent.py',
    sample: 'openinference-python.pb',
    env: { INSTRUMENTATION: 'openinference' },
  },
  {
    name: 'OpenInference for LangChain',
    packages: 'python',
    shows: ['openinference-instrumentation-langchain', 'langchain'],
    program: 'instrumented-agent.py',
    sample: 'openinference-langchain-python.pb',
    env: { INSTRUMENTATION: 'openinference-langchain' },
  },
  {
    name: 'OpenInference for JavaScript, protobuf',
    packages: 'node',
    shows: ['@arizeai/openinference-instrumentation-openai', '@opentelemetry/exporter-trace-otlp-proto'],
    program: 'instrumented-agent.mjs',
    sample: 'openinference-javascript.pb',
    env: { INSTRUMENTATION: 'openinference', EXPORTER: 'protobuf' },
    isFast: true,
  },
  {
    name: 'OpenLLMetry for JavaScript, JSON, gzip',
    packages: 'node',
    shows: ['@traceloop/instrumentation-openai', '@opentelemetry/exporter-trace-otlp-http'],
    program: 'instrumented-agent.mjs',
    sample: 'openllmetry-javascript.json',
    env: { INSTRUMENTATION: 'openllmetry', EXPORTER: 'json', ...GZIP },
  },
];
