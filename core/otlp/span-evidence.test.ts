import { describe, expect, test } from '@jest/globals';
import { REQUESTED_ID } from '../shapes/hidden-members.ts';
import type { AttributeValue, OtlpSpan } from './span.ts';
import { evidenceOf } from './span-evidence.ts';
import { ATTRIBUTES, FIELDS, KINDS, WANTED_ATTRIBUTES, type SpanField, type SpanKind } from './vocabulary.ts';

function spanOf(attributes: Record<string, AttributeValue>, more: Partial<OtlpSpan> = {}): OtlpSpan {
  return {
    ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentId: '', name: 'the span' },
    ...{ startMs: 1_000, endMs: 1_002.5, isError: false, attributes: new Map(Object.entries(attributes)) },
    ...more,
  };
}

const eventOf = (attributes: Record<string, AttributeValue>, more?: Partial<OtlpSpan>) =>
  evidenceOf(spanOf(attributes, more))?.event;

/** An attribute that makes a span one of this kind. */
const KIND_ATTRIBUTE: Record<SpanKind, Record<string, string>> = {
  model: { 'gen_ai.operation.name': 'chat' },
  tool: { 'gen_ai.operation.name': 'execute_tool' },
  guardrail: { 'openinference.span.kind': 'GUARDRAIL' },
  agent: { 'gen_ai.operation.name': 'invoke_agent' },
};

describe('the kind of a span', () => {
  const rows = Object.entries(KINDS).flatMap(([attribute, kinds]) =>
    Object.entries(kinds).map(([value, kind]) => [attribute, value, kind] as const),
  );
  test.each(rows)('%s = %s: %s', (attribute, value, kind) => {
    expect(evidenceOf(spanOf({ [attribute]: value }))?.kind).toBe(kind);
  });

  test.each([
    ['openinference.span.kind', 'CHAIN'],
    ['openinference.span.kind', 'RETRIEVER'],
    ['gen_ai.operation.name', 'create_agent'],
    ['traceloop.span.kind', 'workflow'],
    ['llm.request.type', 'rerank'],
    ['http.request.method', 'POST'],
  ])('%s = %s is not evidence', (attribute, value) => {
    expect(evidenceOf(spanOf({ [attribute]: value }))).toBeNull();
  });

  test('of an attribute with an unknown value comes from another attribute', () => {
    const attributes = { 'openinference.span.kind': 'CHAIN', 'gen_ai.operation.name': 'chat' };
    expect(evidenceOf(spanOf(attributes))?.kind).toBe('model');
  });
});

describe('Logfire', () => {
  const stream = {
    'gen_ai.operation.name': 'chat',
    'logfire.span_type': 'span',
    'logfire.msg_template': 'Chat Completion with {request_data[model]!r}',
  };
  test.each<[string, Record<string, AttributeValue>, Partial<OtlpSpan>, boolean]>([
    ['the start of a stream', {}, {}, false],
    ['a failed call', {}, { isError: true }, true],
    ['a call that its log reports as failed', { 'logfire.level_num': 17 }, {}, true],
    ['the log of a stream', { 'logfire.span_type': 'log' }, {}, true],
    ['a response without usage', { 'gen_ai.response.id': 'r1' }, {}, true],
    ['a call with no tokens', { 'gen_ai.usage.input_tokens': 0 }, {}, true],
  ])('%s', (_name, attributes, more, counts) => {
    expect(evidenceOf(spanOf({ ...stream, ...attributes }, more)) !== null).toBe(counts);
  });
});

