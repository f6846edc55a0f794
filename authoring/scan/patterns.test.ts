// One sample per pattern, and the proof that every row of the tables has one.
import { describe, expect, test } from '@jest/globals';
import { Code } from './code.ts';
import { collect, PATTERNS, type Patterns } from './collect.ts';
import type { Discovery } from './discovery.ts';
import type { Language } from './syntax.ts';

type Sample = readonly [code: string, ...found: string[]];

const PATHS: Readonly<Record<Language, string>> = { python: 'agent/main.py', javascript: 'src/main.ts' };

function described(discovery: Discovery): string {
  switch (discovery.kind) {
    case 'model':
      return `model ${discovery.provider} ${discovery.id.text}`;
    case 'tool':
      return `tool ${discovery.name}${discovery.description === null ? '' : `: ${discovery.description}`}`;
    case 'mcp':
      return `mcp ${discovery.name} ${discovery.transport} ${discovery.url?.text ?? [discovery.command, ...(discovery.args ?? [])].join(' ')}`;
    case 'guardrail':
      return `guardrail ${discovery.where} ${discovery.type}`;
    case 'store':
      return `store ${discovery.role} ${discovery.backend} ${discovery.address?.text ?? discovery.address?.variable}`;
    case 'route':
      return `route ${discovery.method} ${discovery.path}`;
    case 'port':
      return `port ${discovery.port}`;
    default:
      return discovery.kind;
  }
}

const isImport = ({ kind }: Discovery): boolean =>
  ['framework', 'tracing', 'metrics', 'logging', 'evaluation'].includes(kind);

const MODELS_PYTHON: readonly Sample[] = [
  [
    'from openai import OpenAI\nclient = OpenAI()\nclient.chat.completions.create(model="gpt-4o")',
    'model openai gpt-4o',
  ],
  [
    'import openai\nclass A:\n  def f(self, client):\n    client.responses.create(model="gpt-4o")',
    'model openai gpt-4o',
  ],
  [
    'from openai import OpenAI\nc = OpenAI(base_url="https://api.groq.com/openai/v1")\nc.chat.completions.create(model="llama-3.3-70b")',
    'model groq llama-3.3-70b',
  ],
  [
    'from openai import AzureOpenAI\nc = AzureOpenAI()\nc.chat.completions.create(model="prod")',
    'model azure prod',
  ],
  [
    'from groq import Groq\nGroq().chat.completions.create(model="llama-3.3-70b")',
    'model groq llama-3.3-70b',
  ],
  ['from together import Together\nTogether().chat.completions.create(model="m/x")', 'model together m/x'],
  [
    'import anthropic\nclient = anthropic.Anthropic()\nclient.messages.create(model="claude-x", max_tokens=5)',
    'model anthropic claude-x',
  ],
  [
    'from google import genai\nclient = genai.Client()\nclient.models.generate_content(model="gemini-2.5-flash", contents="")',
    'model google gemini-2.5-flash',
  ],
  [
    'import google.generativeai as genai\ngenai.GenerativeModel("gemini-2.5-pro")',
    'model google gemini-2.5-pro',
  ],
  [
    'from mistralai import Mistral\nMistral().chat.complete(model="mistral-small")',
    'model mistral mistral-small',
  ],
  ['import cohere\ncohere.ClientV2().chat(model="command-a")', 'model cohere command-a'],
  ['import ollama\nollama.chat(model="llama3")', 'model ollama llama3'],
  [
    'import boto3\nboto3.client("bedrock-runtime").converse(modelId="amazon.nova")',
    'model bedrock amazon.nova',
  ],
  [
    'from litellm import completion\ncompletion(model="anthropic/claude-x", messages=[])',
    'model anthropic claude-x',
  ],
  [
    'from langchain_openai import ChatOpenAI\nChatOpenAI(model="gpt-4o", temperature=0.5)',
    'model openai gpt-4o',
  ],
  [
    'from langchain_openai import AzureChatOpenAI\nAzureChatOpenAI(azure_deployment="prod")',
    'model azure prod',
  ],
  [
    'from langchain_anthropic import ChatAnthropic\nChatAnthropic(model_name="claude-x")',
    'model anthropic claude-x',
  ],
  [
    'from langchain_google_genai import ChatGoogleGenerativeAI\nChatGoogleGenerativeAI(model="gemini-x")',
    'model google gemini-x',
  ],
  [
    'from langchain_google_vertexai import ChatVertexAI\nChatVertexAI(model="gemini-x")',
    'model vertex gemini-x',
  ],
  ['from langchain_mistralai import ChatMistralAI\nChatMistralAI(model="m")', 'model mistral m'],
  ['from langchain_groq import ChatGroq\nChatGroq(model="m")', 'model groq m'],
  ['from langchain_cohere import ChatCohere\nChatCohere(model="m")', 'model cohere m'],
  ['from langchain_ollama import ChatOllama\nChatOllama(model="m")', 'model ollama m'],
  ['from langchain_aws import ChatBedrockConverse\nChatBedrockConverse(model="m")', 'model bedrock m'],
  ['from langchain_deepseek import ChatDeepSeek\nChatDeepSeek(model="m")', 'model deepseek m'],
  ['from langchain_xai import ChatXAI\nChatXAI(model="m")', 'model xai m'],
  ['from langchain_together import ChatTogether\nChatTogether(model="m")', 'model together m'],
  [
    'from langchain.chat_models import init_chat_model\ninit_chat_model("openai:gpt-4o")',
    'model openai gpt-4o',
  ],
  [
    'from langchain.agents import create_agent\ncreate_agent(model="claude-x", tools=[])',
    'model anthropic claude-x',
  ],
  [
    'from langgraph.prebuilt import create_react_agent\ncreate_react_agent("openai:gpt-4o", [])',
    'model openai gpt-4o',
  ],
  ['from crewai import LLM\nLLM(model="gemini/gemini-x")', 'model google gemini-x'],
  ['from crewai import Agent\nAgent(role="r", llm="gpt-4o")', 'model openai gpt-4o'],
  ['from pydantic_ai import Agent\nAgent("google-gla:gemini-x")', 'model google gemini-x'],
  ['from agents import Agent\nAgent(name="a", model="gpt-4o")', 'model openai gpt-4o'],
  [
    'from agents.extensions.models.litellm_model import LitellmModel\nLitellmModel(model="anthropic/claude-x")',
    'model anthropic claude-x',
  ],
  ['from google.adk.agents import Agent\nAgent(name="a", model="gemini-x")', 'model google gemini-x'],
  ['from google.adk.models.lite_llm import LiteLlm\nLiteLlm(model="openai/gpt-4o")', 'model openai gpt-4o'],
  ['from smolagents import LiteLLMModel\nLiteLLMModel(model_id="openai/gpt-4o")', 'model openai gpt-4o'],
  ['import dspy\ndspy.LM("openai/gpt-4o")', 'model openai gpt-4o'],
  [
    'from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion\nOpenAIChatCompletion(ai_model_id="gpt-4o")',
    'model openai gpt-4o',
  ],
  [
    'from autogen_ext.models.openai import OpenAIChatCompletionClient\nOpenAIChatCompletionClient(model="gpt-4o")',
    'model openai gpt-4o',
  ],
  [
    'from pydantic_ai.models.anthropic import AnthropicModel\nAnthropicModel("claude-x")',
    'model anthropic claude-x',
  ],
  ['from llama_index.llms.openai import OpenAI\nOpenAI(model="gpt-4o")', 'model openai gpt-4o'],
  ['from agno.models.anthropic import Claude\nClaude(id="claude-x")', 'model anthropic claude-x'],
  ['from smolagents import OpenAIServerModel\nOpenAIServerModel(model_id="gpt-4o")', 'model openai gpt-4o'],
  [
    'from haystack.components.generators.chat import OpenAIChatGenerator\nOpenAIChatGenerator(model="gpt-4o")',
    'model openai gpt-4o',
  ],
];

