import type { Packages } from './row.ts';

/** One example agent of a framework, and its page of the guide. */
export interface ExampleRow {
  /** Its directory below `examples/`. */
  folder: string;
  /** Name of the framework. */
  title: string;
  /** Key of its text in `scripts/framework-texts.ts`. */
  page: string;
  packages: Packages;
  /** Packages whose versions the documentation shows. */
  shows: readonly string[];
  /** An MCP server: a client calls its tools. Default: `POST /v1/chat`. */
  isMcp?: true;
  /** Whether the row runs in `make test`. */
  isFast?: true;
}

const python = (name: string, title: string, shows: readonly string[]): ExampleRow => ({
  folder: `agents-python/${name}`,
  ...{ title, shows },
  page: name,
  packages: 'python',
});

const node = (name: string, title: string, shows: readonly string[]): ExampleRow => ({
  folder: `agents-node/${name}`,
  ...{ title, shows },
  page: `${name}-js`,
  packages: 'node',
});

/** In the order of the documentation. */
export const EXAMPLE_ROWS: readonly ExampleRow[] = [
  { ...python('fastapi', 'FastAPI', ['fastapi', 'openai']), isFast: true },
  python('flask', 'Flask', ['flask', 'openai']),
  python('django', 'Django', ['django', 'openai']),
  { ...python('langgraph', 'LangGraph', ['langgraph', 'langchain-openai']), isFast: true },
  python('langchain', 'LangChain', ['langchain', 'langchain-openai']),
  python('openai-agents', 'OpenAI Agents', ['openai-agents']),
  python('crewai', 'CrewAI', ['crewai']),
  python('pydantic-ai', 'pydantic-ai', ['pydantic-ai-slim']),
  python('autogen', 'AutoGen', ['autogen-agentchat', 'autogen-ext']),
  { ...python('fastmcp', 'FastMCP', ['mcp']), isMcp: true },
  node('ai-sdk', 'AI SDK', ['ai', '@ai-sdk/openai']),
  node('mastra', 'Mastra', ['@mastra/core']),
  node('openai-agents', 'OpenAI Agents', ['@openai/agents']),
  node('langgraph', 'LangGraph', ['@langchain/langgraph', '@langchain/openai']),
  { ...node('mcp', 'MCP SDK', ['@modelcontextprotocol/sdk']), packages: 'none', isMcp: true, isFast: true },
];

export const languageOf = ({ packages }: ExampleRow): 'Python' | 'JavaScript' =>
  packages === 'python' ? 'Python' : 'JavaScript';

export const exampleName = (row: ExampleRow): string => `${row.title} (${languageOf(row)})`;