describe('each attribute', () => {
  const read: Record<string, (attribute: string) => unknown> = {
    model: (attribute) => eventOf({ ...KIND_ATTRIBUTE.model, [attribute]: 'gpt-5' }),
    requestedModel: (attribute) =>
      eventOf({ ...KIND_ATTRIBUTE.model, 'gen_ai.response.model': 'gpt-5', [attribute]: 'my-deployment' }),
    promptTokens: (attribute) => eventOf({ ...KIND_ATTRIBUTE.model, [attribute]: 31 }),
    completionTokens: (attribute) => eventOf({ ...KIND_ATTRIBUTE.model, [attribute]: 5 }),
    totalTokens: (attribute) => eventOf({ ...KIND_ATTRIBUTE.model, [attribute]: 36 }),
    usageDetails: (attribute) => eventOf({ ...KIND_ATTRIBUTE.model, [attribute]: '{"input":31,"output":5}' }),
    level: (attribute) => [
      eventOf({ ...KIND_ATTRIBUTE.tool, [attribute]: 'ERROR' }),
      eventOf({ ...KIND_ATTRIBUTE.tool, [attribute]: 17 }),
      eventOf({ ...KIND_ATTRIBUTE.tool, [attribute]: 9 }),
    ],
    logfireType: (attribute) => [evidenceOf(spanOf({ ...KIND_ATTRIBUTE.tool, [attribute]: 'pending_span' }))],
    callId: (attribute) => evidenceOf(spanOf({ ...KIND_ATTRIBUTE.model, [attribute]: 'c1' })),
    toolName: (attribute) => eventOf({ ...KIND_ATTRIBUTE.tool, [attribute]: 'search' }),
    guardrailName: (attribute) => eventOf({ ...KIND_ATTRIBUTE.guardrail, [attribute]: 'pii' }),
    agentName: (attribute) => evidenceOf(spanOf({ ...KIND_ATTRIBUTE.agent, [attribute]: 'shop' })),
  };
  const wanted: Record<string, object> = {
    model: { modelId: 'gpt-5' },
    requestedModel: { modelId: 'gpt-5', [REQUESTED_ID]: 'my-deployment' },
    promptTokens: { promptTokens: 31, completionTokens: 0 },
    completionTokens: { promptTokens: 0, completionTokens: 5 },
    totalTokens: { promptTokens: 0, completionTokens: 36 },
    usageDetails: { promptTokens: 31, completionTokens: 5 },
    level: [{ success: false }, { success: false }, { success: true }],
    logfireType: [null],
    callId: { callId: 'c1' },
    toolName: { name: 'search' },
    guardrailName: { guardrailType: 'pii', invoked: true },
    agentName: { agentName: 'shop', event: null },
  };
  const rows = Object.entries(FIELDS).flatMap(([field, attributes]) =>
    Object.entries(attributes).map(([attribute, usedBy]) => [attribute, field as SpanField, usedBy] as const),
  );
  test.each(rows)('%s: %s (%s)', (attribute, field) => {
    expect(read[field]?.(attribute)).toMatchObject(wanted[field] ?? {});
    expect(WANTED_ATTRIBUTES.has(attribute)).toBe(true);
  });

  test('counts by its place in the table', () => {
    const models = Object.fromEntries(ATTRIBUTES.model.map((name) => [name, name]));
    expect(eventOf({ ...KIND_ATTRIBUTE.model, ...models })).toMatchObject({
      modelId: 'gen_ai.response.model',
    });
  });
});

describe('the event', () => {
  test('of a model call has the tokens of the total that no other count has', () => {
    const counts = { 'gen_ai.usage.input_tokens': 31, 'gen_ai.usage.output_tokens': 5 };
    const span = {
      ...KIND_ATTRIBUTE.model,
      'gen_ai.request.model': 'm',
      ...counts,
      'llm.usage.total_tokens': 40,
    };
    const event = { type: 'model', modelId: 'm', promptTokens: 31, completionTokens: 9, source: 'span' };
    expect(eventOf(span)).toEqual(event);
  });

  test.each([-1, 1.5, 2e9, '31', true, Number.NaN])('ignores the token count %p', (value) => {
    const evidence = evidenceOf(spanOf({ ...KIND_ATTRIBUTE.model, 'gen_ai.usage.input_tokens': value }));
    expect(evidence).toMatchObject({ event: { promptTokens: 0, completionTokens: 0 }, hasUsage: false });
  });

  test('of a tool has its duration and success', () => {
    const span = { ...KIND_ATTRIBUTE.tool, 'gen_ai.tool.name': 'search' };
    const tool = { type: 'tool', name: 'search', latencyMs: 2.5, source: 'span' };
    expect(eventOf(span)).toEqual({ ...tool, success: true });
    expect(eventOf(span, { isError: true })).toEqual({ ...tool, success: false });
  });

  test('of a tool without a name has the name of its span', () => {
    expect(eventOf(KIND_ATTRIBUTE.tool, { name: 'execute_tool search' })).toMatchObject({ name: 'search' });
    expect(evidenceOf(spanOf(KIND_ATTRIBUTE.tool, { name: ' ' }))).toBeNull();
  });

  test('of a guardrail has the name of its span', () => {
    const event = { type: 'guardrail', guardrailType: 'pii-detector', invoked: true, source: 'span' };
    expect(eventOf(KIND_ATTRIBUTE.guardrail, { name: 'pii-detector' })).toEqual(event);
  });

  test('of a span that ends before it begins has no duration', () => {
    expect(eventOf(KIND_ATTRIBUTE.tool, { endMs: 0 })).not.toHaveProperty('latencyMs');
  });
});