const MODELS_SCRIPT: readonly Sample[] = [
  [
    "import OpenAI from 'openai';\nnew OpenAI().chat.completions.create({ model: 'gpt-4o' });",
    'model openai gpt-4o',
  ],
  [
    "const OpenAI = require('openai');\nconst c = new OpenAI();\nc.responses.create({ model: 'gpt-4o' });",
    'model openai gpt-4o',
  ],
  ["import Groq from 'groq-sdk';\nnew Groq().chat.completions.create({ model: 'm' });", 'model groq m'],
  [
    "import Anthropic from '@anthropic-ai/sdk';\nconst c = new Anthropic();\nc.messages.stream({ model: 'claude-x' });",
    'model anthropic claude-x',
  ],
  [
    "import { GoogleGenAI } from '@google/genai';\nnew GoogleGenAI({}).models.generateContent({ model: 'gemini-x' });",
    'model google gemini-x',
  ],
  [
    "import { GoogleGenerativeAI } from '@google/generative-ai';\nnew GoogleGenerativeAI(k).getGenerativeModel({ model: 'gemini-x' });",
    'model google gemini-x',
  ],
  [
    "import { ConverseCommand } from '@aws-sdk/client-bedrock-runtime';\nnew ConverseCommand({ modelId: 'm' });",
    'model bedrock m',
  ],
  [
    "import { ChatOpenAI } from '@langchain/openai';\nnew ChatOpenAI({ model: 'gpt-4o' });",
    'model openai gpt-4o',
  ],
  [
    "import { initChatModel } from 'langchain';\ninitChatModel('anthropic:claude-x');",
    'model anthropic claude-x',
  ],
  [
    "import { createAgent } from 'langchain';\ncreateAgent({ model: 'openai:gpt-4o', tools: [] });",
    'model openai gpt-4o',
  ],
  [
    "import { Agent } from '@openai/agents';\nnew Agent<Context>({ name: 'a', model: 'gpt-4o' });",
    'model openai gpt-4o',
  ],
  [
    "import { OpenAIChatCompletionsModel } from '@openai/agents';\nnew OpenAIChatCompletionsModel(client, 'gpt-4o');",
    'model openai gpt-4o',
  ],
  [
    "import { generateText } from 'ai';\ngenerateText({ model: 'anthropic/claude-x', prompt });",
    'model anthropic claude-x',
  ],
  [
    "import { Agent } from '@mastra/core/agent';\nnew Agent({ name: 'a', model: 'openai/gpt-4o' });",
    'model openai gpt-4o',
  ],
  [
    "import { createOpenAI } from '@ai-sdk/openai';\nconst openai = createOpenAI({ apiKey });\nopenai.chat('gpt-4o');",
    'model openai gpt-4o',
  ],
  ["import { bedrock } from '@ai-sdk/amazon-bedrock';\nbedrock('m');", 'model bedrock m'],
  ["import { openai } from '@llamaindex/openai';\nopenai({ model: 'gpt-4o' });", 'model openai gpt-4o'],
];

