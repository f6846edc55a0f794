import { VENDORS, type VendorName } from '../vendors/vendors.ts';
import { FORMATS, filled, flag, formatted, identifier, integer, list, map, number } from './schema-node.ts';
import { anything, object, restricted, secret, text, word } from './schema-node.ts';

/** Schema of the agent's parts: metadata, model, prompts, tools, MCP servers, memory. */

/** Values that several keys propose. */
const PROVIDERS: readonly VendorName[] = ['openai', 'anthropic', 'google', 'mistral', 'groq', 'cohere'];
const KEYS = [
  ...[VENDORS.openai, VENDORS.anthropic].map(({ keys }) => `$env:${keys[0]}`),
  '$secret:model-key',
];
const STORES = ['redis', 'postgres'];

export const metadata = object('Identity of the agent.', {
  'name!': identifier(
    'Name of the agent, unique per namespace. The AgentObservation and every report use this name.',
    FORMATS.dnsLabel,
  ),
  'version!': formatted('Semantic version of the agent.', FORMATS.semver, { examples: ['0.1.0'] }),
  'description!': text('Purpose of the agent, for readers and for the capability card.'),
  tags: list('Search tags.', text('A tag.')),
  author: text('Person or team that owns the agent.'),
  license: text('License of the agent, preferably an SPDX identifier.', ['Apache-2.0', 'MIT']),
});

export const model = object('The language model that the agent calls.', {
  'provider!': filled(`Vendor of the model, such as ${PROVIDERS.join(', ')}.`, PROVIDERS),
  'id!': filled('Model identifier used by the vendor, preferably a pinned version.', [
    'gpt-4.1-mini',
    'claude-sonnet-4-5',
    'gemini-2.5-flash',
  ]),
  'apiKey!': secret(
    'API key of the vendor. Use a `$secret:` or `$env:` reference instead of the key itself.',
    KEYS,
  ),
  parameters: object('Sampling parameters.', {
    temperature: number('Sampling temperature.', { min: 0, max: 2 }),
    maxTokens: integer('Maximum number of tokens in one completion.', { min: 1 }),
    topP: number('Nucleus sampling threshold.', { min: 0, max: 1 }),
    frequencyPenalty: number('Penalty for tokens in proportion to how often they already occur.'),
    presencePenalty: number('Penalty for tokens that already occur at least once.'),
  }),
  fallback: object('Model to call when the primary model fails. Declared, not checked.', {
    'provider!': filled('Vendor of the fallback model.', PROVIDERS),
    'id!': filled('Identifier of the fallback model.'),
    'apiKey!': secret('API key of the vendor of the fallback model.', KEYS),
    triggerOn: list(
      'Failures that trigger the fallback.',
      word('Kind of failure.', ['rate_limit', 'timeout', 'error_5xx', 'error_4xx']),
    ),
    maxRetries: integer('Maximum number of retries with the fallback model.', { min: 0, max: 10 }),
  }),
  costControls: object('Limits on cost and tokens, passed to the policy engine.', {
    maxMonthlyUSD: number(
      'Maximum cost per month in US dollars; the daily limit is one thirtieth. Declared, not checked without `usdPerMillionTokens`.',
      { min: 0 },
    ),
    alertAtUSD: number('Cost per month in US dollars that should trigger an alert. Declared, not checked.', {
      min: 0,
    }),
    maxTokensPerDay: integer('Maximum number of tokens per UTC day.', { min: 1 }),
    usdPerMillionTokens: object('Price of the model. The cost is computed only if both prices are set.', {
      input: number('US dollars per million prompt tokens.', { min: 0 }),
      output: number('US dollars per million completion tokens.', { min: 0 }),
    }),
  }),
  prices: map(
    'Prices by model id, in US dollars per million tokens. They replace the default list prices of the egress lanes.',
    object('Price of one model.', {
      'input!': number('Prompt tokens.', { min: 0 }),
      'output!': number('Completion tokens, including reasoning tokens.', { min: 0 }),
      cachedInput: number('Prompt tokens that were read from the cache; default: `input`.', { min: 0 }),
      cacheWrite: number('Prompt tokens that were written to the cache; default: `input`.', { min: 0 }),
    }),
  ),
});

export const prompts = object('Prompts of the agent.', {
  system: text('System prompt, preferably a `$file:` reference.', ['$file:prompt.md']),
  fallback: text('Response of the agent when the model is unavailable.'),
  hotReload: flag('Whether the agent reloads its prompts when they change.', false),
  variables: list(
    'Variables that the prompts use.',
    object('One variable.', {
      'name!': filled('Name of the variable in the prompt.'),
      'value!': text('Value of the variable, or a reference to the value.'),
    }),
  ),
});

