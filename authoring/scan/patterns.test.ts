// One sample per pattern, and the proof that every row of the tables has one.
import { describe, expect, test } from '@jest/globals';
import { Code } from './code.ts';
import { collect, PATTERNS, type Patterns } from './collect.ts';
import type { Discovery } from './discovery.ts';
import type { Language } from './syntax.ts';

/** Code, in which `module::name` imports the name, and what is found in it. */
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
  ['groq::Groq().chat.completions.create(model="llama-3.3-70b")', 'model groq llama-3.3-70b'],
  ['together::Together().chat.completions.create(model="m/x")', 'model together m/x'],
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
  ['mistralai::Mistral().chat.complete(model="mistral-small")', 'model mistral mistral-small'],
  ['import cohere\ncohere.ClientV2().chat(model="command-a")', 'model cohere command-a'],
  ['import ollama\nollama.chat(model="llama3")', 'model ollama llama3'],
  [
    'import boto3\nboto3.client("bedrock-runtime").converse(modelId="amazon.nova")',
    'model bedrock amazon.nova',
  ],
  ['litellm::completion(model="anthropic/claude-x", messages=[])', 'model anthropic claude-x'],
  ['langchain_openai::ChatOpenAI(model="gpt-4o", temperature=0.5)', 'model openai gpt-4o'],
  ['langchain_openai::AzureChatOpenAI(azure_deployment="prod")', 'model azure prod'],
  ['langchain_anthropic::ChatAnthropic(model_name="claude-x")', 'model anthropic claude-x'],
  ['langchain_google_genai::ChatGoogleGenerativeAI(model="gemini-x")', 'model google gemini-x'],
  ['langchain_google_vertexai::ChatVertexAI(model="gemini-x")', 'model vertex gemini-x'],
  ['langchain_mistralai::ChatMistralAI(model="m")', 'model mistral m'],
  ['langchain_groq::ChatGroq(model="m")', 'model groq m'],
  ['langchain_cohere::ChatCohere(model="m")', 'model cohere m'],
  ['langchain_ollama::ChatOllama(model="m")', 'model ollama m'],
  ['langchain_aws::ChatBedrockConverse(model="m")', 'model bedrock m'],
  ['langchain_deepseek::ChatDeepSeek(model="m")', 'model deepseek m'],
  ['langchain_xai::ChatXAI(model="m")', 'model xai m'],
  ['langchain_together::ChatTogether(model="m")', 'model together m'],
  ['langchain.chat_models::init_chat_model("openai:gpt-4o")', 'model openai gpt-4o'],
  ['langchain.agents::create_agent(model="claude-x", tools=[])', 'model anthropic claude-x'],
  ['langgraph.prebuilt::create_react_agent("openai:gpt-4o", [])', 'model openai gpt-4o'],
  ['crewai::LLM(model="gemini/gemini-x")', 'model google gemini-x'],
  ['crewai::Agent(role="r", llm="gpt-4o")', 'model openai gpt-4o'],
  ['pydantic_ai::Agent("google-gla:gemini-x")', 'model google gemini-x'],
  ['agents::Agent(name="a", model="gpt-4o")', 'model openai gpt-4o'],
  [
    'agents.extensions.models.litellm_model::LitellmModel(model="anthropic/claude-x")',
    'model anthropic claude-x',
  ],
  ['google.adk.agents::Agent(name="a", model="gemini-x")', 'model google gemini-x'],
  ['google.adk.models.lite_llm::LiteLlm(model="openai/gpt-4o")', 'model openai gpt-4o'],
  ['smolagents::LiteLLMModel(model_id="openai/gpt-4o")', 'model openai gpt-4o'],
  ['import dspy\ndspy.LM("openai/gpt-4o")', 'model openai gpt-4o'],
  [
    'semantic_kernel.connectors.ai.open_ai::OpenAIChatCompletion(ai_model_id="gpt-4o")',
    'model openai gpt-4o',
  ],
  ['autogen_ext.models.openai::OpenAIChatCompletionClient(model="gpt-4o")', 'model openai gpt-4o'],
  ['pydantic_ai.models.anthropic::AnthropicModel("claude-x")', 'model anthropic claude-x'],
  ['llama_index.llms.openai::OpenAI(model="gpt-4o")', 'model openai gpt-4o'],
  ['agno.models.anthropic::Claude(id="claude-x")', 'model anthropic claude-x'],
  ['smolagents::OpenAIServerModel(model_id="gpt-4o")', 'model openai gpt-4o'],
  ['haystack.components.generators.chat::OpenAIChatGenerator(model="gpt-4o")', 'model openai gpt-4o'],
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
    "@google/genai::new GoogleGenAI({}).models.generateContent({ model: 'gemini-x' });",
    'model google gemini-x',
  ],
  [
    "@google/generative-ai::new GoogleGenerativeAI(k).getGenerativeModel({ model: 'gemini-x' });",
    'model google gemini-x',
  ],
  ["@aws-sdk/client-bedrock-runtime::new ConverseCommand({ modelId: 'm' });", 'model bedrock m'],
  ["@langchain/openai::new ChatOpenAI({ model: 'gpt-4o' });", 'model openai gpt-4o'],
  ["langchain::initChatModel('anthropic:claude-x');", 'model anthropic claude-x'],
  ["langchain::createAgent({ model: 'openai:gpt-4o', tools: [] });", 'model openai gpt-4o'],
  ["@openai/agents::new Agent<Context>({ name: 'a', model: 'gpt-4o' });", 'model openai gpt-4o'],
  ["@openai/agents::new OpenAIChatCompletionsModel(client, 'gpt-4o');", 'model openai gpt-4o'],
  ["ai::generateText({ model: 'anthropic/claude-x', prompt });", 'model anthropic claude-x'],
  ["@mastra/core/agent::new Agent({ name: 'a', model: 'openai/gpt-4o' });", 'model openai gpt-4o'],
  [
    "import { createOpenAI } from '@ai-sdk/openai';\nconst openai = createOpenAI({ apiKey });\nopenai.chat('gpt-4o');",
    'model openai gpt-4o',
  ],
  ["@ai-sdk/amazon-bedrock::bedrock('m');", 'model bedrock m'],
  ["@llamaindex/openai::openai({ model: 'gpt-4o' });", 'model openai gpt-4o'],
];