const TOOLS_PYTHON: readonly Sample[] = [
  [
    'from langchain_core.tools import tool\n@tool\ndef search(q: str) -> str:\n    """Finds it.\n\n    More."""',
    'tool search: Finds it.',
  ],
  ['from crewai.tools import tool\n@tool("Web search")\ndef search(q): pass', 'tool Web search'],
  ['from smolagents import tool\n@tool\ndef search(q): pass', 'tool search'],
  [
    'from agents import function_tool\n@function_tool(name_override="find")\nasync def search(q): pass',
    'tool find',
  ],
  [
    'from pydantic_ai import Agent\nagent = Agent(deps_type=str)\n@agent.tool_plain\ndef search(q): pass',
    'tool search',
  ],
  [
    'from mcp.server.fastmcp import FastMCP\nmcp = FastMCP("s")\n@mcp.tool(annotations={"readOnlyHint": True})\ndef search(q): pass',
    'tool search',
  ],
  [
    'from mcp.server import MCPServer\nserver = MCPServer("s")\n@server.tool()\ndef search(q): pass',
    'tool search',
  ],
  [
    'from semantic_kernel.functions import kernel_function\nclass P:\n    @kernel_function(name="find", description="Finds")\n    def search(self): pass',
    'tool find: Finds',
  ],
  ['from agno.tools import tool\n@tool\ndef search(q): pass', 'tool search'],
  ['from strands import tool\n@tool\ndef search(q): pass', 'tool search'],
  ['from anthropic import beta_tool\n@beta_tool\ndef search(q): pass', 'tool search'],
  [
    'from claude_agent_sdk import tool\n@tool("find", "Finds", {})\nasync def search(args): pass',
    'tool find: Finds',
  ],
  [
    'from langchain_core.tools import StructuredTool\ndef search(q):\n    "Finds it."\nStructuredTool.from_function(func=search)',
    'tool search: Finds it.',
  ],
  [
    'from llama_index.core.tools import FunctionTool\nFunctionTool.from_defaults(fn=search, name="find", description="Finds")',
    'tool find: Finds',
  ],
  [
    'from autogen_core.tools import FunctionTool\ndef search(q): pass\nFunctionTool(search, description="Finds")',
    'tool search: Finds',
  ],
  ['from agents import function_tool\ndef search(q): pass\nTOOL = function_tool(search)', 'tool search'],
  [
    'import mcp.types as types\ntypes.Tool(name="find", description="Finds", inputSchema={})',
    'tool find: Finds',
  ],
  ['from agents import WebSearchTool\nWebSearchTool()', 'tool web_search'],
  ['from agents import FileSearchTool\nFileSearchTool(vector_store_ids=[])', 'tool file_search'],
  ['from agents import CodeInterpreterTool\nCodeInterpreterTool()', 'tool code_interpreter'],
  ['from agents import ComputerTool\nComputerTool(c)', 'tool computer_use'],
  ['from langchain_tavily import TavilySearch\nTavilySearch(max_results=2)', 'tool tavily_search'],
  [
    'from langchain_community.tools import DuckDuckGoSearchRun\nDuckDuckGoSearchRun()',
    'tool duckduckgo_search',
  ],
  ['from langchain_experimental.tools import PythonREPLTool\nPythonREPLTool()', 'tool Python_REPL'],
  ['from crewai_tools import SerperDevTool\nSerperDevTool()', 'tool search_the_internet_with_serper'],
  ['from crewai_tools import ScrapeWebsiteTool\nScrapeWebsiteTool()', 'tool read_website_content'],
  ['from crewai_tools import FileReadTool\nFileReadTool()', 'tool read_a_files_content'],
  ['from smolagents import WebSearchTool\nWebSearchTool()', 'tool web_search'],
  ['from smolagents import PythonInterpreterTool\nPythonInterpreterTool()', 'tool python_interpreter'],
  [
    'from autogen_agentchat.agents import AssistantAgent\ndef search(q): pass\nAssistantAgent("a", client, tools=[search])',
    'tool search',
  ],
  ['from pydantic_ai import Agent\ndef search(q): pass\nAgent(m, tools=[search])', 'tool search'],
  [
    'from google.adk.agents import Agent\ndef search(q): pass\nAgent(name="a", tools=[search])',
    'tool search',
  ],
  [
    'from langgraph.prebuilt import ToolNode\ndef search(q): pass\nTOOLS = [search]\nToolNode(TOOLS)',
    'tool search',
  ],
  [
    'from langchain.agents import create_agent\ndef search(q): pass\ncreate_agent(m, tools=[search])',
    'tool search',
  ],
  [
    'from langchain_openai import ChatOpenAI\ndef search(q): pass\nllm = make()\nllm.bind_tools([search])',
    'tool search',
  ],
  [
    'from llama_index.core.agent.workflow import FunctionAgent\ndef search(q): pass\nFunctionAgent(tools=[search], llm=llm)',
    'tool search',
  ],
  ['from agno.agent import Agent\ndef search(q): pass\nAgent(tools=[search])', 'tool search'],
  ['from strands import Agent\ndef search(q): pass\nAgent(tools=[search])', 'tool search'],
  [
    'from langchain_core.tools import BaseTool\nclass Search(BaseTool):\n    name: str = "find"\n    description: str = "Finds"',
    'tool find: Finds',
  ],
  ['from crewai.tools import BaseTool\nclass Search(BaseTool):\n    name: str = "find"', 'tool find'],
  ['from smolagents import Tool\nclass Search(Tool):\n    name = "find"', 'tool find'],
  [
    'TOOLS = [{"type": "function", "function": {"name": "find", "description": "Finds"}}]',
    'tool find: Finds',
  ],
  [
    'TOOLS = [{"name": "find", "description": "Finds", "input_schema": {"type": "object"}}]',
    'tool find: Finds',
  ],
];

