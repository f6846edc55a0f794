import type { Call, Code } from '../code.ts';
import type { ModelFound } from '../finding.ts';
import { callOf, type CallRow } from '../row.ts';
import { optionOf } from '../values.ts';
import { providerAtUrl, splitModel } from '../vendors.ts';

type Keys = readonly (string | number)[];

/** Options that select the model. */
const MODEL: Keys = ['model', 'model_name', 'modelName', 'model_id', 'modelId'];
const KEY: Keys = [
  'api_key',
  'apiKey',
  'openai_api_key',
  'openAIApiKey',
  'anthropic_api_key',
  'google_api_key',
];
const BASE_URL: Keys = [
  'base_url',
  'baseURL',
  'baseUrl',
  'api_base',
  'openai_api_base',
  'azure_endpoint',
  'host',
];

/**
 * Reads a call that names a model. Without the option the call is not a finding: the model is named elsewhere.
 * @param vendor null: the model id begins with the vendor, or its name shows the vendor
 */
function model(vendor: string | null, ids: Keys = MODEL): CallRow['read'] {
  return (call, code) => {
    const option = optionOf(call.args, ids);
    if (option === null) return [];
    const setting = code.resolve(call.source, option);
    // A nested call, such as the model object of an agent, is a finding of its own.
    if (setting === null && (vendor === null || option.kind === 'call')) return [];
    const split = vendor === null ? splitModel(setting?.text ?? null) : null;
    const client = clientOf(call, code);
    const temperature = Number(code.textOption(call, ['temperature']) ?? Number.NaN);
    const found: ModelFound = {
      kind: 'model',
      provider: client.provider ?? split?.provider ?? vendor,
      id: { text: split?.id ?? setting?.text ?? null, variable: setting?.variable ?? null },
      keyVariable: client.keyVariable,
      temperature: temperature >= 0 && temperature <= 2 ? temperature : null,
    };
    return [found];
  };
}

/** The vendor's address and the key: of the call itself, or of the client whose method it is. */
function clientOf(call: Call, code: Code): { provider: string | null; keyVariable: string | null } {
  const client = constructorOf(call, code);
  let [provider, keyVariable]: (string | null)[] = [null, null];
  for (const options of client === null ? [call] : [call, client]) {
    const address = code.setting(options, BASE_URL);
    provider ??= address === null ? null : providerAtUrl(address);
    keyVariable ??= code.setting(options, KEY)?.variable ?? null;
  }
  if (call.name.includes('Azure')) provider ??= 'azure';
  return { provider: provider ?? null, keyVariable: keyVariable ?? null };
}

/** `OpenAI(…)` for `client.chat.completions.create(…)`. */
function constructorOf({ source, value }: Call, code: Code): Pick<Call, 'source' | 'args'> | null {
  if (value.receiver !== null) return { source, args: value.receiver.args };
  const head = /^(?:(?:self|this)\.)?[^.]*/.exec(value.path)?.[0] ?? '';
  const assigned = code.assigned(source, head);
  const created = callOf(assigned?.value ?? null);
  return created === null || assigned === null ? null : { source: assigned.source, args: created.args };
}

/** A method of a vendor's client, also if the origin of the client is not known. */
function method(framework: string, modules: string, path: string, vendor: string): CallRow {
  return {
    framework,
    language: 'any',
    name: new RegExp(`^(?:${modules})?:(?:.*\\.)?${path}$`),
    needs: new RegExp(`^(?:${modules})(?:/|$)`),
    read: model(vendor),
  };
}

/** The client libraries of vendors. The first row that matches a call decides. */
const CLIENTS: readonly CallRow[] = [
  method('openai', 'openai', '(?:chat\\.completions|responses)\\.(?:create|parse|stream|runTools)', 'openai'),
  method('groq', 'groq|groq-sdk', 'chat\\.completions\\.create', 'groq'),
  method('together', 'together|together-ai', 'chat\\.completions\\.create', 'together'),
  method(
    'anthropic',
    'anthropic|@anthropic-ai/[\\w-]*sdk',
    'messages\\.(?:create|stream|parse|tool_runner|toolRunner)',
    'anthropic',
  ),
  method(
    'google-genai',
    'google|google\\.genai|@google/genai',
    'models\\.generate_?[cC]ontent(?:_?[sS]tream)?',
    'google',
  ),
  method('google-generativeai', '@google/generative-ai', 'getGenerativeModel', 'google'),
  method('mistral', 'mistralai|@mistralai/mistralai', 'chat\\.(?:complete|stream)(?:_async)?', 'mistral'),
  method('cohere', 'cohere|cohere-ai', 'chat(?:_stream|Stream)?', 'cohere'),
  method('ollama', 'ollama', '(?:chat|generate)', 'ollama'),
  method('bedrock', 'boto3|aioboto3', '(?:converse|invoke_model)\\w*', 'bedrock'),
  {
    framework: 'bedrock',
    language: 'javascript',
    name: /^@aws-sdk\/client-bedrock-runtime:(?:Converse|InvokeModel)\w*Command$/,
    read: model('bedrock'),
  },
  {
    framework: 'google-generativeai',
    language: 'python',
    name: /^google\.generativeai:GenerativeModel$/,
    read: model('google', ['model_name', 0]),
  },
  {
    framework: 'litellm',
    language: 'python',
    name: /^litellm:a?(?:completion|responses)$/,
    read: model(null, ['model', 0]),
  },
];

