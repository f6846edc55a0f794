import { VENDOR_CODE } from '../../../core/vendors/vendors.ts';
import type { Call, Code } from '../code.ts';
import type { ModelFound } from '../discovery.ts';
import { callOf, type CallRow } from '../row.ts';
import { optionOf } from '../values.ts';
import { providerAtUrl, splitModel, VENDOR_NAMES } from '../vendors.ts';

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
 * Reads a call that names a model. Without the option the call is not reported: the model is named elsewhere.
 * @param vendor null: the model id begins with the vendor, or its name shows the vendor
 */
function model(vendor: string | null, ids: Keys = MODEL): CallRow['read'] {
  return (call, code) => {
    const option = optionOf(call.args, ids);
    if (option === null) return [];
    const setting = code.resolve(call.source, option);
    // A nested call, such as the model object of an agent, is a discovery of its own.
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

const VENDOR_ROWS = Object.entries(VENDOR_CODE);

/** Methods of the clients of vendors, also if the origin of the client is not known. */
const METHODS: readonly CallRow[] = VENDOR_ROWS.flatMap(([vendor, { methods = [] }]) =>
  methods.map(({ modules, path }): CallRow => ({
    language: 'any',
    name: new RegExp(`^(?:${modules})?:(?:.*\\.)?${path}$`),
    needs: new RegExp(`^(?:${modules})(?:/|$)`),
    read: model(vendor),
  })),
);

const CONSTRUCTORS: readonly CallRow[] = VENDOR_ROWS.flatMap(([vendor, { constructors = [] }]) =>
  constructors.map(({ language, name, ids }): CallRow => ({
    language,
    name,
    read: model(vendor, ids),
  })),
);

/** The client libraries of vendors. The first row that matches a call decides. */
const CLIENTS: readonly CallRow[] = [
  ...METHODS,
  ...CONSTRUCTORS,
  {
    language: 'python',
    name: /^litellm:a?(?:completion|responses)$/,
    read: model(null, ['model', 0]),
  },
];

/** Chat models of LangChain. */
const LANGCHAIN: readonly CallRow[] = VENDOR_ROWS.flatMap(([vendor, { langchain }]): CallRow[] =>
  langchain === undefined
    ? []
    : [
        {
          language: 'any',
          name: new RegExp(`^@?langchain[\\w./-]*:${langchain}$`),
          read: model(vendor, [
            ...MODEL,
            ...['azure_deployment', 'deployment_name', 'azureOpenAIApiDeploymentName', 0],
          ]),
        },
      ],
);

/** A call whose model id has the vendor in front, such as `openai:gpt-4o` or `openai/gpt-4o`, or a known name. */
const prefixed = (name: RegExp, ids: Keys): CallRow => ({
  language: /^\^(?:@|ai:)/.test(name.source) ? 'javascript' : 'python',
  name,
  read: model(null, ids),
});

const PREFIXED: readonly CallRow[] = [
  { ...prefixed(/^langchain[\w./]*:init_?[cC]hat_?[mM]odel$/, ['model', 0]), language: 'any' },
  { ...prefixed(/^langchain[\w./]*:create_?[aA]gent$/, ['model', 0]), language: 'any' },
  prefixed(/^langgraph\.prebuilt[\w.]*:create_react_agent$/, ['model', 0]),
  prefixed(/^crewai(?:\.llm)?:LLM$/, ['model', 0]),
  prefixed(/^crewai(?:\.agent)?:Agent$/, ['llm']),
  prefixed(/^pydantic_ai(?:\.agent)?:Agent$/, ['model', 0]),
  prefixed(/^agents(?:\.agent)?:Agent$/, ['model']),
  prefixed(/^agents[\w.]*:(?:OpenAI\w+|Litellm)Model$/, ['model', 0]),
  prefixed(/^@openai\/agents[\w-]*:Agent$/, ['model']),
  prefixed(/^@openai\/agents[\w-]*:OpenAI\w+Model$/, [1]),
  prefixed(/^google\.adk[\w.]*:(?:Llm)?Agent$/, ['model']),
  prefixed(/^google\.adk[\w.]*:LiteLlm$/, ['model', 0]),
  prefixed(/^ai:(?:(?:generate|stream)(?:Text|Object)|\w*Agent)$/, ['model']),
  prefixed(/^@mastra\/core(?:\/agent)?:Agent$/, ['model']),
  prefixed(/^smolagents:LiteLLM\w*Model$/, ['model_id', 0]),
  prefixed(/^dspy:LM$/, ['model', 0]),
  prefixed(/^semantic_kernel[\w.]*:OpenAI\w*Completion$/, ['ai_model_id']),
];

/** A model class whose module or name shows the vendor: the first group of `pattern`, with `VENDOR` for the names of all vendors. */
function classOf(pattern: RegExp, ids: Keys): CallRow {
  const name = new RegExp(pattern.source.replace('VENDOR', VENDOR_NAMES));
  return {
    language: pattern.source.startsWith('^@') ? 'javascript' : 'python',
    name,
    read: (call, code) => {
      const vendor = (name.exec(call.name)?.[1] ?? '').toLowerCase();
      return model(splitModel(`${vendor}/model`).provider ?? vendor, ids)(call, code);
    },
  };
}

const CLASSES: readonly CallRow[] = [
  classOf(/^autogen_ext\.models\.(VENDOR)[\w.]*:\w+ChatCompletionClient$/, ['model']),
  classOf(/^pydantic_ai\.models\.(VENDOR)[\w.]*:\w+Model$/, ['model_name', 0]),
  classOf(/^llama_index\.llms\.(VENDOR)\w*(?:\.\w+)*:\w+$/, ['model', 'model_name', 'engine', 0]),
  classOf(/^@llamaindex\/(VENDOR):\w+$/, ['model']),
  classOf(/^agno\.models\.(VENDOR)[\w.]*:\w+$/, ['id']),
  classOf(/^smolagents:(OpenAI|AzureOpenAI)(?:Server)?Model$/, ['model_id', 0]),
  classOf(/^haystack[\w.]*:(OpenAI|AzureOpenAI)(?:Chat)?Generator$/, ['model']),
  classOf(
    /^@ai-sdk\/(VENDOR):(?:create\w+\(\)|\w+)(?:\.(?:chat|responses|completion|languageModel|messages))?$/,
    [0],
  ),
];

export const MODEL_ROWS: readonly CallRow[] = [...CLIENTS, ...LANGCHAIN, ...PREFIXED, ...CLASSES];