const TOOLS_SCRIPT: readonly Sample[] = [
  [
    "import { tool } from '@langchain/core/tools';\nconst t = tool(async () => 1, { name: 'find', description: 'Finds' });",
    'tool find: Finds',
  ],
  [
    "import { DynamicStructuredTool } from '@langchain/core/tools';\nnew DynamicStructuredTool({ name: 'find' });",
    'tool find',
  ],
  ["import { tool } from 'llamaindex';\ntool({ name: 'find', execute });", 'tool find'],
  [
    "import { tool } from '@openai/agents';\ntool({ name: 'find', description: 'Finds', execute });",
    'tool find: Finds',
  ],
  [
    "import { zodFunction } from 'openai/helpers/zod';\nzodFunction({ name: 'find', parameters });",
    'tool find',
  ],
  [
    "import { tool } from 'ai';\nexport const find = tool({ description: 'Finds' });\nconst all = { 'other-one': tool({}) };",
    'tool find: Finds',
    'tool other-one',
  ],
  [
    "import { createTool } from '@mastra/core/tools';\ncreateTool({ id: 'find', description: 'Finds' });",
    'tool find: Finds',
  ],
  [
    "import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';\nbetaZodTool({ name: 'find' });",
    'tool find',
  ],
  [
    "import { tool } from '@anthropic-ai/claude-agent-sdk';\ntool('find', 'Finds', {}, run);",
    'tool find: Finds',
  ],
  [
    "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';\nconst s = new McpServer({});\ns.registerTool('find', { description: 'Finds' }, run);",
    'tool find: Finds',
  ],
  [
    "import { FastMCP } from 'fastmcp';\nconst s = new FastMCP({});\ns.addTool({ name: 'find', description: 'Finds' });",
    'tool find: Finds',
  ],
  [
    "import { StructuredTool } from '@langchain/core/tools';\nclass A extends StructuredTool {\n  name = 'find';\n  description = 'Finds';\n}",
    'tool find: Finds',
  ],
];

const MCP_PYTHON: readonly Sample[] = [
  [
    'from mcp import StdioServerParameters\nStdioServerParameters(command="npx", args=["-y", "x"])',
    'mcp null stdio npx -y x',
  ],
  ['from mcp.client.sse import sse_client\nsse_client("http://a/x")', 'mcp null sse http://a/x'],
  [
    'from mcp.client.streamable_http import streamablehttp_client\nstreamablehttp_client(url="http://a/x")',
    'mcp null http http://a/x',
  ],
  ['from fastmcp import Client\nClient("http://a/mcp")', 'mcp null http http://a/mcp'],
  ['from fastmcp import Client\nClient({"mcpServers": {"a": {"url": "http://a"}}})', 'mcp a http http://a'],
  [
    'from agents.mcp import MCPServerSse\nMCPServerSse(name="a", params={"url": "http://a"})',
    'mcp a sse http://a',
  ],
  [
    'from agents import HostedMCPTool\nHostedMCPTool(tool_config={"server_label": "a", "url": "http://a"})',
    'mcp null http http://a',
  ],
  ['from pydantic_ai.mcp import MCPServerStdio\nMCPServerStdio("uvx", args=["x"])', 'mcp null stdio uvx x'],
  ['from crewai.mcp import MCPServerHTTP\nMCPServerHTTP(url="http://a")', 'mcp null http http://a'],
  [
    'from crewai_tools import MCPServerAdapter\nMCPServerAdapter({"url": "http://a"})',
    'mcp null http http://a',
  ],
  [
    'from autogen_ext.tools.mcp import StdioServerParams\nStdioServerParams(command="uvx")',
    'mcp null stdio uvx',
  ],
  [
    'from langchain_mcp_adapters.client import MultiServerMCPClient\nMultiServerMCPClient({"a": {"url": "http://a/sse"}})',
    'mcp a sse http://a/sse',
  ],
  ['TOOLS = [{"type": "mcp", "server_label": "a", "server_url": "http://a"}]', 'mcp a http http://a'],
  [
    'SERVERS = [{"type": "url", "name": "a", "url": "http://a", "authorization_token": t}]',
    'mcp a http http://a',
  ],
];

