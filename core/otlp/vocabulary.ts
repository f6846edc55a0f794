/** What a span describes. `agent`: one run of an agent, whose tokens are the sums of its model calls. */
export type SpanKind = 'model' | 'tool' | 'guardrail' | 'agent';

/** A value of an attribute that determines the kind of a span. */
interface KindRow {
  attribute: string;
  value: string;
  kind: SpanKind;
  usedBy: string;
}

const GEN_AI = 'OpenTelemetry GenAI';
const OPEN_INFERENCE = 'OpenInference';
const OPEN_LLMETRY = 'OpenLLMetry';
const LANGFUSE = 'Langfuse';
const LOGFIRE = 'Logfire';
const AI_SDK = 'AI SDK 5 and 6';
const MLFLOW = 'MLflow';

const kinds = (
  attribute: string,
  usedBy: string,
  values: Readonly<Record<string, SpanKind>>,
): readonly KindRow[] => Object.entries(values).map(([value, kind]) => ({ attribute, value, kind, usedBy }));

/** The first row whose attribute has this value decides. Other spans, such as CHAIN, RETRIEVER or HTTP spans, are no evidence. */
export const KIND_ROWS: readonly KindRow[] = [
  ...kinds('openinference.span.kind', OPEN_INFERENCE, {
    LLM: 'model',
    EMBEDDING: 'model',
    TOOL: 'tool',
    GUARDRAIL: 'guardrail',
    AGENT: 'agent',
  }),
  ...kinds('gen_ai.operation.name', GEN_AI, {
    chat: 'model',
    text_completion: 'model',
    generate_content: 'model',
    embeddings: 'model',
    execute_tool: 'tool',
    invoke_agent: 'agent',
  }),
  ...kinds('traceloop.span.kind', OPEN_LLMETRY, { tool: 'tool', agent: 'agent' }),
  ...kinds('llm.request.type', `${OPEN_LLMETRY} before 0.50`, {
    chat: 'model',
    completion: 'model',
    embedding: 'model',
  }),
  ...kinds('langfuse.observation.type', LANGFUSE, {
    generation: 'model',
    embedding: 'model',
    tool: 'tool',
    guardrail: 'guardrail',
    agent: 'agent',
  }),
  ...kinds('ai.operationId', AI_SDK, {
    'ai.generateText.doGenerate': 'model',
    'ai.streamText.doStream': 'model',
    'ai.generateObject.doGenerate': 'model',
    'ai.streamObject.doStream': 'model',
    'ai.embed.doEmbed': 'model',
    'ai.embedMany.doEmbed': 'model',
    'ai.toolCall': 'tool',
  }),
  // All its values are JSON.
  ...kinds('mlflow.spanType', MLFLOW, {
    '"LLM"': 'model',
    '"CHAT_MODEL"': 'model',
    '"EMBEDDING"': 'model',
    '"TOOL"': 'tool',
    '"GUARDRAIL"': 'guardrail',
    '"AGENT"': 'agent',
  }),
  // Its spans of the OpenAI Agents SDK; all others have the GenAI names.
  ...kinds('logfire.msg_template', LOGFIRE, {
    'Chat completion with {gen_ai.request.model!r}': 'model',
    'Function: {name}': 'tool',
    'Guardrail {name!r} {triggered=}': 'guardrail',
    'Agent run: {name!r}': 'agent',
  }),
];

export type SpanField =
  | 'model'
  | 'requestedModel'
  | 'promptTokens'
  | 'completionTokens'
  | 'totalTokens'
  | 'usageDetails'
  | 'callId'
  | 'toolName'
  | 'guardrailName'
  | 'agentName'
  | 'level'
  | 'logfireType';

/** An attribute that contains a field of the evidence. */
interface FieldRow {
  field: SpanField;
  attribute: string;
  usedBy: string;
}

const field = (name: SpanField, attributes: Readonly<Record<string, string>>): readonly FieldRow[] =>
  Object.entries(attributes).map(([attribute, usedBy]) => ({ field: name, attribute, usedBy }));

/** The first present attribute of a field counts. */
export const FIELD_ROWS: readonly FieldRow[] = [
  ...field('model', {
    'gen_ai.response.model': GEN_AI,
    'llm.response.model_name': OPEN_INFERENCE,
    'llm.model_name': OPEN_INFERENCE,
    'embedding.model_name': OPEN_INFERENCE,
    'gen_ai.request.model': GEN_AI,
    'llm.request.model_name': OPEN_INFERENCE,
    'langfuse.observation.model.name': LANGFUSE,
    'ai.model.id': AI_SDK,
    'mlflow.llm.model': MLFLOW,
  }),
  ...field('requestedModel', { 'gen_ai.request.model': GEN_AI, 'llm.request.model_name': OPEN_INFERENCE }),
  ...field('promptTokens', {
    'gen_ai.usage.input_tokens': GEN_AI,
    'gen_ai.usage.prompt_tokens': `${GEN_AI} before 1.27`,
    'llm.token_count.prompt': OPEN_INFERENCE,
    'llm.usage.prompt_tokens': `${OPEN_LLMETRY} before 0.10`,
    // Calls of chat models have the GenAI names as well.
    'ai.usage.tokens': `${AI_SDK}, embeddings`,
  }),
  ...field('completionTokens', {
    'gen_ai.usage.output_tokens': GEN_AI,
    'gen_ai.usage.completion_tokens': `${GEN_AI} before 1.27`,
    'llm.token_count.completion': OPEN_INFERENCE,
    'llm.usage.completion_tokens': `${OPEN_LLMETRY} before 0.10`,
  }),
  ...field('totalTokens', {
    'gen_ai.usage.total_tokens': OPEN_LLMETRY,
    'llm.token_count.total': OPEN_INFERENCE,
    'llm.usage.total_tokens': `${OPEN_LLMETRY} before 0.50`,
    'ai.usage.totalTokens': AI_SDK,
  }),
  ...field('usageDetails', {
    'langfuse.observation.usage_details': LANGFUSE,
    'mlflow.chat.tokenUsage': MLFLOW,
  }),
  ...field('callId', {
    'gen_ai.response.id': GEN_AI,
    'gen_ai.tool.call.id': GEN_AI,
    'tool_call.id': OPEN_INFERENCE,
    'ai.toolCall.id': AI_SDK,
  }),
  ...field('toolName', {
    'gen_ai.tool.name': GEN_AI,
    'tool.name': OPEN_INFERENCE,
    'traceloop.entity.name': OPEN_LLMETRY,
    'ai.toolCall.name': AI_SDK,
    name: LOGFIRE,
  }),
  ...field('guardrailName', { 'guardrail.name': OPEN_INFERENCE, name: LOGFIRE }),
  ...field('agentName', {
    'gen_ai.agent.name': GEN_AI,
    'agent.name': OPEN_INFERENCE,
    'traceloop.entity.name': OPEN_LLMETRY,
    name: LOGFIRE,
  }),
  ...field('level', { 'langfuse.observation.level': LANGFUSE, 'logfire.level_num': LOGFIRE }),
  ...field('logfireType', { 'logfire.span_type': LOGFIRE }),
];

/** The attributes that the decoders keep. */
export const WANTED_ATTRIBUTES: ReadonlySet<string> = new Set(
  [...KIND_ROWS, ...FIELD_ROWS].map(({ attribute }) => attribute),
);

/** The attributes of one field, in order of precedence. */
export function attributesOf(name: SpanField): string[] {
  return FIELD_ROWS.filter(({ field: each }) => each === name).map(({ attribute }) => attribute);
}
