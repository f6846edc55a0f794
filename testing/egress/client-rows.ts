import type { ClientRow } from './client-row.ts';
import { LITELLM_ROWS } from './litellm-rows.ts';
import { AZURE_HOST, GATEWAY_HOST, VERTEX_HOST } from './vendor-routes.ts';

const RAW = ['text', 'stream', 'tools', 'tools stream'] as const;
/** Frameworks whose streams are not part of their tool loop. */
const WHOLE = ['text', 'tools'] as const;

const denied = (type: string, attempts = 1): ClientRow['denial'] => ({ type, attempts });
const JS_DENIED = denied('PermissionDeniedError');
const OPENAI_DENIED = denied('openai.PermissionDeniedError');
const ANTHROPIC_DENIED = denied('anthropic.PermissionDeniedError');
const AI_SDK_DENIED = denied('APICallError');

const OPENAI = { lane: 'openai', variable: 'OPENAI_BASE_URL' } as const;
const ANTHROPIC = { lane: 'anthropic', variable: 'ANTHROPIC_BASE_URL' } as const;
const AZURE = {
  lane: 'azure',
  variable: 'AZURE_OPENAI_ENDPOINT',
  before: () => ({ AZURE_OPENAI_ENDPOINT: `https://${AZURE_HOST}` }),
} as const;