const TOOLS_PYTHON: readonly Sample[] = [
  [
    'langchain_core.tools::@tool\ndef search(q: str) -> str:\n    """Finds it.\n\n    More."""',
    'tool search: Finds it.',
  ],
  ['crewai.tools::@tool("Web search")\ndef search(q): pass', 'tool Web search'],
  ['smolagents::@tool\ndef search(q): pass', 'tool search'],
  ['agents::@function_tool(name_override="find")\nasync def search(q): pass', 'tool find'],
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
  ['agno.tools::@tool\ndef search(q): pass', 'tool search'],
  ['strands::@tool\ndef search(q): pass', 'tool search'],
  ['anthropic::@beta_tool\ndef search(q): pass', 'tool search'],
  ['claude_agent_sdk::@tool("find", "Finds", {})\nasync def search(args): pass', 'tool find: Finds'],
  [
    'from langchain_core.tools import StructuredTool\ndef search(q):\n    "Finds it."\nStructuredTool.from_function(func=search)',
    'tool search: Finds it.',
  ],
  [
    'llama_index.core.tools::FunctionTool.from_defaults(fn=search, name="find", description="Finds")',
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
  ['agents::WebSearchTool()', 'tool web_search'],
  ['agents::FileSearchTool(vector_store_ids=[])', 'tool file_search'],
  ['agents::CodeInterpreterTool()', 'tool code_interpreter'],
  ['agents::ComputerTool(c)', 'tool computer_use'],
  ['langchain_tavily::TavilySearch(max_results=2)', 'tool tavily_search'],
  ['langchain_community.tools::DuckDuckGoSearchRun()', 'tool duckduckgo_search'],
  ['langchain_experimental.tools::PythonREPLTool()', 'tool Python_REPL'],
  ['crewai_tools::SerperDevTool()', 'tool search_the_internet_with_serper'],
  ['crewai_tools::ScrapeWebsiteTool()', 'tool read_website_content'],
  ['crewai_tools::FileReadTool()', 'tool read_a_files_content'],
  ['smolagents::WebSearchTool()', 'tool web_search'],
  ['smolagents::PythonInterpreterTool()', 'tool python_interpreter'],
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
  ["@langchain/core/tools::new DynamicStructuredTool({ name: 'find' });", 'tool find'],
  ["llamaindex::tool({ name: 'find', execute });", 'tool find'],
  ["@openai/agents::tool({ name: 'find', description: 'Finds', execute });", 'tool find: Finds'],
  ["openai/helpers/zod::zodFunction({ name: 'find', parameters });", 'tool find'],
  [
    "import { tool } from 'ai';\nexport const find = tool({ description: 'Finds' });\nconst all = { 'other-one': tool({}) };",
    'tool find: Finds',
    'tool other-one',
  ],
  ["@mastra/core/tools::createTool({ id: 'find', description: 'Finds' });", 'tool find: Finds'],
  ["@anthropic-ai/sdk/helpers/beta/zod::betaZodTool({ name: 'find' });", 'tool find'],
  ["@anthropic-ai/claude-agent-sdk::tool('find', 'Finds', {}, run);", 'tool find: Finds'],
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
  ['mcp::StdioServerParameters(command="npx", args=["-y", "x"])', 'mcp null stdio npx -y x'],
  ['mcp.client.sse::sse_client("http://a/x")', 'mcp null sse http://a/x'],
  ['mcp.client.streamable_http::streamablehttp_client(url="http://a/x")', 'mcp null http http://a/x'],
  ['fastmcp::Client("http://a/mcp")', 'mcp null http http://a/mcp'],
  ['fastmcp::Client({"mcpServers": {"a": {"url": "http://a"}}})', 'mcp a http http://a'],
  ['agents.mcp::MCPServerSse(name="a", params={"url": "http://a"})', 'mcp a sse http://a'],
  ['agents::HostedMCPTool(tool_config={"server_label": "a", "url": "http://a"})', 'mcp null http http://a'],
  ['pydantic_ai.mcp::MCPServerStdio("uvx", args=["x"])', 'mcp null stdio uvx x'],
  ['crewai.mcp::MCPServerHTTP(url="http://a")', 'mcp null http http://a'],
  ['crewai_tools::MCPServerAdapter({"url": "http://a"})', 'mcp null http http://a'],
  ['autogen_ext.tools.mcp::StdioServerParams(command="uvx")', 'mcp null stdio uvx'],
  [
    'langchain_mcp_adapters.client::MultiServerMCPClient({"a": {"url": "http://a/sse"}})',
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
    "@modelcontextprotocol/sdk/client/stdio.js::new StdioClientTransport({ command: 'node', args: ['a.js'] });",
    'mcp null stdio node a.js',
  ],
  [
    "@modelcontextprotocol/sdk/client/streamableHttp.js::new StreamableHTTPClientTransport(new URL('http://a'));",
    'mcp null http http://a',
  ],
  [
    "@modelcontextprotocol/sdk/client/sse.js::new SSEClientTransport(new URL('http://a'));",
    'mcp null sse http://a',
  ],
  ["@openai/agents::new MCPServerStdio({ name: 'a', fullCommand: 'npx -y b' });", 'mcp a stdio npx -y b'],
  ["@openai/agents::hostedMcpTool({ serverLabel: 'a', serverUrl: 'http://a' });", 'mcp a http http://a'],
  ["@mastra/mcp::new MCPClient({ servers: { a: { url: new URL('http://a') } } });", 'mcp a http http://a'],
  ["@ai-sdk/mcp::createMCPClient({ transport: { type: 'sse', url: 'http://a' } });", 'mcp null sse http://a'],
];

const GUARDRAILS_PYTHON: readonly Sample[] = [
  ['guardrails.hub::DetectPII()', 'guardrail input pii-detector'],
  ['guardrails.hub::ToxicLanguage()', 'guardrail output toxicity-filter'],
  ['guardrails.hub::RestrictToTopic()', 'guardrail input topic-filter'],
  ['guardrails.hub::DetectJailbreak()', 'guardrail input prompt-injection'],
  ['guardrails.hub::ProvenanceLLM()', 'guardrail output hallucination-detector'],
  ['llm_guard.input_scanners::Anonymize(v)', 'guardrail input pii-detector'],
  ['llm_guard.input_scanners::PromptInjection()', 'guardrail input prompt-injection'],
  ['llm_guard.input_scanners::Toxicity()', 'guardrail input toxicity-filter'],
  ['llm_guard.input_scanners::BanTopics()', 'guardrail input topic-filter'],
  ['llm_guard.output_scanners::Sensitive()', 'guardrail output pii-detector'],
  ['llm_guard.output_scanners::Toxicity()', 'guardrail output toxicity-filter'],
  ['llm_guard.output_scanners::BanTopics()', 'guardrail output topic-filter'],
  ['llm_guard.output_scanners::FactualConsistency()', 'guardrail output hallucination-detector'],
  ['presidio_analyzer::AnalyzerEngine()', 'guardrail input pii-detector'],
  ['presidio_anonymizer::AnonymizerEngine()', 'guardrail input pii-detector'],
  ['detoxify::Detoxify("original")', 'guardrail output toxicity-filter'],
  ['langchain.agents.middleware::PIIMiddleware("email")', 'guardrail input pii-detector'],
  ['openai::OpenAI().moderations.create(input=answer)', 'guardrail output toxicity-filter'],
  ['detect_pii(reply)', 'guardrail output pii-detector'],
  ['agents::@input_guardrail\nasync def budget(ctx, agent, text): pass', 'guardrail input custom'],
  [
    'agents::@output_guardrail\nasync def no_toxicity(ctx, agent, text): pass',
    'guardrail output toxicity-filter',
  ],
];

const GUARDRAILS_SCRIPT: readonly Sample[] = [
  ["langchain::piiMiddleware('email');", 'guardrail input pii-detector'],
  ['@mastra/core/processors::new PIIDetector({});', 'guardrail input pii-detector'],
  ['@mastra/core/processors::new PromptInjectionDetector({});', 'guardrail input prompt-injection'],
  ['@mastra/core/processors::new ModerationProcessor({});', 'guardrail output toxicity-filter'],
  [
    "import { createReporter } from 'agent-compliance/reporter';\nbehavior.guardrail('topic-filter', {});",
    'guardrail input topic-filter',
  ],
  [
    "import { Agent } from '@openai/agents';\nconst math = { name: 'Prompt injection', execute };\nnew Agent({ name: 'a', inputGuardrails: [math] });",
    'guardrail input prompt-injection',
  ],
  [
    "@openai/agents::new Agent({ name: 'a', outputGuardrails: [{ name: 'Length', execute }] });",
    'guardrail output custom',
  ],
];

const STORES_PYTHON: readonly Sample[] = [
  [
    'langgraph.checkpoint.redis::RedisSaver.from_conn_string("redis://r:6379")',
    'store shortTerm redis redis://r:6379',
  ],
  [
    'langgraph.checkpoint.postgres.aio::AsyncPostgresSaver.from_conn_string(u)',
    'store shortTerm postgres undefined',
  ],
  ['langgraph.checkpoint.sqlite::SqliteSaver.from_conn_string("x.db")', 'store shortTerm sqlite x.db'],
  ['langgraph.checkpoint.memory::InMemorySaver()', 'store shortTerm in-memory undefined'],
  [
    'langchain_redis::RedisChatMessageHistory("s", redis_url="redis://r:6379")',
    'store shortTerm redis redis://r:6379',
  ],
  ['langchain_postgres::PostgresChatMessageHistory(connection="pg://p")', 'store shortTerm postgres pg://p'],
  ['langchain.memory::ConversationBufferMemory()', 'store shortTerm in-memory undefined'],
  ['agents::SQLiteSession("u")', 'store shortTerm sqlite u'],
  [
    'agents.extensions.memory::RedisSession.from_url("u", url="redis://r:1")',
    'store shortTerm redis redis://r:1',
  ],
  ['llama_index.core.memory::ChatMemoryBuffer.from_defaults()', 'store shortTerm in-memory undefined'],
  ['langgraph.store.postgres::PostgresStore.from_conn_string("pg://p")', 'store longTerm postgres pg://p'],
  ['langgraph.store.memory::InMemoryStore()', 'store longTerm in-memory undefined'],
  ['mem0::Memory()', 'store longTerm mem0 undefined'],
  ['zep_cloud.client::Zep()', 'store longTerm zep undefined'],
  ['import chromadb\nchromadb.HttpClient(host="c", port=8000)', 'store vector chroma c:8000'],
  ['langchain_chroma::Chroma()', 'store vector chroma undefined'],
  ['qdrant_client::QdrantClient(url="http://q:6333")', 'store vector qdrant http://q:6333'],
  [
    'langchain_qdrant::QdrantVectorStore.from_documents(d, url="http://q:1")',
    'store vector qdrant http://q:1',
  ],
  ['pinecone::Pinecone()', 'store vector pinecone undefined'],
  ['langchain_pinecone::PineconeVectorStore()', 'store vector pinecone undefined'],
  ['langchain_postgres::PGVector(connection="pg://p")', 'store vector pgvector pg://p'],
  ['langchain_community.vectorstores::FAISS.load_local()', 'store vector faiss undefined'],
  ['import weaviate\nweaviate.connect_to_local()', 'store vector weaviate undefined'],
  ['pymilvus::MilvusClient(uri="http://m:1")', 'store vector milvus http://m:1'],
  ['import lancedb\nlancedb.connect()', 'store vector lancedb undefined'],
  ['import os\nimport redis\nredis.Redis.from_url(os.environ["CACHE_URL"])', 'store service redis CACHE_URL'],
  ['import asyncpg\nasyncpg.connect("pg://p")', 'store service postgres pg://p'],
  ['sqlalchemy::create_engine("pg://p")', 'store service database pg://p'],
  ['pymongo::MongoClient("mongodb://m")', 'store service mongodb mongodb://m'],
  ['import pymysql\npymysql.connect(host="m", port=3306)', 'store service mysql m:3306'],
  ['elasticsearch::Elasticsearch("http://e:9200")', 'store service elasticsearch http://e:9200'],
  ['import aio_pika\naio_pika.connect_robust("amqp://q")', 'store service rabbitmq amqp://q'],
];

const STORES_SCRIPT: readonly Sample[] = [
  [
    "@langchain/langgraph-checkpoint-postgres::PostgresSaver.fromConnString('pg://p');",
    'store shortTerm postgres pg://p',
  ],
  [
    "@langchain/langgraph-checkpoint-redis::RedisSaver.fromUrl('redis://r:1');",
    'store shortTerm redis redis://r:1',
  ],
  ['@langchain/langgraph::new MemorySaver();', 'store shortTerm in-memory undefined'],
  ["@mastra/libsql::new LibSQLStore({ url: 'file:a.db' });", 'store shortTerm libsql file:a.db'],
  ["@mastra/pg::new PostgresStore({ connectionString: 'pg://p' });", 'store shortTerm postgres pg://p'],
  ["@mastra/upstash::new UpstashStore({ url: 'http://u' });", 'store shortTerm upstash http://u'],
  ["@mastra/pg::new PgVector({ connectionString: 'pg://p' });", 'store vector pgvector pg://p'],
  ["import Redis from 'ioredis';\nnew Redis(process.env.REDIS_URL);", 'store service redis REDIS_URL'],
  [
    "import pg from 'pg';\nnew pg.Pool({ connectionString: process.env['DB'] ?? 'pg://p' });",
    'store service postgres pg://p',
  ],
];

const API_PYTHON: readonly Sample[] = [
  ['import uvicorn\nuvicorn.run("a:app", port=8000)', 'port 8000'],
  ['granian::Granian("a:app", port=8001)', 'port 8001'],
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
  ['@hono/node-server::serve({ fetch, port: 3001 });', 'port 3001'],
  ['Bun.serve({ port: 3002 });', 'port 3002'],
  ['@modelcontextprotocol/sdk/server/streamableHttp.js::new StreamableHTTPServerTransport({});', 'apiType'],
];

function withImports(language: Language, samples: readonly Sample[]): Sample[] {
  return samples.map(([code, ...found]) => {
    const [, module, use, name] = /^([^\s:'"]+)::((?:new |@)?(\w+).*)$/s.exec(code) ?? [];
    if (module === undefined) return [code, ...found];
    const start =
      language === 'python' ? `from ${module} import ${name}` : `import { ${name} } from '${module}';`;
    return [`${start}\n${use}`, ...found];
  });
}

const PYTHON = [MODELS_PYTHON, TOOLS_PYTHON, MCP_PYTHON, GUARDRAILS_PYTHON, STORES_PYTHON, API_PYTHON];
const SCRIPT = [MODELS_SCRIPT, TOOLS_SCRIPT, MCP_SCRIPT, GUARDRAILS_SCRIPT, STORES_SCRIPT, API_SCRIPT];
const CODE: readonly (readonly [Language, readonly Sample[]])[] = [
  ['python', withImports('python', PYTHON.flat())],
  ['javascript', withImports('javascript', SCRIPT.flat())],
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
