// An agent whose only report are the spans of an instrumentation package ($INSTRUMENTATION), exported by $EXPORTER. Its response
// has only the text, so the response shows no token. `POST /v1/chat` starts the span of a server from the request's `traceparent`,
// as the instrumentation of a server does.
import { createServer } from 'node:http';
import { context, propagation, SpanKind, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { OpenAIInstrumentation as OpenInference } from '@arizeai/openinference-instrumentation-openai';
import { OpenAIInstrumentation as OpenLlmetry } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai';
import { MODEL, QUESTION } from './common.mjs';

const exporter = process.env.EXPORTER === 'json' ? new JsonExporter() : new ProtobufExporter();
const provider = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 200 })],
});
provider.register();
const tracer = trace.getTracer('agent');

const isOpenInference = process.env.INSTRUMENTATION === 'openinference';
const instrumentation = isOpenInference ? new OpenInference() : new OpenLlmetry();
instrumentation.setTracerProvider(provider);
instrumentation.manuallyInstrument(OpenAI);

const TOOL = {
  type: 'function',
  function: {
    name: 'multiply',
    parameters: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } },
  },
};

const runTool = (name, input) =>
  tracer.startActiveSpan(
    `execute_tool ${name}`,
    { attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name } },
    (span) => {
      const { a, b } = JSON.parse(input);
      span.end();
      return String(a * b);
    },
  );

/** Calls the tools that the model requests until the model answers with a text. */
async function answer() {
  const client = new OpenAI({ baseURL: process.env.MODEL_URL, apiKey: 'key' });
  const messages = [{ role: 'user', content: QUESTION }];
  for (;;) {
    const { choices } = await client.chat.completions.create({ model: MODEL, messages, tools: [TOOL] });
    const { message } = choices[0];
    if (!message.tool_calls) return message.content;
    messages.push(message);
    for (const { id, function: called } of message.tool_calls)
      messages.push({ role: 'tool', tool_call_id: id, content: runTool(called.name, called.arguments) });
  }
}

createServer((request, response) => {
  request.resume();
  if (request.url !== '/v1/chat') {
    response.writeHead(404).end();
    return;
  }
  const parent = propagation.extract(context.active(), request.headers);
  void tracer.startActiveSpan('POST /v1/chat', { kind: SpanKind.SERVER }, parent, async (span) => {
    tracer.startSpan('pii-detector', { attributes: { 'openinference.span.kind': 'GUARDRAIL' } }).end();
    try {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(await answer());
    } catch (error) {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error.stack));
    }
    span.end();
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
