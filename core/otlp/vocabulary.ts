/** What a span describes. `agent`: one run of an agent, whose tokens are the sums of its model calls. */
export type SpanKind = 'model' | 'tool' | 'guardrail' | 'agent';

const GEN_AI = 'OpenTelemetry GenAI';
const OPEN_INFERENCE = 'OpenInference';
const OPEN_LLMETRY = 'OpenLLMetry';
const LANGFUSE = 'Langfuse';
const LOGFIRE = 'Logfire';
const AI_SDK = 'AI SDK 5 and 6';
const MLFLOW = 'MLflow';

/**
 * The values of attributes that determine the kind of a span, by attribute. The first attribute with one of its values decides. Other
 * spans, such as CHAIN, RETRIEVER or HTTP spans, are no evidence.
 */
export const KINDS: Readonly<Record<string, Readonly<Record<string, SpanKind>>>> = {
  'openinference.span.kind': {
    LLM: 'model',
    EMBEDDING: 'model',
    TOOL: 'tool',
    GUARDRAIL: 'guardrail',
    AGENT: 'agent',
  },
  'gen_ai.operation.name': {
    chat: 'model',
    text_completion: 'model',
    generate_content: 'model',
    embeddings: 'model',
    execute_tool: 'tool',
    invoke_agent: 'agent',
  },
  // OpenLLMetry.
  'traceloop.span.kind': { tool: 'tool', agent: 'agent' },
  // OpenLLMetry before 0.50.
  'llm.request.type': { chat: 'model', completion: 'model', embedding: 'model' },
  'langfuse.observation.type': {
    generation: 'model',
    embedding: 'model',
    tool: 'tool',
    guardrail: 'guardrail',
    agent: 'agent',
  },
  'ai.operationId': {
    'ai.generateText.doGenerate': 'model',
    'ai.streamText.doStream': 'model',
    'ai.generateObject.doGenerate': 'model',
    'ai.streamObject.doStream': 'model',
    'ai.embed.doEmbed': 'model',
    'ai.embedMany.doEmbed': 'model',
    'ai.toolCall': 'tool',
  },
  // All its values are JSON.
  'mlflow.spanType': {
    '"LLM"': 'model',
    '"CHAT_MODEL"': 'model',
    '"EMBEDDING"': 'model',
    '"TOOL"': 'tool',
    '"GUARDRAIL"': 'guardrail',
    '"AGENT"': 'agent',
  },
  // Its spans of the OpenAI Agents SDK; all others have the GenAI names.
  'logfire.msg_template': {
    'Chat completion with {gen_ai.request.model!r}': 'model',
    'Function: {name}': 'tool',
    'Guardrail {name!r} {triggered=}': 'guardrail',
    'Agent run: {name!r}': 'agent',
  },
};

/** The attributes that contain each field of the evidence, with who uses them. The first present attribute of a field counts. */
export const FIELDS = {
  model: {
    'gen_ai.response.model': GEN_AI,
    'llm.response.model_name': OPEN_INFERENCE,
    'llm.model_name': OPEN_INFERENCE,
    'embedding.model_name': OPEN_INFERENCE,
    'gen_ai.request.model': GEN_AI,
    'llm.request.model_name': OPEN_INFERENCE,
    'langfuse.observation.model.name': LANGFUSE,
    'ai.model.id': AI_SDK,
    'mlflow.llm.model': MLFLOW,
  },
  requestedModel: { 'gen_ai.request.model': GEN_AI, 'llm.request.model_name': OPEN_INFERENCE },
  promptTokens: {
    'gen_ai.usage.input_tokens': GEN_AI,
    'gen_ai.usage.prompt_tokens': `${GEN_AI} before 1.27`,
    'llm.token_count.prompt': OPEN_INFERENCE,
    'llm.usage.prompt_tokens': `${OPEN_LLMETRY} before 0.10`,
    // Calls of chat models have the GenAI names as well.
    'ai.usage.tokens': `${AI_SDK}, embeddings`,
  },
  completionTokens: {
    'gen_ai.usage.output_tokens': GEN_AI,
    'gen_ai.usage.completion_tokens': `${GEN_AI} before 1.27`,
    'llm.token_count.completion': OPEN_INFERENCE,
    'llm.usage.completion_tokens': `${OPEN_LLMETRY} before 0.10`,
  },
  totalTokens: {
    'gen_ai.usage.total_tokens': OPEN_LLMETRY,
    'llm.token_count.total': OPEN_INFERENCE,
    'llm.usage.total_tokens': `${OPEN_LLMETRY} before 0.50`,
    'ai.usage.totalTokens': AI_SDK,
  },
  usageDetails: {
    'langfuse.observation.usage_details': LANGFUSE,
    'mlflow.chat.tokenUsage': MLFLOW,
  },
  callId: {
    'gen_ai.response.id': GEN_AI,
    'gen_ai.tool.call.id': GEN_AI,
    'tool_call.id': OPEN_INFERENCE,
    'ai.toolCall.id': AI_SDK,
  },
  toolName: {
    'gen_ai.tool.name': GEN_AI,
    'tool.name': OPEN_INFERENCE,
    'traceloop.entity.name': OPEN_LLMETRY,
    'ai.toolCall.name': AI_SDK,
    name: LOGFIRE,
  },
  guardrailName: { 'guardrail.name': OPEN_INFERENCE, name: LOGFIRE },
  agentName: {
    'gen_ai.agent.name': GEN_AI,
    'agent.name': OPEN_INFERENCE,
    'traceloop.entity.name': OPEN_LLMETRY,
    name: LOGFIRE,
  },
  level: { 'langfuse.observation.level': LANGFUSE, 'logfire.level_num': LOGFIRE },
  logfireType: { 'logfire.span_type': LOGFIRE },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type SpanField = keyof typeof FIELDS;

/** The attributes of each field, in order of precedence. */
export const ATTRIBUTES = Object.fromEntries(
  Object.entries(FIELDS).map(([field, attributes]) => [field, Object.keys(attributes)]),
) as Record<SpanField, string[]>;

/** The attributes that the decoders keep. */
export const WANTED_ATTRIBUTES: ReadonlySet<string> = new Set(
  [Object.keys(KINDS), ...Object.values(ATTRIBUTES)].flat(),
);