const MCP_SCRIPT: readonly Sample[] = [
  [
    "import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';\nnew StdioClientTransport({ command: 'node', args: ['a.js'] });",
    'mcp null stdio node a.js',
  ],
  [
    "import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';\nnew StreamableHTTPClientTransport(new URL('http://a'));",
    'mcp null http http://a',
  ],
  [
    "import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';\nnew SSEClientTransport(new URL('http://a'));",
    'mcp null sse http://a',
  ],
  [
    "import { MCPServerStdio } from '@openai/agents';\nnew MCPServerStdio({ name: 'a', fullCommand: 'npx -y b' });",
    'mcp a stdio npx -y b',
  ],
  [
    "import { hostedMcpTool } from '@openai/agents';\nhostedMcpTool({ serverLabel: 'a', serverUrl: 'http://a' });",
    'mcp a http http://a',
  ],
  [
    "import { MCPClient } from '@mastra/mcp';\nnew MCPClient({ servers: { a: { url: new URL('http://a') } } });",
    'mcp a http http://a',
  ],
  [
    "import { createMCPClient } from '@ai-sdk/mcp';\ncreateMCPClient({ transport: { type: 'sse', url: 'http://a' } });",
    'mcp null sse http://a',
  ],
];

const GUARDRAILS_PYTHON: readonly Sample[] = [
  ['from guardrails.hub import DetectPII\nDetectPII()', 'guardrail input pii-detector'],
  ['from guardrails.hub import ToxicLanguage\nToxicLanguage()', 'guardrail output toxicity-filter'],
  ['from guardrails.hub import RestrictToTopic\nRestrictToTopic()', 'guardrail input topic-filter'],
  ['from guardrails.hub import DetectJailbreak\nDetectJailbreak()', 'guardrail input prompt-injection'],
  ['from guardrails.hub import ProvenanceLLM\nProvenanceLLM()', 'guardrail output hallucination-detector'],
  ['from llm_guard.input_scanners import Anonymize\nAnonymize(v)', 'guardrail input pii-detector'],
  [
    'from llm_guard.input_scanners import PromptInjection\nPromptInjection()',
    'guardrail input prompt-injection',
  ],
  ['from llm_guard.input_scanners import Toxicity\nToxicity()', 'guardrail input toxicity-filter'],
  ['from llm_guard.input_scanners import BanTopics\nBanTopics()', 'guardrail input topic-filter'],
  ['from llm_guard.output_scanners import Sensitive\nSensitive()', 'guardrail output pii-detector'],
  ['from llm_guard.output_scanners import Toxicity\nToxicity()', 'guardrail output toxicity-filter'],
  ['from llm_guard.output_scanners import BanTopics\nBanTopics()', 'guardrail output topic-filter'],
  [
    'from llm_guard.output_scanners import FactualConsistency\nFactualConsistency()',
    'guardrail output hallucination-detector',
  ],
  ['from presidio_analyzer import AnalyzerEngine\nAnalyzerEngine()', 'guardrail input pii-detector'],
  ['from presidio_anonymizer import AnonymizerEngine\nAnonymizerEngine()', 'guardrail input pii-detector'],
  ['from detoxify import Detoxify\nDetoxify("original")', 'guardrail output toxicity-filter'],
  [
    'from langchain.agents.middleware import PIIMiddleware\nPIIMiddleware("email")',
    'guardrail input pii-detector',
  ],
  [
    'from openai import OpenAI\nOpenAI().moderations.create(input=answer)',
    'guardrail output toxicity-filter',
  ],
  ['detect_pii(reply)', 'guardrail output pii-detector'],
  [
    'from agents import input_guardrail\n@input_guardrail\nasync def budget(ctx, agent, text): pass',
    'guardrail input custom',
  ],
  [
    'from agents import output_guardrail\n@output_guardrail\nasync def no_toxicity(ctx, agent, text): pass',
    'guardrail output toxicity-filter',
  ],
];

