import { PACKS } from '../audit/packs.ts';
import { FORMATS, filled, flag, formatted, identifier, integer, list, map, number } from './schema-node.ts';
import { object, secret, text, word, type SchemaNode } from './schema-node.ts';

/** How the agent is run: requirements, guardrails, evaluation, observability, compliance, API, subagents, people. */

export const requires: SchemaNode = object('What must be there for the agent to run.', {
  envVars: list(
    'Environment variables that must be set; each is checked as `env:<VAR>`.',
    identifier('Name of a variable.', FORMATS.variable),
  ),
  services: list('Services that must be reachable; names are unique.', {
    ...object('One service; its check is `service:<name>`.', {
      name: filled('Name of the service; default: its type.'),
      type: filled('Kind of service, such as redis or postgres.'),
      address: formatted('Where it is: `host:port` or a connection URL.', FORMATS.address),
      critical: flag('Whether the agent cannot run without it: its check is then an error.', false),
    }),
    anyOf: [{ required: ['name'] }, { required: ['type'] }],
    $comment: 'a service needs "name" or "type"',
  }),
  minimumMemoryMB: integer('Least memory in MiB. Declared, not checked.', { min: 1 }),
  nodeVersion: text('Node.js version, such as ">=22". Declared, not checked.'),
  pythonVersion: text('Python version, such as ">=3.12". Declared, not checked.'),
});

const guardrail = (description: string): SchemaNode =>
  object(description, {
    'type!': word('Kind of guardrail.', [
      'topic-filter',
      'pii-detector',
      'prompt-injection',
      'hallucination-detector',
      'toxicity-filter',
      'custom',
    ]),
    action: text('What happens when it fires, such as block, scrub, warn, retry.'),
    threshold: number('Score from which it fires.', { min: 0, max: 1 }),
    blockedTopics: list('Topics that topic-filter blocks.', text('A topic.')),
    fields: list('Fields that pii-detector looks for.', text('A field.')),
    sensitivity: text('How eager the detector is, such as low, medium, high.'),
    module: text('Module of a custom guardrail.'),
    function: text('Function in that module.'),
    maxRetries: integer('Most tries when the action is to retry.', { min: 0 }),
    message: text('What the user is told when it fires.'),
  });

export const guardrails: SchemaNode = object('Guardrails around the model.', {
  input: list('Guardrails on what goes to the model.', guardrail('One guardrail on input.')),
  output: list('Guardrails on what comes from the model.', guardrail('One guardrail on output.')),
});

export const evaluation: SchemaNode = object('How the agent is evaluated.', {
  framework: text('Evaluation framework, such as deepeval or ragas.'),
  datasets: list(
    'Datasets to evaluate with; names are unique.',
    object('One dataset.', {
      'name!': filled('Name of the dataset.'),
      'path!': filled('File of the dataset, one JSON object a line.'),
      metrics: list('Metrics for this dataset.', text('A metric.')),
    }),
  ),
  metrics: list('Metrics for every dataset.', text('A metric.')),
  thresholds: map('Least value per metric, such as `pass_rate`.', number('Least value.', { min: 0, max: 1 })),
  ciGate: flag('Whether an evaluation below its threshold fails the build.', false),
});

export const observability: SchemaNode = object('How the agent can be watched.', {
  tracing: object('Traces.', {
    'backend!': filled('Product, such as otel, langfuse, langsmith.'),
    endpoint: text('Where traces are sent.'),
    publicKey: text('Public key for the backend.'),
    secretKey: secret('Secret key for the backend.'),
    sampleRate: number('Share of requests that are traced.', { min: 0, max: 1 }),
  }),
  metrics: object('Metrics.', {
    'backend!': filled('Product, such as prometheus or otel.'),
    endpoint: text('Where metrics are sent or served.'),
    serviceName: text('Name under which they appear.'),
  }),
  logging: object('Logs.', {
    level: text('Least level that is logged.'),
    structured: flag('Whether logs are structured.'),
    redactFields: list('Fields that never reach a log.', text('A field.')),
  }),
});

export const compliance: SchemaNode = object('Compliance rules that apply.', {
  packs: list('Rule packs to audit with; default: all.', word('A rule pack.', PACKS)),
  suppressions: list(
    'Rules that somebody decided to leave out, and why.',
    object('One suppression.', {
      'rule!': filled('Identifier of the rule, such as SEC-LLM-04.'),
      'reason!': filled('Why the rule is left out.'),
      approvedBy: text('Who decided.'),
      expires: formatted('Date after which the rule counts again.', FORMATS.date),
    }),
  ),
  auditSchedule: text('How often an audit is due. Declared, not checked.'),
});

