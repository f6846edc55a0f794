// Exports recorded from real instrumentation packages (testing/frameworks/record-otlp.ts). In each of them an agent calls a model
// three times (31 + 5, 67 + 11 and 131 + 23 tokens) and the tool `multiply` twice, after the guardrail `pii-detector`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { TRACE_ID } from '../../testing/otlp-export.ts';
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

test('every sample is listed', () => {
  expect(readdirSync(FOLDER).sort()).toEqual(FILES);
});