const GUARDRAILS_SCRIPT: readonly Sample[] = [
  ["import { piiMiddleware } from 'langchain';\npiiMiddleware('email');", 'guardrail input pii-detector'],
  [
    "import { PIIDetector } from '@mastra/core/processors';\nnew PIIDetector({});",
    'guardrail input pii-detector',
  ],
  [
    "import { PromptInjectionDetector } from '@mastra/core/processors';\nnew PromptInjectionDetector({});",
    'guardrail input prompt-injection',
  ],
  [
    "import { ModerationProcessor } from '@mastra/core/processors';\nnew ModerationProcessor({});",
    'guardrail output toxicity-filter',
  ],
  [
    "import { createReporter } from 'agent-compliance/reporter';\nbehavior.guardrail('topic-filter', {});",
    'guardrail input topic-filter',
  ],
  [
    "import { Agent } from '@openai/agents';\nconst math = { name: 'Prompt injection', execute };\nnew Agent({ name: 'a', inputGuardrails: [math] });",
    'guardrail input prompt-injection',
  ],
  [
    "import { Agent } from '@openai/agents';\nnew Agent({ name: 'a', outputGuardrails: [{ name: 'Length', execute }] });",
    'guardrail output custom',
  ],
];

const STORES_PYTHON: readonly Sample[] = [
  [
    'from langgraph.checkpoint.redis import RedisSaver\nRedisSaver.from_conn_string("redis://r:6379")',
    'store shortTerm redis redis://r:6379',
  ],
  [
    'from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver\nAsyncPostgresSaver.from_conn_string(u)',
    'store shortTerm postgres undefined',
  ],
  [
    'from langgraph.checkpoint.sqlite import SqliteSaver\nSqliteSaver.from_conn_string("x.db")',
    'store shortTerm sqlite x.db',
  ],
  [
    'from langgraph.checkpoint.memory import InMemorySaver\nInMemorySaver()',
    'store shortTerm in-memory undefined',
  ],
  [
    'from langchain_redis import RedisChatMessageHistory\nRedisChatMessageHistory("s", redis_url="redis://r:6379")',
    'store shortTerm redis redis://r:6379',
  ],
  [
    'from langchain_postgres import PostgresChatMessageHistory\nPostgresChatMessageHistory(connection="pg://p")',
    'store shortTerm postgres pg://p',
  ],
  [
    'from langchain.memory import ConversationBufferMemory\nConversationBufferMemory()',
    'store shortTerm in-memory undefined',
  ],
  ['from agents import SQLiteSession\nSQLiteSession("u")', 'store shortTerm sqlite u'],
  [
    'from agents.extensions.memory import RedisSession\nRedisSession.from_url("u", url="redis://r:1")',
    'store shortTerm redis redis://r:1',
  ],
  [
    'from llama_index.core.memory import ChatMemoryBuffer\nChatMemoryBuffer.from_defaults()',
    'store shortTerm in-memory undefined',
  ],
  [
    'from langgraph.store.postgres import PostgresStore\nPostgresStore.from_conn_string("pg://p")',
    'store longTerm postgres pg://p',
  ],
  ['from langgraph.store.memory import InMemoryStore\nInMemoryStore()', 'store longTerm in-memory undefined'],
  ['from mem0 import Memory\nMemory()', 'store longTerm mem0 undefined'],
  ['from zep_cloud.client import Zep\nZep()', 'store longTerm zep undefined'],
  ['import chromadb\nchromadb.HttpClient(host="c", port=8000)', 'store vector chroma c:8000'],
  ['from langchain_chroma import Chroma\nChroma()', 'store vector chroma undefined'],
  [
    'from qdrant_client import QdrantClient\nQdrantClient(url="http://q:6333")',
    'store vector qdrant http://q:6333',
  ],
  [
    'from langchain_qdrant import QdrantVectorStore\nQdrantVectorStore.from_documents(d, url="http://q:1")',
    'store vector qdrant http://q:1',
  ],
  ['from pinecone import Pinecone\nPinecone()', 'store vector pinecone undefined'],
  [
    'from langchain_pinecone import PineconeVectorStore\nPineconeVectorStore()',
    'store vector pinecone undefined',
  ],
  ['from langchain_postgres import PGVector\nPGVector(connection="pg://p")', 'store vector pgvector pg://p'],
  ['from langchain_community.vectorstores import FAISS\nFAISS.load_local()', 'store vector faiss undefined'],
  ['import weaviate\nweaviate.connect_to_local()', 'store vector weaviate undefined'],
  ['from pymilvus import MilvusClient\nMilvusClient(uri="http://m:1")', 'store vector milvus http://m:1'],
  ['import lancedb\nlancedb.connect()', 'store vector lancedb undefined'],
  ['import os\nimport redis\nredis.Redis.from_url(os.environ["CACHE_URL"])', 'store service redis CACHE_URL'],
  ['import asyncpg\nasyncpg.connect("pg://p")', 'store service postgres pg://p'],
  ['from sqlalchemy import create_engine\ncreate_engine("pg://p")', 'store service database pg://p'],
  ['from pymongo import MongoClient\nMongoClient("mongodb://m")', 'store service mongodb mongodb://m'],
  ['import pymysql\npymysql.connect(host="m", port=3306)', 'store service mysql m:3306'],
  [
    'from elasticsearch import Elasticsearch\nElasticsearch("http://e:9200")',
    'store service elasticsearch http://e:9200',
  ],
  ['import aio_pika\naio_pika.connect_robust("amqp://q")', 'store service rabbitmq amqp://q'],
];