const apiObject: SchemaNode = object('How the agent is called.', {
  type: word('Protocol of the API, over HTTP/1.1.', ['rest', 'mcp', 'websocket']),
  port: integer('Port that the agent listens on.', { min: 1, max: 65535 }),
  pathPrefix: formatted('Path under which the API is served.', FORMATS.urlPath),
  url: formatted('Public address of the agent, for the capability card.', FORMATS.publicUrl),
  a2a: object('The A2A interface that the agent serves. Without it the capability card offers none.', {
    'protocolBinding!': word('Binding of the interface.', ['JSONRPC', 'HTTP+JSON']),
    path: formatted('Path of the interface behind `url`; default: `url` itself.', FORMATS.urlPath),
    protocolVersion: word('Version of A2A that the interface serves.', ['1.0', '0.3'], '1.0'),
  }),
  auth: object('How callers prove who they are.', {
    type: word('Kind of credential.', ['jwt', 'apikey', 'oauth2', 'none']),
    jwksUri: formatted('Where the keys of the token issuer are.', FORMATS.httpUrl),
    header: text('Header that carries the credential.'),
  }),
  rateLimit: object('How often one caller may call.', {
    requestsPerMinute: integer('Most requests a minute.', { min: 1 }),
    requestsPerHour: integer('Most requests an hour.', { min: 1 }),
  }),
  streaming: flag('Whether answers can be streamed.'),
  healthEndpoint: formatted('Path that answers 2xx while the agent can serve.', FORMATS.urlPath, '/health'),
  capabilitiesEndpoint: formatted(
    'Path of the capability card, or of the list of tools.',
    FORMATS.urlPath,
    '/capabilities',
  ),
  metricsEndpoint: formatted('Path of the metrics endpoint.', FORMATS.urlPath),
  corsOrigins: list('Origins that browsers may call from.', text('An origin.')),
  chatEndpoint: object('Where a chat message is sent.', {
    path: formatted('Path of the endpoint.', FORMATS.urlPath, '/v1/chat'),
    protocol: word('Shape of request and answer.', ['openai-compatible', 'custom']),
  }),
});

export const api: SchemaNode = {
  ...apiObject,
  if: { required: ['a2a'] },
  then: {
    anyOf: [{ required: ['url'] }],
    $comment: 'an A2A interface needs "url", the address for its clients',
  },
};

const subagentRef: SchemaNode = {
  ...object('Where the other agent is: its manifest, or its A2A address.', {
    manifest: filled("Path of the other agent's manifest."),
    a2a: object('An agent that speaks A2A.', {
      'url!': formatted('Address of the agent.', FORMATS.httpUrl),
      auth: object('How this agent proves who it is.', {
        type: text('Kind of credential.'),
        token: secret('The credential.'),
        header: text('Header that carries it.'),
      }),
    }),
  }),
  oneOf: [{ required: ['manifest'] }, { required: ['a2a'] }],
  $comment: 'needs exactly one of "manifest" and "a2a"',
};

export const subagents: SchemaNode = list(
  'Agents that this agent calls; names are unique.',
  object('One subagent.', {
    'name!': filled('Name of the subagent.'),
    'ref!': subagentRef,
    invocation: word('How it is called.', ['parallel', 'sequential', 'on-demand']),
    passContext: flag('Whether it gets the context of the conversation.', false),
    triggerKeywords: list('Words that make this agent call it.', text('A word.')),
  }),
);

export const skills: SchemaNode = list(
  'Skills that the capability card shows; identifiers are unique.',
  object('One skill.', {
    'id!': filled('Identifier of the skill.'),
    version: text('Version of the skill.'),
  }),
);

export const humanInTheLoop: SchemaNode = object('When a person decides. Declared, not checked.', {
  enabled: flag('Whether people are asked at all.'),
  approvalRequired: list('Tools or actions that need approval.', text('A tool or an action.')),
  timeoutSeconds: integer('Seconds to wait for a person.', { min: 1 }),
  timeoutAction: text('What happens when nobody answers, such as reject.'),
  notifyVia: list('How people are told, such as slack or email.', text('A channel.')),
  webhookUrl: formatted('Address that is called when a person is needed.', FORMATS.httpUrl),
});
