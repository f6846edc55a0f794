import { FORMATS, filled, flag, formatted, identifier, integer, list, map, number } from './schema-node.ts';
import { object, secret, text, word, type SchemaNode } from './schema-node.ts';

/** What the agent is made of: metadata, model, prompts, tools, MCP servers, memory. */

export const metadata: SchemaNode = object('Who the agent is.', {
  'name!': identifier(
    'Name of the agent, one per namespace; the observation and every report carry it.',
    FORMATS.dnsLabel,
  ),
  'version!': formatted('Version of the agent itself, a semantic version.', FORMATS.semver),
  'description!': text('What the agent does, for people and for the capability card.'),
  tags: list('Words to find the agent by.', text('A tag.')),
  author: text('Person or team that answers for the agent.'),
  license: text('License of the agent, best as an SPDX identifier.'),
});

export const model: SchemaNode = object('The language model that the agent calls.', {
  'provider!': filled('Vendor of the model, such as openai, anthropic, google, mistral, groq, cohere.'),
  'id!': filled('Model identifier at the vendor, best a pinned one.'),
  'apiKey!': secret('Key for the vendor; a `$secret:` or `$env:` reference rather than the key itself.'),
  parameters: object('Sampling parameters.', {
    temperature: number('Sampling temperature.', { min: 0, max: 2 }),
    maxTokens: integer('Most tokens in one completion.', { min: 1 }),
    topP: number('Nucleus sampling threshold.', { min: 0, max: 1 }),
    frequencyPenalty: number('Penalty for tokens by how often they already occur.'),
    presencePenalty: number('Penalty for tokens that already occur.'),
  }),
  fallback: object('The model to call when the first one fails. Declared, not checked.', {
    'provider!': filled('Vendor of the fallback model.'),
    'id!': filled('Identifier of the fallback model.'),
    'apiKey!': secret('Key for the vendor of the fallback model.'),
    triggerOn: list(
      'Failures that make the agent fall back.',
      word('A kind of failure.', ['rate_limit', 'timeout', 'error_5xx', 'error_4xx']),
    ),
    maxRetries: integer('Most tries on the fallback model.', { min: 0, max: 10 }),
  }),
  costControls: object('Limits on cost and tokens; the policy engine is told of them.', {
    maxMonthlyUSD: number(
      'Most US dollars a month; a day may use a thirtieth. Without `usdPerMillionTokens` declared, not checked.',
      { min: 0 },
    ),
    alertAtUSD: number('US dollars a month at which somebody should be told. Declared, not checked.', {
      min: 0,
    }),
    maxTokensPerDay: integer('Most tokens in a UTC day.', { min: 1 }),
    usdPerMillionTokens: object('Price of the model; without both prices no cost is computed.', {
      input: number('US dollars per million prompt tokens.', { min: 0 }),
      output: number('US dollars per million completion tokens.', { min: 0 }),
    }),
  }),
});

export const prompts: SchemaNode = object('Prompts of the agent.', {
  system: text('System prompt, best as a `$file:` reference.'),
  fallback: text('What the agent says when the model cannot answer.'),
  hotReload: flag('Whether the agent reads its prompts again when they change.', false),
  variables: list(
    'Values that the prompts use.',
    object('One variable.', {
      'name!': filled('Name in the prompt.'),
      'value!': text('Value, or a reference to it.'),
    }),
  ),
});

export const tools: SchemaNode = list(
  'Tools that the agent can call; names are unique.',
  object('One tool.', {
    'name!': filled('Name under which the model calls the tool.'),
    type: word('Where the tool lives.', ['function', 'mcp', 'builtin']),
    description: text('What the tool does.'),
    module: text('Module that holds the function.'),
    function: text('Function in that module.'),
    annotations: object('Hints on what a call may do, as in the Model Context Protocol.', {
      readOnlyHint: flag('The tool changes nothing.'),
      destructiveHint: flag('The tool may destroy something: calls need the confirmation of a user.'),
      idempotentHint: flag('Calling again with the same arguments changes nothing more.'),
      openWorldHint: flag('The tool reaches systems outside the agent.'),
    }),
  }),
);

const mcpServer: SchemaNode = {
  ...object('One server.', {
    'name!': filled('Name of the server; its check is `mcp:<name>`.'),
    transport: word('How the server is reached.', ['stdio', 'sse', 'http']),
    host: filled('Host of the server, together with `port`.'),
    port: integer('Port of the server, together with `host`.', { min: 1, max: 65535 }),
    url: formatted('Address of the server, instead of `host` and `port`.', FORMATS.httpUrl),
    command: filled('Program to start, for stdio.'),
    args: list('Arguments of the program.', text('An argument.')),
    env: map('Environment of the program.', text('Value of the variable.')),
    healthCheck: object('How the server is probed.', {
      timeoutSeconds: integer('Seconds until the probe gives up.', { min: 1, max: 60, default: 5 }),
    }),
  }),
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
};

export const mcp: SchemaNode = object('Model Context Protocol servers.', {
  servers: list('Servers that the agent uses; names are unique.', mcpServer),
});

export const memory: SchemaNode = object('What the agent remembers, and where.', {
  backend: text('Store of the memory as a whole, such as redis or postgres.'),
  shortTerm: object('Memory of the conversation.', {
    backend: text('Store of the conversation.'),
    maxTurns: integer('Most turns that are kept.', { min: 1 }),
    maxTokens: integer('Most tokens that are kept.', { min: 1 }),
    ttlSeconds: integer('Seconds after which an entry is dropped; the policy compares writes with it.', {
      min: 0,
    }),
    connection: text('Where the store is: `host:port` or a connection URL.'),
  }),
  longTerm: object('Memory across conversations.', {
    'backend!': filled('Store of the memory.'),
    connectionString: text('Connection URL of the store.'),
    table: text('Table that holds the entries.'),
    ttlDays: integer('Days after which an entry is dropped.', { min: 0 }),
  }),
  vector: object('Vector store.', {
    'backend!': filled('Product, such as pgvector, qdrant, pinecone.'),
    connectionString: text('Connection URL of the store.'),
    apiKey: secret('Key for the store.'),
    dimension: integer('Dimension of the embeddings.', { min: 1 }),
    topK: integer('Entries that one search returns.', { min: 1 }),
    namespace: text('Namespace that keeps this agent apart from others.'),
  }),
  hygiene: object('How personal data in memory is treated.', {
    piiScrubFields: list('Fields that are scrubbed before a write.', text('A field.')),
    auditLog: flag('Whether writes are logged.', false),
    retentionPolicy: text('Name or text of the retention policy. Declared, not checked.'),
  }),
});