const STORES_SCRIPT: readonly Sample[] = [
  [
    "import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';\nPostgresSaver.fromConnString('pg://p');",
    'store shortTerm postgres pg://p',
  ],
  [
    "import { RedisSaver } from '@langchain/langgraph-checkpoint-redis';\nRedisSaver.fromUrl('redis://r:1');",
    'store shortTerm redis redis://r:1',
  ],
  [
    "import { MemorySaver } from '@langchain/langgraph';\nnew MemorySaver();",
    'store shortTerm in-memory undefined',
  ],
  [
    "import { LibSQLStore } from '@mastra/libsql';\nnew LibSQLStore({ url: 'file:a.db' });",
    'store shortTerm libsql file:a.db',
  ],
  [
    "import { PostgresStore } from '@mastra/pg';\nnew PostgresStore({ connectionString: 'pg://p' });",
    'store shortTerm postgres pg://p',
  ],
  [
    "import { UpstashStore } from '@mastra/upstash';\nnew UpstashStore({ url: 'http://u' });",
    'store shortTerm upstash http://u',
  ],
  [
    "import { PgVector } from '@mastra/pg';\nnew PgVector({ connectionString: 'pg://p' });",
    'store vector pgvector pg://p',
  ],
  ["import Redis from 'ioredis';\nnew Redis(process.env.REDIS_URL);", 'store service redis REDIS_URL'],
  [
    "import pg from 'pg';\nnew pg.Pool({ connectionString: process.env['DB'] ?? 'pg://p' });",
    'store service postgres pg://p',
  ],
];

const API_PYTHON: readonly Sample[] = [
  ['import uvicorn\nuvicorn.run("a:app", port=8000)', 'port 8000'],
  ['from granian import Granian\nGranian("a:app", port=8001)', 'port 8001'],
  ['from flask import Flask\napp = Flask(__name__)\napp.run(port=5000)', 'port 5000'],
  [
    'from fastapi import APIRouter\nrouter = APIRouter(prefix="/v1")\n@router.post("/chat")\nasync def chat(): pass',
    'route POST /v1/chat',
  ],
  ['from flask import Flask\napp = Flask(__name__)\n@app.route("/ask")\ndef ask(): pass', 'route ALL /ask'],
  ['from fastmcp import FastMCP\nmcp = FastMCP("a")\nmcp.run(transport="http")', 'apiType'],
  [
    'from mcp.server import MCPServer\nserver = MCPServer("a")\nserver.run(transport="streamable-http")',
    'apiType',
  ],
];

const API_SCRIPT: readonly Sample[] = [
  [
    "import express from 'express';\nconst app = express();\napp.post('/chat', run);\napp.listen(Number(process.env.PORT ?? 3000));",
    'route POST /chat',
    'port 3000',
  ],
  ["import { serve } from '@hono/node-server';\nserve({ fetch, port: 3001 });", 'port 3001'],
  ['Bun.serve({ port: 3002 });', 'port 3002'],
  [
    "import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';\nnew StreamableHTTPServerTransport({});",
    'apiType',
  ],
];

const CODE: readonly (readonly [Language, readonly Sample[]])[] = [
  [
    'python',
    [...MODELS_PYTHON, ...TOOLS_PYTHON, ...MCP_PYTHON, ...GUARDRAILS_PYTHON, ...STORES_PYTHON, ...API_PYTHON],
  ],
  [
    'javascript',
    [...MODELS_SCRIPT, ...TOOLS_SCRIPT, ...MCP_SCRIPT, ...GUARDRAILS_SCRIPT, ...STORES_SCRIPT, ...API_SCRIPT],
  ],
];

const codeOf = (language: Language, text: string): Code => new Code([{ path: PATHS[language], text }]);

describe.each(CODE)('%s', (language, samples) => {
  test.each(samples)('%s', (text, ...found) => {
    const discoveries = collect(codeOf(language, text)).filter((discovery) => !isImport(discovery));
    expect([...new Set(discoveries.map(described))].sort()).toEqual([...found].sort());
  });

  test('the same text in a comment or in a string is not found', () => {
    for (const [text] of samples) {
      const comment = text.split('\n').map((line) => (language === 'python' ? `# ${line}` : `// ${line}`));
      const string = language === 'python' ? `x = '''\n${text}\n'''` : `const x = ${JSON.stringify(text)};`;
      expect(collect(codeOf(language, comment.join('\n')))).toEqual([]);
      expect(collect(codeOf(language, string))).toEqual([]);
    }
  });
});

