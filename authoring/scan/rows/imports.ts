import { VENDOR_CODE } from '../../../core/vendors/vendors.ts';
import type { ImportRow } from '../row.ts';

type Language = ImportRow['language'];

const framework = (name: string, language: Language, pattern: RegExp): ImportRow => ({
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

const backend = (kind: 'tracing' | 'metrics' | 'logging', of: string, name: RegExp): ImportRow => ({
  language: 'any',
  name,
  found: [{ kind, backend: of }],
});

const LIBRARIES: readonly ImportRow[] = [
  backend('tracing', 'langfuse', /^(?:langfuse|@langfuse\/)/),
  backend('tracing', 'langsmith', /^langsmith(?:[./]|$)/),
  backend('tracing', 'logfire', /^logfire(?:\.|$)/),
  backend('tracing', 'phoenix', /^(?:phoenix|openinference|@arizeai\/)/),
  backend('tracing', 'otel', /^(?:opentelemetry(?:\.|$)|@opentelemetry\/|traceloop)/),
  backend(
    'metrics',
    'prometheus',
    /^(?:prometheus_client|prometheus_fastapi_instrumentator|prom-client)(?:\.|$)/,
  ),
  backend('logging', 'structlog', /^(?:structlog|pythonjsonlogger)(?:\.|$)/),
  backend('logging', 'pino', /^pino(?:-http)?$/),
  backend('logging', 'winston', /^winston$/),
];

/** Evaluation usually is a test. */
const evaluation = (of: string, name: RegExp): ImportRow => ({
  language: 'any',
  name,
  found: [{ kind: 'evaluation', framework: of }],
  inTests: true,
});

const EVALUATIONS: readonly ImportRow[] = [
  evaluation('deepeval', /^deepeval(?:\.|$)/),
  evaluation('ragas', /^ragas(?:\.|$)/),
  evaluation('promptfoo', /^promptfoo(?:\/|$)/),
  evaluation('evalite', /^evalite(?:\/|$)/),
  evaluation('inspect', /^inspect_ai(?:\.|$)/),
];

export const IMPORT_ROWS: readonly ImportRow[] = [...FRAMEWORKS, ...LIBRARIES, ...EVALUATIONS];
