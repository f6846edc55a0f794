import { EXTERNAL_TOOLS, PACKS } from '../shapes/values.ts';
import { FORMATS, filled, flag, formatted, identifier, integer, list, map, number } from './schema-node.ts';
import { exactlyOne, object, restricted, secret, text, word } from './schema-node.ts';

/** Schema of the agent's operation: requirements, guardrails, evaluation, observability, compliance, API, subagents, approval. */

export const requires = object('Requirements that must be met for the agent to run.', {
  envVars: list(
    'Environment variables that must be set; each is checked as `env:<VAR>`.',
    identifier('Name of the variable.', FORMATS.variable),
  ),
  services: list(
    'Services that must be reachable. Names must be unique.',
    restricted(
      object('One service; its check is `service:<name>`.', {
        name: filled('Name of the service; default: the value of `type`.'),
        type: filled('Kind of service, such as redis or postgres.', ['redis', 'postgres', 'http']),
        address: formatted('Address of the service.', FORMATS.address, {
          examples: ['$env:DATABASE_URL', 'redis://cache:6379'],
        }),
        critical: flag(
          'Whether the agent cannot run without the service. If true, a failed check has severity error.',
          false,
        ),
      }),
      {
        anyOf: [{ required: ['name'] }, { required: ['type'] }],
        $comment: 'a service needs "name" or "type"',
      },
    ),
  ),
  minimumMemoryMB: integer('Minimum memory in MiB. Declared, not checked.', { min: 1 }),
  nodeVersion: text('Node.js version, such as ">=22". Declared, not checked.', ['>=22']),
  pythonVersion: text('Python version, such as ">=3.12". Declared, not checked.', ['>=3.12']),
});

const guardrail = (description: string) =>
  object(description, {
    'type!': word('Kind of guardrail.', [
      'topic-filter',
      'pii-detector',
      'prompt-injection',
      'hallucination-detector',
      'toxicity-filter',
      'custom',
    ]),
    action: text('Action when the guardrail triggers, such as block, scrub, warn, retry.', [
      'block',
      'scrub',
      'warn',
      'retry',
    ]),
    threshold: number('Minimum score that triggers the guardrail.', { min: 0, max: 1 }),
    blockedTopics: list('Topics that topic-filter blocks.', text('A topic.')),
    fields: list('Fields that pii-detector searches for.', text('A field.')),
    sensitivity: text('Sensitivity of the detector, such as low, medium, high.', ['low', 'medium', 'high']),
    module: text('Module of a custom guardrail.'),
    function: text('Function in that module.'),
    maxRetries: integer('Maximum number of retries when the action is retry.', { min: 0 }),
    message: text('Message to the user when the guardrail triggers.'),
  });

export const guardrails = object('Guardrails around the model.', {
  input: list('Guardrails on the input of the model.', guardrail('One input guardrail.')),
  output: list('Guardrails on the output of the model.', guardrail('One output guardrail.')),
});

export const evaluation = object('Evaluation of the agent.', {
  framework: text('Evaluation framework, such as deepeval or ragas.', ['deepeval', 'ragas']),
  datasets: list(
    'Datasets for the evaluation. Names must be unique.',
    object('One dataset.', {
      'name!': filled('Name of the dataset.'),
      'path!': filled('Path of the dataset file, with one JSON object per line.', ['evaluation/smoke.jsonl']),
      metrics: list('Metrics for this dataset.', text('A metric.')),
    }),
  ),
  metrics: list('Metrics for every dataset.', text('A metric.')),
  thresholds: map(
    'Minimum value per metric, such as `pass_rate`.',
    number('Minimum value.', { min: 0, max: 1 }),
  ),
  ciGate: flag('Whether an evaluation below a threshold fails the build.', false),
  external: list(
    'Limits for the results of test tools that `platform proof import` reads.',
    object('One tool.', {
      'tool!': word('The tool.', EXTERNAL_TOOLS),
      maxFailureRate: number('Maximum share of the tests that may fail; default: 0.', { min: 0, max: 1 }),
      minRuns: integer('Minimum number of tests per rule; default: 20.', { min: 1 }),
      expiresDays: integer('Days after which the proof expires; default: 90.', { min: 1, max: 3650 }),
    }),
  ),
});

export const observability = object('Traces, metrics and logs of the agent.', {
  tracing: object('Traces.', {
    'backend!': filled('Product, such as otel, langfuse, langsmith.', ['otel', 'langfuse', 'langsmith']),
    endpoint: text('Endpoint that receives the traces.', ['http://localhost:4318']),
    publicKey: text('Public key for the backend.'),
    secretKey: secret('Secret key for the backend.', ['$secret:tracing-key']),
    sampleRate: number('Fraction of requests that are traced.', { min: 0, max: 1 }),
  }),
  metrics: object('Metrics.', {
    'backend!': filled('Product, such as prometheus or otel.', ['prometheus', 'otel']),
    endpoint: text('Endpoint that receives or serves the metrics.'),
    serviceName: text('Service name of the metrics.'),
  }),
  logging: object('Logs.', {
    level: text('Minimum log level.', ['debug', 'info', 'warn', 'error']),
    structured: flag('Whether logs are structured.'),
    redactFields: list('Fields to redact from logs.', text('A field.')),
  }),
});