/** Chat models of LangChain, by vendor. */
const LANGCHAIN_CLASSES: readonly (readonly [name: string, vendor: string])[] = [
  ['ChatOpenAI', 'openai'],
  ['AzureChatOpenAI', 'azure'],
  ['ChatAnthropic', 'anthropic'],
  ['ChatGoogleGenerativeAI', 'google'],
  ['ChatVertexAI', 'vertex'],
  ['ChatMistralAI', 'mistral'],
  ['ChatGroq', 'groq'],
  ['ChatCohere', 'cohere'],
  ['ChatOllama', 'ollama'],
  ['ChatBedrock(?:Converse)?', 'bedrock'],
  ['ChatDeepSeek', 'deepseek'],
  ['ChatXAI', 'xai'],
  ['ChatTogether', 'together'],
];

const LANGCHAIN: readonly CallRow[] = LANGCHAIN_CLASSES.map(([name, vendor]): CallRow => ({
  framework: 'langchain',
  language: 'any',
  name: new RegExp(`^@?langchain[\\w./-]*:${name}$`),
  read: model(vendor, [...MODEL, 'azure_deployment', 'deployment_name', 'azureOpenAIApiDeploymentName', 0]),
}));

/** A call whose model id has the vendor in front, such as `openai:gpt-4o` or `openai/gpt-4o`, or a known name. */
const prefixed = (framework: string, name: RegExp, ids: Keys): CallRow => ({
  framework,
  language: name.source.startsWith('^@') || framework === 'ai-sdk' ? 'javascript' : 'python',
  name,
  read: model(null, ids),
});

const PREFIXED: readonly CallRow[] = [
  { ...prefixed('langchain', /^langchain[\w./]*:init_?[cC]hat_?[mM]odel$/, ['model', 0]), language: 'any' },
  { ...prefixed('langchain', /^langchain[\w./]*:create_?[aA]gent$/, ['model', 0]), language: 'any' },
  prefixed('langgraph', /^langgraph\.prebuilt[\w.]*:create_react_agent$/, ['model', 0]),
  prefixed('crewai', /^crewai(?:\.llm)?:LLM$/, ['model', 0]),
  prefixed('crewai', /^crewai(?:\.agent)?:Agent$/, ['llm']),
  prefixed('pydantic-ai', /^pydantic_ai(?:\.agent)?:Agent$/, ['model', 0]),
  prefixed('openai-agents', /^agents(?:\.agent)?:Agent$/, ['model']),
  prefixed('openai-agents', /^agents[\w.]*:(?:OpenAI\w+|Litellm)Model$/, ['model', 0]),
  prefixed('openai-agents', /^@openai\/agents[\w-]*:Agent$/, ['model']),
  prefixed('openai-agents', /^@openai\/agents[\w-]*:OpenAI\w+Model$/, [1]),
  prefixed('google-adk', /^google\.adk[\w.]*:(?:Llm)?Agent$/, ['model']),
  prefixed('google-adk', /^google\.adk[\w.]*:LiteLlm$/, ['model', 0]),
  prefixed('ai-sdk', /^ai:(?:(?:generate|stream)(?:Text|Object)|\w*Agent)$/, ['model']),
  prefixed('mastra', /^@mastra\/core(?:\/agent)?:Agent$/, ['model']),
  prefixed('smolagents', /^smolagents:LiteLLM\w*Model$/, ['model_id', 0]),
  prefixed('dspy', /^dspy:LM$/, ['model', 0]),
  prefixed('semantic-kernel', /^semantic_kernel[\w.]*:OpenAI\w*Completion$/, ['ai_model_id']),
];

/** A model class whose module or name shows the vendor: the first group of `name`. */
const classOf = (framework: string, name: RegExp, ids: Keys): CallRow => ({
  framework,
  language: name.source.startsWith('^@') ? 'javascript' : 'python',
  name,
  read: (call, code) => {
    const vendor = (name.exec(call.name)?.[1] ?? '').toLowerCase();
    return model(splitModel(`${vendor}/model`).provider ?? vendor, ids)(call, code);
  },
});

const CLASSES: readonly CallRow[] = [
  classOf('autogen', /^autogen_ext\.models\.(openai|anthropic|ollama|azure)[\w.]*:\w+ChatCompletionClient$/, [
    'model',
  ]),
  classOf(
    'pydantic-ai',
    /^pydantic_ai\.models\.(openai|anthropic|google|gemini|groq|mistral|cohere|bedrock|xai)[\w.]*:\w+Model$/,
    ['model_name', 0],
  ),
  classOf(
    'llama-index',
    /^llama_index\.llms\.(openai|azure_openai|anthropic|google_genai|gemini|groq|mistralai|cohere|ollama|bedrock_converse|deepseek)\w*(?:\.\w+)*:\w+$/,
    ['model', 'model_name', 'engine', 0],
  ),
  classOf('llama-index', /^@llamaindex\/(openai|anthropic|google|gemini|groq|mistral|ollama):\w+$/, [
    'model',
  ]),
  classOf('agno', /^agno\.models\.(openai|anthropic|google|groq|mistral|cohere|ollama|deepseek)[\w.]*:\w+$/, [
    'id',
  ]),
  classOf('smolagents', /^smolagents:(OpenAI|AzureOpenAI)(?:Server)?Model$/, ['model_id', 0]),
  classOf('haystack', /^haystack[\w.]*:(OpenAI|AzureOpenAI)(?:Chat)?Generator$/, ['model']),
  classOf(
    'ai-sdk',
    /^@ai-sdk\/(openai|anthropic|google|groq|mistral|cohere|xai|deepseek|togetherai|azure|amazon-bedrock):(?:create\w+\(\)|\w+)(?:\.(?:chat|responses|completion|languageModel|messages))?$/,
    [0],
  ),
];

export const MODEL_ROWS: readonly CallRow[] = [...CLIENTS, ...LANGCHAIN, ...PREFIXED, ...CLASSES];
