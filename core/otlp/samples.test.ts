// Exports recorded from real instrumentation packages (testing/frameworks/record-otlp.ts). In each of them an agent calls a model
// three times (31 + 5, 67 + 11 and 131 + 23 tokens) and the tool `multiply` twice, after the guardrail `pii-detector`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { TRACE_ID } from '../../testing/sidecar/otlp-export.ts';
import type { BehavioralEvent } from '../shapes/events.ts';
import { decodeJson } from './decode-json.ts';
import { decodeProtobuf } from './decode-protobuf.ts';
import type { OtlpSpan } from './span.ts';
import { evidenceOf } from './span-evidence.ts';
import { TraceSpans } from './trace-spans.ts';
import { WANTED_ATTRIBUTES } from './vocabulary.ts';

const FOLDER = join(import.meta.dirname, 'samples');
const FILES = [
  'openinference-javascript.pb',
  'openinference-langchain-python.pb',
  'openinference-python.pb',
  'openllmetry-javascript.json',
  'openllmetry-python.pb',
  'opentelemetry-python.pb',
];

function spansIn(file: string): OtlpSpan[] {
  const body = readFileSync(join(FOLDER, file));
  return (file.endsWith('.json') ? decodeJson : decodeProtobuf)(body, WANTED_ATTRIBUTES);
}

const call = (promptTokens: number, completionTokens: number) => ({
  ...{ type: 'model', modelId: 'gpt-4o-mini', promptTokens, completionTokens, source: 'span' },
});

test.each(FILES)('%s', (file) => {
  const spans = spansIn(file);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
  const events = new TraceSpans().add(spans, evidenceOf).flatMap(({ evidence: { event } }) => event ?? []);
  const of = (wanted: string) => events.filter(({ type }) => type === wanted);
  expect(of('model')).toEqual([call(31, 5), call(67, 11), call(131, 23)]);
  const tool = expect.objectContaining({ name: 'multiply', success: true });
  expect(of('tool')).toEqual([tool, tool]);
  expect(of('guardrail')).toMatchObject([{ guardrailType: 'pii-detector', invoked: true }]);
});

/**
 * Recorded from SDKs that the programs of `testing/frameworks` do not import, with long texts cut: Langfuse 5.0 (Python) and 5.11
 * (JavaScript), Logfire 5.4 with `openai` 3.57, `openai-agents` 0.24 and `pydantic-ai`, MLflow 3.17, and the AI SDK 6 (5 has the same
 * attributes) and 7. Tokens of each model call, tools, guardrails.
 */
const OTHERS: Record<string, { models: [number, number][]; tools: string[]; guardrails: string[] }> = {
  // One whole response with a tool and one stream with a tool.
  'ai-sdk-6-javascript.json': {
    models: [
      [31, 5],
      [67, 11],
      [131, 23],
      [263, 47],
    ],
    tools: ['multiply', 'multiply'],
    guardrails: [],
  },
  'ai-sdk-7-javascript.json': {
    models: [
      [31, 5],
      [67, 11],
      [131, 23],
      [263, 47],
    ],
    tools: ['multiply', 'multiply'],
    guardrails: [],
  },
  // The last calls are reported by hand: 100 + 7 cached + 20, and in Python an embedding.
  'langfuse-javascript.json': {
    models: [
      [31, 5],
      [67, 11],
      [131, 23],
      [263, 47],
      [107, 20],
    ],
    tools: ['multiply'],
    guardrails: ['pii-detector'],
  },
  'langfuse-python.json': {
    models: [
      [31, 5],
      [67, 11],
      [131, 23],
      [100, 20],
      [9, 0],
    ],
    tools: ['multiply'],
    guardrails: ['pii-detector'],
  },
  'logfire-agents-python.json': {
    models: [
      [31, 5],
      [67, 11],
    ],
    tools: ['multiply'],
    guardrails: ['pii-detector'],
  },
  // Whole response and stream of chat completions, stream and whole response of the Responses API.
  'logfire-openai-python.json': {
    models: [
      [31, 5],
      [67, 11],
      [131, 23],
      [263, 47],
    ],
    tools: [],
    guardrails: [],
  },
  'logfire-pydantic-ai-python.json': {
    models: [
      [31, 5],
      [67, 11],
    ],
    tools: ['multiply'],
    guardrails: [],
  },
  'mlflow-python.json': {
    models: [[31, 5]],
    tools: ['multiply'],
    guardrails: ['pii-detector'],
  },
};

/** The events of all traces. A batch ends before each span, or contains the whole trace. */
function eventsIn(spans: readonly OtlpSpan[], isSplit: boolean): BehavioralEvent[] {
  const traces = Map.groupBy(spans, ({ traceId }) => traceId);
  return [...traces.values()].flatMap((all) => {
    const trace = new TraceSpans();
    const batches = isSplit ? all.toSorted((a, b) => a.endMs - b.endMs).map((span) => [span]) : [all];
    return batches.flatMap((batch) =>
      trace.add(batch, evidenceOf).flatMap(({ evidence: { event } }) => event ?? []),
    );
  });
}

describe.each([
  ['in one batch', false],
  ['in batches of one span', true],
])('%s', (_name, isSplit) => {
  test.each(Object.entries(OTHERS))('%s', (file, expected) => {
    const events = eventsIn(spansIn(file), isSplit);
    const models = new Set(events.flatMap((event) => (event.type === 'model' ? event.modelId : [])));
    models.delete('text-embedding-3-small');
    expect([...models]).toEqual(['gpt-4o-mini']);
    expect({
      models: events.flatMap((event) =>
        event.type === 'model' ? [[event.promptTokens, event.completionTokens]] : [],
      ),
      tools: events.flatMap((event) => (event.type === 'tool' && event.success === true ? event.name : [])),
      guardrails: events.flatMap((event) => (event.type === 'guardrail' ? event.guardrailType : [])),
    }).toEqual(expected);
  });
});

test('every sample is listed', () => {
  expect(readdirSync(FOLDER).sort()).toEqual([...FILES, ...Object.keys(OTHERS)].sort());
});
