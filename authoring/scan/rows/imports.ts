import { VENDOR_CODE } from '../../../core/vendors/vendors.ts';
import type { Found } from '../finding.ts';
import type { ImportRow } from '../row.ts';

type Language = ImportRow['language'];

const framework = (name: string, language: Language, pattern: RegExp): ImportRow => ({
  framework: name,
  language,
  name: pattern,
  found: [{ kind: 'framework', name }],
});

/** Frameworks and client libraries for models. */
const FRAMEWORKS: readonly ImportRow[] = [
  ...Object.values(VENDOR_CODE).flatMap(({ libraries = [] }) =>
    libraries.map(({ name, language, imports }) => framework(name, language, imports)),
  ),
  framework('claude-agent-sdk', 'any', /^(?:claude_agent_sdk|@anthropic-ai\/claude-agent-sdk)(?:[./]|$)/),
  framework('litellm', 'python', /^litellm(?:\.|$)/),
  framework('langgraph', 'any', /^(?:langgraph(?:\.|$)|@langchain\/langgraph)/),
  framework('langchain', 'any', /^(?:langchain(?:[_./]|$)|@langchain\/(?!langgraph))/),
  framework('crewai', 'python', /^crewai(?:[_.]|$)/),
  framework('autogen', 'python', /^(?:autogen|autogen_\w+|ag2)(?:\.|$)/),
  framework('pydantic-ai', 'python', /^pydantic_ai(?:\.|$)/),
  framework('openai-agents', 'python', /^agents(?:\.(?:mcp|models|extensions|realtime|memory|tool))?$/),
  framework('openai-agents', 'javascript', /^@openai\/agents/),
  framework('google-adk', 'python', /^google\.adk(?:\.|$)/),
  framework('llama-index', 'any', /^(?:llama_index(?:\.|$)|llamaindex(?:\/|$)|@llamaindex\/)/),
  framework('smolagents', 'python', /^smolagents(?:\.|$)/),
  framework('semantic-kernel', 'python', /^semantic_kernel(?:\.|$)/),
  framework('haystack', 'python', /^haystack(?:\.|$)/),
  framework('dspy', 'python', /^dspy(?:\.|$)/),
  framework('agno', 'python', /^agno(?:\.|$)/),
  framework('strands', 'any', /^(?:strands(?:\.|$)|@strands-agents\/)/),
  framework('ai-sdk', 'javascript', /^(?:ai$|ai\/|@ai-sdk\/)/),
  framework('mastra', 'javascript', /^@mastra\//),
  framework('fastmcp', 'any', /^(?:fastmcp|mcp\.server\.fastmcp)(?:[./]|$)/),
  framework('mcp-sdk', 'any', /^(?:mcp(?:\.|$)|@modelcontextprotocol\/)/),
];

const library = (name: string, pattern: RegExp, ...found: Found[]): ImportRow => ({
  framework: name,
  language: 'any',
  name: pattern,
  found,
});

const LIBRARIES: readonly ImportRow[] = [
  library('langfuse', /^(?:langfuse|@langfuse\/)/, { kind: 'tracing', backend: 'langfuse' }),
  library('langsmith', /^langsmith(?:[./]|$)/, { kind: 'tracing', backend: 'langsmith' }),
  library('logfire', /^logfire(?:\.|$)/, { kind: 'tracing', backend: 'logfire' }),
  library('phoenix', /^(?:phoenix|openinference|@arizeai\/)/, { kind: 'tracing', backend: 'phoenix' }),
  library('opentelemetry', /^(?:opentelemetry(?:\.|$)|@opentelemetry\/|traceloop)/, {
    kind: 'tracing',
    backend: 'otel',
  }),
  library('prometheus', /^(?:prometheus_client|prometheus_fastapi_instrumentator|prom-client)(?:\.|$)/, {
    kind: 'metrics',
    backend: 'prometheus',
  }),
  library('structlog', /^(?:structlog|pythonjsonlogger)(?:\.|$)/, { kind: 'logging', backend: 'structlog' }),
  library('pino', /^pino(?:-http)?$/, { kind: 'logging', backend: 'pino' }),
  library('winston', /^winston$/, { kind: 'logging', backend: 'winston' }),
];

/** Evaluation usually is a test. */
const EVALUATIONS: readonly ImportRow[] = [
  ['deepeval', /^deepeval(?:\.|$)/],
  ['ragas', /^ragas(?:\.|$)/],
  ['promptfoo', /^promptfoo(?:\/|$)/],
  ['evalite', /^evalite(?:\/|$)/],
  ['inspect', /^inspect_ai(?:\.|$)/],
].map(([name, pattern]): ImportRow => ({
  framework: name as string,
  language: 'any',
  name: pattern as RegExp,
  found: [{ kind: 'evaluation', framework: name as string }],
  inTests: true,
}));

export const IMPORT_ROWS: readonly ImportRow[] = [...FRAMEWORKS, ...LIBRARIES, ...EVALUATIONS];