export const tools = list(
  'Tools that the agent can call. Names must be unique.',
  object('One tool.', {
    'name!': filled('Name that the model uses to call the tool.'),
    type: word('Where the tool is implemented.', ['function', 'mcp', 'builtin']),
    description: text('What the tool does.'),
    module: text('Module that contains the function.'),
    function: text('Function in that module.'),
    annotations: object('Hints about the effects of a call, as in the Model Context Protocol.', {
      readOnlyHint: flag('Whether the tool changes nothing.'),
      destructiveHint: flag(
        'Whether the tool may delete or overwrite data. If true, calls need the confirmation of a user.',
      ),
      idempotentHint: flag('Whether a repeated call with the same arguments has no additional effect.'),
      openWorldHint: flag('Whether the tool accesses systems outside the agent.'),
    }),
    constraints: map(
      'JSON Schema of the arguments. On an egress lane, a call with other arguments is denied with `tool_arguments_invalid`.',
      anything('Value of a keyword of JSON Schema 2020-12.'),
    ),
  }),
);

const mcpServer = restricted(
  object('One server.', {
    'name!': filled('Name of the server; its check is `mcp:<name>`.'),
    transport: word('Transport of the server.', ['stdio', 'sse', 'http']),
    host: filled('Host of the server; requires `port`.'),
    port: integer('Port of the server; requires `host`.', { min: 1, max: 65535 }),
    url: formatted('Address of the server, instead of `host` and `port`.', FORMATS.httpUrl, {
      examples: ['http://localhost:3000/mcp'],
    }),
    command: filled('Program to start for the transport stdio.'),
    args: list('Arguments of the program.', text('An argument.')),
    env: map('Environment variables of the program.', text('Value of the variable.')),
    healthCheck: object('Settings of the probe.', {
      timeoutSeconds: integer('Timeout of the probe in seconds.', { min: 1, max: 60, default: 5 }),
    }),
  }),
  {
    if: { properties: { transport: { const: 'stdio' } }, required: ['transport'] },
    then: { anyOf: [{ required: ['command'] }], $comment: 'a stdio server needs "command"' },
    else: {
      if: { properties: { transport: { enum: ['sse', 'http'] } }, required: ['transport'] },
      then: {
        anyOf: [{ required: ['url'] }, { required: ['host', 'port'] }],
        $comment: 'an sse or http server needs "url", or "host" and "port"',
      },
      else: {
        anyOf: [{ required: ['url'] }, { required: ['host', 'port'] }, { required: ['command'] }],
        $comment: 'a server needs "url", or "host" and "port", or "command"',
      },
    },
  },
);

export const mcp = object('Model Context Protocol servers.', {
  servers: list('Servers that the agent uses. Names must be unique.', mcpServer),
});

export const memory = object('Memory of the agent and its stores.', {
  backend: text('Default store of the memory, such as redis or postgres.', STORES),
  shortTerm: object('Memory of one conversation.', {
    backend: text('Store of the conversation.', STORES),
    maxTurns: integer('Maximum number of turns to keep.', { min: 1 }),
    maxTokens: integer('Maximum number of tokens to keep.', { min: 1 }),
    ttlSeconds: integer(
      'Lifetime of an entry in seconds. The policy compares the TTL of each write with this value.',
      {
        min: 0,
      },
    ),
    connection: text('Address of the store: `host:port` or a connection URL.', [
      '$env:REDIS_URL',
      'redis://localhost:6379',
    ]),
  }),
  longTerm: object('Memory across conversations.', {
    'backend!': filled('Store of the memory.', STORES),
    connectionString: text('Connection URL of the store.', ['$env:DATABASE_URL']),
    table: text('Table that contains the entries.'),
    ttlDays: integer('Lifetime of an entry in days.', { min: 0 }),
  }),
  vector: object('Vector store.', {
    'backend!': filled('Product, such as pgvector, qdrant, pinecone.', ['pgvector', 'qdrant', 'pinecone']),
    connectionString: text('Connection URL of the store.', ['$env:DATABASE_URL']),
    apiKey: secret('API key of the store.', ['$secret:vector-key', '$env:VECTOR_API_KEY']),
    dimension: integer('Dimension of the embeddings.', { min: 1 }),
    topK: integer('Number of entries that one search returns.', { min: 1 }),
    namespace: text('Namespace that separates the data of this agent from other agents.'),
  }),
  hygiene: object('Handling of personal data in memory.', {
    piiScrubFields: list('Fields to scrub before each write.', text('A field.', ['email', 'phone', 'name'])),
    auditLog: flag('Whether writes are logged.', false),
    retentionPolicy: text('Name or text of the retention policy. Declared, not checked.'),
  }),
});

export const egress = object(
  'Outgoing connections and calls that no other part of the manifest declares. They are compared with what the egress lanes and the socket census observe.',
  {
    hosts: list(
      'Hosts that the agent connects to. Hosts in other addresses of the manifest are declared there.',
      identifier('A host.', FORMATS.hostPattern, ['api.example.com', '*.example.com']),
    ),
    tools: list(
      'Names of tools that the agent offers to a model in addition to `spec.tools`, such as tools of MCP servers or of the vendor.',
      identifier('A tool.', FORMATS.toolPattern, ['web_search', 'files_*']),
    ),
    models: list(
      'Ids of models that the agent calls in addition to `spec.model`, such as a model for embeddings.',
      filled('A model id.', ['text-embedding-3-small']),
    ),
  },
);