/** Imports without another pattern of the same library. */
const IMPORTS: readonly (readonly [Language, string, string])[] = [
  ['python', 'import openai', 'framework openai'],
  ['python', 'import anthropic', 'framework anthropic'],
  ['javascript', "import A from '@anthropic-ai/sdk';", 'framework anthropic'],
  ['python', 'import claude_agent_sdk', 'framework claude-agent-sdk'],
  ['python', 'from google import genai\nimport google.genai', 'framework google-genai'],
  ['python', 'import mistralai', 'framework mistral'],
  ['python', 'import cohere', 'framework cohere'],
  ['python', 'import groq', 'framework groq'],
  ['javascript', "import ollama from 'ollama';", 'framework ollama'],
  ['python', 'import litellm', 'framework litellm'],
  ['javascript', "import { StateGraph } from '@langchain/langgraph';", 'framework langgraph'],
  ['python', 'from langchain_core.messages import AIMessage', 'framework langchain'],
  ['python', 'from crewai import Crew', 'framework crewai'],
  ['python', 'from autogen_agentchat.teams import RoundRobinGroupChat', 'framework autogen'],
  ['python', 'from pydantic_ai import RunContext', 'framework pydantic-ai'],
  ['python', 'from agents import Runner', 'framework openai-agents'],
  ['javascript', "const { run } = await import('@openai/agents');", 'framework openai-agents'],
  ['python', 'from google.adk.runners import Runner', 'framework google-adk'],
  ['python', 'from llama_index.core import Settings', 'framework llama-index'],
  ['python', 'from smolagents import CodeAgent', 'framework smolagents'],
  ['python', 'from semantic_kernel import Kernel', 'framework semantic-kernel'],
  ['python', 'from haystack import Pipeline', 'framework haystack'],
  ['python', 'import dspy', 'framework dspy'],
  ['python', 'from agno.team import Team', 'framework agno'],
  ['python', 'import strands', 'framework strands'],
  ['javascript', "import { embed } from 'ai';", 'framework ai-sdk'],
  ['javascript', "import { Mastra } from '@mastra/core';", 'framework mastra'],
  ['python', 'import fastmcp', 'framework fastmcp'],
  ['python', 'from mcp import ClientSession', 'framework mcp-sdk'],
  ['python', 'from langfuse import observe', 'tracing langfuse'],
  ['python', 'import langsmith', 'tracing langsmith'],
  ['python', 'import logfire', 'tracing logfire'],
  ['python', 'import phoenix as px', 'tracing phoenix'],
  ['javascript', "import { trace } from '@opentelemetry/api';", 'tracing otel'],
  ['javascript', "const client = require('prom-client');", 'metrics prometheus'],
  ['python', 'import structlog', 'logging structlog'],
  ['javascript', "import pino from 'pino';", 'logging pino'],
  ['javascript', "import winston from 'winston';", 'logging winston'],
  ['python', 'import deepeval', 'evaluation deepeval'],
  ['python', 'import ragas', 'evaluation ragas'],
  ['javascript', "import promptfoo from 'promptfoo';", 'evaluation promptfoo'],
  ['javascript', "import { evalite } from 'evalite';", 'evaluation evalite'],
  ['python', 'import inspect_ai', 'evaluation inspect'],
];

test.each(IMPORTS)('%s: %s is %s', (language, text, found) => {
  const shown = collect(codeOf(language, text)).map((discovery) => {
    const name =
      discovery.kind === 'framework' ? discovery.name : 'backend' in discovery && discovery.backend;
    return `${discovery.kind} ${discovery.kind === 'evaluation' ? discovery.framework : name}`;
  });
  expect(shown).toEqual([found]);
});

test('only evaluations are found in tests', () => {
  const text = 'import deepeval\nimport openai\nfrom langchain_core.tools import tool\n@tool\ndef t(): pass';
  const discoveries = collect(new Code([{ path: 'tests/test_a.py', text }]));
  expect(discoveries.map(({ kind, place }) => [kind, place])).toEqual([
    ['evaluation', { file: 'tests/test_a.py', line: 1 }],
  ]);
});

describe('every row has a sample', () => {
  const codes = [
    ...CODE.flatMap(([language, samples]) => samples.map(([text]) => codeOf(language, text))),
    ...IMPORTS.map(([language, text]) => codeOf(language, text)),
  ];
  const NONE: Patterns = { imports: [], calls: [], decorators: [], classes: [], objects: [] };
  const finds = (patterns: Partial<Patterns>): boolean =>
    codes.some((code) => collect(code, { ...NONE, ...patterns }).length > 0);
  const alone = [
    ...PATTERNS.imports.map((row) => [String(row.name), { imports: [row] }] as const),
    ...PATTERNS.calls.flat().map((row) => [String(row.name), { calls: [[row]] }] as const),
    ...PATTERNS.decorators.map((row) => [String(row.name), { decorators: [row] }] as const),
    ...PATTERNS.classes.map((row) => [String(row.name), { classes: [row] }] as const),
    ...PATTERNS.objects.map((row) => [row.key, { objects: [row] }] as const),
  ];
  test('in the tables above', () => {
    expect(alone.filter(([, patterns]) => !finds(patterns)).map(([name]) => name)).toEqual([]);
  });
});