/** Every client library that was seen to follow a variable of core/egress/lane-variables.ts. */
export const CLIENT_ROWS: readonly ClientRow[] = [
  {
    name: 'openai chat (JavaScript)',
    ...{ packages: 'none', client: 'openai', program: 'lane-openai-chat.mjs', ...OPENAI },
    ...{ forms: RAW, denial: JS_DENIED, weight: 'light' },
  },
  {
    name: 'openai responses (JavaScript)',
    ...{ packages: 'none', client: 'openai', program: 'lane-openai-responses.mjs', ...OPENAI },
    // A conversation that the vendor keeps.
    ...{ forms: [...RAW, 'stored tools'], denial: JS_DENIED, weight: 'light' },
  },
  {
    name: 'openai embeddings (JavaScript)',
    ...{ packages: 'none', client: 'openai', program: 'lane-openai-embeddings.mjs', ...OPENAI },
    ...{ forms: ['text'], denial: null, weight: 'light' },
  },
  {
    name: 'openai with a gateway (JavaScript)',
    ...{ packages: 'none', client: 'openai', program: 'lane-compatible.mjs' },
    ...{ lane: 'compatible:corp', variable: 'LLM_URL' },
    before: () => ({ LLM_URL: `https://${GATEWAY_HOST}/llm/v1` }),
    ...{ forms: RAW, denial: JS_DENIED, weight: 'light' },
  },
  {
    name: 'openai AzureOpenAI (JavaScript)',
    ...{ packages: 'none', client: 'openai', program: 'lane-azure-openai.mjs', ...AZURE },
    ...{ forms: RAW, denial: JS_DENIED, weight: 'light' },
  },
  {
    name: '@anthropic-ai/sdk (JavaScript)',
    ...{ packages: 'none', client: '@anthropic-ai/sdk', program: 'lane-anthropic.mjs', ...ANTHROPIC },
    ...{ forms: RAW, denial: JS_DENIED, weight: 'light' },
  },
  {
    name: 'AI SDK with openai (JavaScript)',
    ...{ packages: 'node', client: '@ai-sdk/openai', program: 'lane-ai-sdk.mjs', ...OPENAI },
    ...{ options: { VENDOR: 'openai' }, forms: RAW, denial: AI_SDK_DENIED, weight: 'soak' },
  },
  {
    name: 'AI SDK with openai chat (JavaScript)',
    ...{ packages: 'node', client: 'ai', program: 'lane-ai-sdk.mjs', ...OPENAI },
    ...{ options: { VENDOR: 'openai chat' }, forms: RAW, denial: AI_SDK_DENIED, weight: 'soak' },
  },
  {
    // Its paths begin with /messages, those of the SDK with /v1/messages.
    name: 'AI SDK with anthropic (JavaScript)',
    ...{ packages: 'node', client: '@ai-sdk/anthropic', program: 'lane-ai-sdk.mjs', ...ANTHROPIC },
    ...{ options: { VENDOR: 'anthropic' }, forms: RAW, denial: AI_SDK_DENIED, weight: 'soak' },
  },
  {
    name: 'LangChain openai (JavaScript)',
    ...{ packages: 'node', client: '@langchain/openai', program: 'lane-langchain.mjs', ...OPENAI },
    ...{ options: { VENDOR: 'openai' }, forms: RAW, denial: JS_DENIED, weight: 'soak' },
  },
  {
    name: 'LangChain anthropic (JavaScript)',
    ...{ packages: 'node', client: '@langchain/anthropic', program: 'lane-langchain.mjs', ...ANTHROPIC },
    ...{ options: { VENDOR: 'anthropic' }, forms: RAW, denial: JS_DENIED, weight: 'soak' },
  },
  {
    name: 'LangGraph (JavaScript)',
    ...{ packages: 'node', client: '@langchain/langgraph', program: 'lane-langchain.mjs', ...OPENAI },
    ...{ options: { VENDOR: 'openai', AGENT: '1' }, forms: RAW, denial: JS_DENIED, weight: 'soak' },
  },
  {
    name: 'OpenAI Agents (JavaScript)',
    ...{ packages: 'node', client: '@openai/agents', program: 'lane-openai-agents.mjs', ...OPENAI },
    ...{ forms: RAW, denial: JS_DENIED, weight: 'soak' },
  },
  {
    name: 'Mastra (JavaScript)',
    ...{ packages: 'node', client: '@mastra/core', program: 'lane-mastra.mjs', ...OPENAI },
    ...{ forms: RAW, denial: AI_SDK_DENIED, weight: 'soak' },
  },
  {
    name: '@google/genai (JavaScript)',
    ...{ packages: 'node', client: '@google/genai', program: 'lane-genai.mjs' },
    ...{ lane: 'gemini', variable: 'GOOGLE_GEMINI_BASE_URL' },
    ...{ forms: RAW, denial: denied('ApiError'), weight: 'soak' },
  },
  {
    name: 'groq-sdk (JavaScript)',
    ...{ packages: 'node', client: 'groq-sdk', program: 'lane-groq.mjs', lane: 'groq' },
    ...{ variable: 'GROQ_BASE_URL', forms: RAW, denial: JS_DENIED, weight: 'soak' },
  },
  {
    name: 'openai chat (Python)',
    ...{ packages: 'python', client: 'openai', program: 'lane-openai-chat.py', ...OPENAI },
    ...{ forms: RAW, denial: OPENAI_DENIED, weight: 'light' },
  },
  {
    name: 'openai responses (Python)',
    ...{ packages: 'python', client: 'openai', program: 'lane-openai-responses.py', ...OPENAI },
    ...{ forms: RAW, denial: OPENAI_DENIED, weight: 'soak' },
  },
  {
    name: 'openai AzureOpenAI (Python)',
    ...{ packages: 'python', client: 'openai', program: 'lane-azure-openai.py', ...AZURE },
    ...{ forms: RAW, denial: OPENAI_DENIED, weight: 'soak' },
  },
  {
    name: 'anthropic (Python)',
    ...{ packages: 'python', client: 'anthropic', program: 'lane-anthropic.py', ...ANTHROPIC },
    ...{ forms: RAW, denial: ANTHROPIC_DENIED, weight: 'light' },
  },
  ...LITELLM_ROWS,
  {
    name: 'LangChain openai (Python)',
    ...{ packages: 'python', client: 'langchain-openai', program: 'lane-langchain.py', ...OPENAI },
    ...{ options: { VENDOR: 'openai' }, forms: RAW, denial: OPENAI_DENIED, weight: 'soak' },
  },
  {
    name: 'LangChain anthropic (Python)',
    ...{ packages: 'python', client: 'langchain-anthropic', program: 'lane-langchain.py', ...ANTHROPIC },
    ...{ options: { VENDOR: 'anthropic' }, forms: RAW, denial: ANTHROPIC_DENIED, weight: 'soak' },
  },
  {
    name: 'LangGraph (Python)',
    ...{ packages: 'python', client: 'langgraph', program: 'lane-langchain.py', ...OPENAI },
    ...{ options: { VENDOR: 'openai', AGENT: '1' }, forms: RAW, denial: OPENAI_DENIED, weight: 'soak' },
  },
  {
    name: 'LangChain google-genai (Python)',
    ...{ packages: 'python', client: 'langchain-google-genai', program: 'lane-langchain.py' },
    ...{ lane: 'gemini', variable: 'GOOGLE_GEMINI_BASE_URL', options: { VENDOR: 'google' } },
    ...{ forms: RAW, denial: denied('google.ClientError'), weight: 'soak' },
  },
  {
    name: 'LangChain groq (Python)',
    ...{ packages: 'python', client: 'langchain-groq', program: 'lane-langchain.py' },
    // langchain-groq has a variable of its own, and the SDK below it reads GROQ_BASE_URL.
    ...{ lane: 'groq', variable: 'GROQ_API_BASE', options: { VENDOR: 'groq' } },
    ...{ forms: RAW, denial: denied('groq.PermissionDeniedError'), weight: 'soak' },
  },
  {
    name: 'LangChain mistralai (Python)',
    ...{ packages: 'python', client: 'langchain-mistralai', program: 'lane-langchain.py' },
    ...{ lane: 'mistral', variable: 'MISTRAL_BASE_URL', options: { VENDOR: 'mistral' } },
    ...{ forms: RAW, denial: denied('httpx.HTTPStatusError'), weight: 'soak' },
  },
  {
    name: 'LangChain ollama (Python)',
    ...{ packages: 'python', client: 'langchain-ollama', program: 'lane-langchain.py' },
    ...{ lane: 'ollama', variable: 'OLLAMA_HOST', options: { VENDOR: 'ollama' } },
    before: ({ plain }) => ({ OLLAMA_HOST: plain }),
    ...{ forms: RAW, denial: denied('ollama.ResponseError'), weight: 'soak' },
  },
  {
    name: 'OpenAI Agents (Python)',
    ...{ packages: 'python', client: 'openai-agents', program: 'lane-openai-agents.py', ...OPENAI },
    ...{ forms: RAW, denial: OPENAI_DENIED, weight: 'soak' },
  },
  {
    name: 'pydantic-ai with openai (Python)',
    ...{ packages: 'python', client: 'pydantic-ai-slim', program: 'lane-pydantic-ai.py', ...OPENAI },
    ...{ options: { MODEL: 'openai:gpt-4o-mini' }, forms: RAW },
    ...{ denial: denied('pydantic_ai.ModelHTTPError'), weight: 'soak' },
  },
  {
    // Its client for Anthropic does not accept version 2 of the package anthropic, which other rows use.
    name: 'pydantic-ai with google (Python)',
    ...{ packages: 'python', client: 'pydantic-ai-slim', program: 'lane-pydantic-ai.py' },
    ...{ lane: 'gemini', variable: 'GOOGLE_GEMINI_BASE_URL' },
    ...{ options: { MODEL: 'google:gemini-2.5-flash' }, forms: RAW },
    ...{ denial: denied('pydantic_ai.ModelHTTPError'), weight: 'soak' },
  },
  {
    name: 'CrewAI (Python)',
    ...{ packages: 'python', client: 'crewai', program: 'lane-crewai.py', ...OPENAI },
    // A crew repeats a task that failed.
    ...{ options: { MODEL: 'openai/gpt-4o-mini' }, forms: WHOLE },
    ...{ denial: denied('openai.PermissionDeniedError', 3), weight: 'soak' },
  },
  {
    name: 'AutoGen (Python)',
    ...{ packages: 'python', client: 'autogen-ext', program: 'lane-autogen.py', ...OPENAI },
    ...{ forms: RAW, denial: OPENAI_DENIED, weight: 'soak' },
  },
  {
    name: 'smolagents (Python)',
    ...{ packages: 'python', client: 'smolagents', program: 'lane-smolagents.py', ...OPENAI },
    ...{ forms: WHOLE, writesResultsAsText: true, denial: OPENAI_DENIED, weight: 'soak' },
  },
  {
    name: 'LlamaIndex (Python)',
    ...{
      packages: 'python',
      client: 'llama-index-llms-openai',
      program: 'lane-llamaindex.py',
      lane: 'openai',
    },
    variable: 'OPENAI_API_BASE',
    before: () => ({ OPENAI_API_BASE: 'https://api.openai.com/v1' }),
    ...{ forms: RAW, denial: OPENAI_DENIED, weight: 'soak' },
  },
  {
    name: 'google-genai (Python)',
    ...{ packages: 'python', client: 'google-genai', program: 'lane-genai.py' },
    ...{ lane: 'gemini', variable: 'GOOGLE_GEMINI_BASE_URL' },
    ...{ forms: RAW, denial: denied('google.ClientError'), weight: 'soak' },
  },
  {
    name: 'google-genai with Vertex (Python)',
    ...{ packages: 'python', client: 'google-genai', program: 'lane-genai.py' },
    ...{ lane: 'vertex', variable: 'GOOGLE_VERTEX_BASE_URL', options: { VERTEX: '1' } },
    before: () => ({ GOOGLE_VERTEX_BASE_URL: `https://${VERTEX_HOST}` }),
    ...{ forms: RAW, denial: denied('google.ClientError'), weight: 'soak' },
  },
  {
    name: 'groq (Python)',
    ...{ packages: 'python', client: 'groq', program: 'lane-groq.py', lane: 'groq' },
    ...{ variable: 'GROQ_BASE_URL', forms: RAW },
    ...{ denial: denied('groq.PermissionDeniedError'), weight: 'soak' },
  },
  {
    name: 'cohere (Python)',
    ...{ packages: 'python', client: 'cohere', program: 'lane-cohere.py', lane: 'cohere' },
    ...{ variable: 'CO_API_URL', forms: RAW },
    ...{ denial: denied('cohere.ForbiddenError'), weight: 'soak' },
  },
  {
    name: 'ollama (Python)',
    ...{ packages: 'python', client: 'ollama', program: 'lane-ollama.py', lane: 'ollama' },
    variable: 'OLLAMA_HOST',
    before: ({ plain }) => ({ OLLAMA_HOST: plain }),
    ...{ forms: RAW, denial: denied('ollama.ResponseError'), weight: 'soak' },
  },
];