export const compliance = object('Compliance rules for the audit.', {
  packs: list('Rule packs to audit; default: all.', word('A rule pack.', PACKS)),
  suppressions: list(
    'Rules that are suppressed, with the reason.',
    object('One suppression.', {
      'rule!': filled('Identifier of the rule, such as SEC-LLM-04.', ['SEC-LLM-04']),
      'reason!': filled('Reason for the suppression.'),
      approvedBy: text('Person who approved the suppression.'),
      expires: formatted('Date after which the rule applies again.', FORMATS.date, {
        examples: ['2027-12-31'],
      }),
    }),
  ),
  auditSchedule: text('Audit interval. Declared, not checked.'),
});

const apiObject = object('API of the agent.', {
  type: word('Protocol of the API over HTTP/1.1.', ['rest', 'mcp', 'websocket']),
  port: integer('Port that the agent listens on.', { min: 1, max: 65535 }),
  pathPrefix: formatted('Path prefix of the API.', FORMATS.urlPath),
  url: formatted('Public URL of the agent, used in the capability card.', FORMATS.publicUrl, {
    examples: ['https://agent.example.com'],
  }),
  a2a: object('A2A interface of the agent. If absent, the capability card lists no interface.', {
    'protocolBinding!': word('Protocol binding of the interface.', ['JSONRPC', 'HTTP+JSON']),
    path: formatted('Path of the interface, appended to `url`; default: `url` itself.', FORMATS.urlPath),
    protocolVersion: word('A2A version of the interface.', ['1.0', '0.3'], '1.0'),
  }),
  auth: object('Authentication of callers.', {
    type: word('Kind of credential.', ['jwt', 'apikey', 'oauth2', 'none']),
    jwksUri: formatted('URL of the JWKS (public keys) of the token issuer.', FORMATS.httpUrl),
    issuer: filled(
      'Issuer of the tokens, exactly as in their claim `iss`. With `type: jwt`, `jwksUri` and `audience`, the sidecar records who made a request.',
      ['https://login.example.com/'],
    ),
    audience: filled('Audience of the tokens, which their claim `aud` must contain.', ['shop-agent']),
    claim: {
      ...filled('Claim of the token that identifies the person.', ['sub', 'email', 'preferred_username']),
      default: 'sub',
    },
    header: text('Header that contains the credential.', ['Authorization', 'X-API-Key']),
  }),
  rateLimit: object('Rate limits per caller.', {
    requestsPerMinute: integer('Maximum number of requests per minute.', { min: 1 }),
    requestsPerHour: integer('Maximum number of requests per hour.', { min: 1 }),
  }),
  streaming: flag('Whether responses can be streamed.'),
  healthEndpoint: formatted('Path that returns 2xx while the agent can serve requests.', FORMATS.urlPath, {
    default: '/health',
  }),
  capabilitiesEndpoint: formatted('Path of the capability card or of the tool list.', FORMATS.urlPath, {
    default: '/capabilities',
  }),
  metricsEndpoint: formatted('Path of the metrics endpoint.', FORMATS.urlPath, { examples: ['/metrics'] }),
  corsOrigins: list('Origins that CORS allows for browsers.', text('An origin.')),
  chatEndpoint: object('Endpoint for chat messages.', {
    path: formatted('Path of the endpoint.', FORMATS.urlPath, { default: '/v1/chat' }),
    protocol: word('Format of request and response.', ['openai-compatible', 'custom']),
  }),
});

export const api = restricted(apiObject, {
  if: { required: ['a2a'] },
  then: {
    anyOf: [{ required: ['url'] }],
    $comment: 'an A2A interface needs "url", the address that its clients use',
  },
});

const subagentRef = exactlyOne(
  object('Reference to the other agent: its manifest or its A2A address.', {
    manifest: filled("Path of the other agent's manifest."),
    a2a: object('An agent with an A2A interface.', {
      'url!': formatted('URL of the agent.', FORMATS.httpUrl),
      auth: object('Credential that this agent sends to the other agent.', {
        type: text('Kind of credential.'),
        token: secret('The credential.'),
        header: text('Header that contains the credential.'),
      }),
    }),
  }),
  'needs exactly one of "manifest" and "a2a"',
);

export const subagents = list(
  'Agents that this agent calls. Names must be unique.',
  object('One subagent.', {
    'name!': filled('Name of the subagent.'),
    'ref!': subagentRef,
    invocation: word('How the subagent is called.', ['parallel', 'sequential', 'on-demand']),
    passContext: flag('Whether the subagent receives the conversation context.', false),
    triggerKeywords: list('Keywords that trigger a call of the subagent.', text('A keyword.')),
  }),
);

export const skills = list(
  'Skills listed in the capability card. Identifiers must be unique.',
  object('One skill.', {
    'id!': filled('Identifier of the skill.'),
    version: text('Version of the skill.'),
  }),
);

export const humanInTheLoop = object('Approval by a person. Declared, not checked.', {
  enabled: flag('Whether human approval is enabled.'),
  approvalRequired: list('Tools or actions that need approval.', text('A tool or an action.')),
  timeoutSeconds: integer('Seconds to wait for a decision.', { min: 1 }),
  timeoutAction: text('Action after the timeout, such as reject.', ['reject']),
  notifyVia: list('Notification channels, such as slack or email.', text('A channel.', ['slack', 'email'])),
  webhookUrl: formatted('URL to call when a decision is needed.', FORMATS.httpUrl),
});
