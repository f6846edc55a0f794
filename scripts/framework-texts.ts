/** The written part of the page of one framework; the results are recorded by the tests. */
export interface FrameworkText {
  /** The lines of the example that are the integration, verbatim. */
  lines: readonly string[];
  /** The line of the example that reports a run of its guardrail, verbatim; absent: the integration reports it. */
  report?: string;
  /** Python: the extra that installs the integration; none for web frameworks, which are part of the package. */
  extra?: string;
  model: string;
  tools: string;
  guardrails: string;
  denial: string;
  notObserved: readonly string[];
}

const OWN_CALLS = {
  model: 'the agent reports each call with its tokens: `current_behavior().model(…)`',
  tools: 'the agent reports each call: `current_behavior().tool(…)`',
  guardrails: 'the agent reports each run: `current_behavior().guardrail(…)`',
};
const DENIED = 'with `check_policy=True`; a web integration turns `PolicyDenied` into a 403';
const BY_HAND = 'the agent reports each run: `current_behavior().guardrail(…)`';
const REPORT = 'current_behavior().guardrail("pii-detector", blocked=is_blocked)';
const JS_REPORT = "reporter.behavior().guardrail('pii-detector', { blocked });";
/** Of an agent framework, for an agent that FastAPI serves. */
const pythonLines = (name: string, options: string): string[] => [
  `from agent_compliance.integrations import ${['fastapi', name].sort().join(', ')}`,
  'fastapi.install(app)  # A denial of the policy becomes a 403.',
  `${name}.install(check_policy=True${options})`,
];
const STREAMS =
  'A stream that the client leaves before its end: the model states its tokens in the last event.';
const NO_USAGE = 'A call whose response has no token usage.';
const OTHER_CLIENTS =
  'Calls of a model outside of the framework, unless the agent reports them with `current_behavior().model(…)`.';

/** The text of an integration of a web framework: the request and its report, not the calls. */
const web = (lines: readonly string[], check: string): FrameworkText => ({
  lines,
  ...OWN_CALLS,
  denial: `the agent calls \`${check}\` before each call; the integration turns \`PolicyDenied\` into a 403`,
  notObserved: [
    'Calls that the agent does not report. The integration of an agent framework, on the other pages, reports them.',
  ],
});

/** By page. */
export const FRAMEWORK_TEXTS: Readonly<Record<string, FrameworkText>> = {
  fastapi: web(
    ['from agent_compliance.integrations import fastapi', 'fastapi.install(app)'],
    'await default_reporter().acheck_policy(**current_behavior().facts())',
  ),
  flask: web(
    ['from agent_compliance.integrations import flask', 'flask.install(app)'],
    'default_reporter().check_policy(**current_behavior().facts())',
  ),
  django: web(
    ['MIDDLEWARE = ["agent_compliance.integrations.django.Middleware"]'],
    'default_reporter().check_policy(**current_behavior().facts())',
  ),
  langgraph: {
    extra: 'langgraph',
    lines: pythonLines('langchain', ', guardrails={"pii_detector": "pii-detector"}'),
    model: 'a callback handler that is part of every run',
    tools: 'the same handler: name, success and latency',
    guardrails: `nodes that \`guardrails\` names. A node blocks with an exception, with \`Command(goto=END)\`, or with \`{"blocked": True}\`. For all others ${BY_HAND}`,
    denial: DENIED,
    notObserved: [NO_USAGE, STREAMS, OTHER_CLIENTS],
  },
  langchain: {
    extra: 'langchain',
    lines: pythonLines('langchain', ', guardrails=["pii-detector"]'),
    model: 'a callback handler that is part of every run',
    tools: 'the same handler: name, success and latency',
    guardrails: `runnables and middleware that \`guardrails\` names, by an exception or by \`{"blocked": True}\`; \`PIIMiddleware\` without a name; for all others ${BY_HAND}`,
    denial: DENIED,
    notObserved: [NO_USAGE, STREAMS, OTHER_CLIENTS],
  },
  'openai-agents': {
    extra: 'openai-agents',
    lines: pythonLines('openai_agents', ''),
    model: 'every model class of the SDK, also without tracing',
    tools: 'a tracing processor: name, success and latency',
    guardrails: `the same processor: the guardrails of the SDK, by their names. With \`check_policy\`, a declared guardrail must run before the model: \`run_in_parallel=False\`. For all others ${BY_HAND}`,
    denial: DENIED,
    notObserved: [
      'Tools and guardrails, if tracing is disabled. `install(export=False)` keeps it, and sends nothing to OpenAI.',
      STREAMS,
      OTHER_CLIENTS,
    ],
  },
  crewai: {
    extra: 'crewai',
    lines: pythonLines('crewai', ''),
    report: REPORT,
    model: 'listeners of the event bus',
    tools: 'the same listeners: name, success and latency',
    guardrails: `guardrails of tasks, by their names; for all others ${BY_HAND}`,
    denial: DENIED,
    notObserved: [NO_USAGE, OTHER_CLIENTS],
  },
  'pydantic-ai': {
    extra: 'pydantic-ai',
    lines: pythonLines('pydantic_ai', ''),
    report: REPORT,
    model: 'every model class of the framework',
    tools: 'every toolset: name, success and latency',
    guardrails: `output validators and tools that \`guardrails\` names; for all others ${BY_HAND}`,
    denial: DENIED,
    notObserved: [NO_USAGE, STREAMS, OTHER_CLIENTS],
  },
  autogen: {
    extra: 'autogen',
    lines: pythonLines('autogen', ''),
    report: REPORT,
    model: 'every model client',
    tools: 'every workbench: name, success and latency',
    guardrails: `tools that \`guardrails\` names; for all others ${BY_HAND}`,
    denial: `${DENIED}. It also leaves a team unchanged`,
    notObserved: [
      NO_USAGE,
      'A stream without `stream_options={"include_usage": True}`, because it has no token usage.',
      OTHER_CLIENTS,
    ],
  },
  fastmcp: {
    extra: 'mcp',
    lines: ['from agent_compliance.integrations import fastmcp', 'fastmcp.install(server)'],
    report: REPORT,
    model: 'the tool reports each call with its tokens: `current_behavior().model(…)`',
    tools:
      'every call of a tool: name, success and latency. Servers of `mcp` 1.x (`FastMCP`), `mcp` 2.x (`MCPServer`) and `fastmcp` 3.x and 4.x',
    guardrails: `tools that \`guardrails\` names; for all others ${BY_HAND}`,
    denial:
      'the tool calls `await default_reporter().acheck_policy(…)` before each call of a model. With `check_policy=True` the policy is evaluated before each call of a tool. A denial is an error of the tool',
    notObserved: [
      'Calls of a model that a tool does not report: the protocol has no tokens.',
      'Calls over stdio: they do not pass the sidecar.',
    ],
  },
  'ai-sdk-js': {
    lines: [
      "import { compliance } from 'agent-compliance/integrations/ai-sdk';",
      'const middleware = compliance(reporter, { checkPolicy: true });',
      "const model = wrapLanguageModel({ model: createOpenAI().chat('gpt-4o-mini'), middleware });",
    ],
    report: JS_REPORT,
    model: 'a language model middleware',
    tools: 'the same middleware and the telemetry of the AI SDK: name, success and latency',
    guardrails: 'the agent reports each run: `reporter.behavior().guardrail(…)`',
    denial: 'with `checkPolicy`; `PolicyDeniedError` reaches the caller',
    notObserved: [
      NO_USAGE,
      STREAMS,
      'Models that are not wrapped by the middleware.',
      'With version 5 of the AI SDK the latency of tools, and for a stream their success. Versions 6 and 7 state both.',
    ],
  },
  'mastra-js': {
    lines: [
      "import { compliance } from 'agent-compliance/integrations/mastra';",
      'const members = compliance(reporter, { checkPolicy: true, inputProcessors: [piiDetector] });',
      'const agent = new Agent({ ...config, ...members });',
    ],
    model: 'a processor of the agent',
    tools: 'hooks around the tools of the agent: name, success and latency',
    guardrails: 'the processors that are passed to `compliance`, by their ids',
    denial: 'with `checkPolicy`; `PolicyDeniedError` reaches the caller',
    notObserved: [NO_USAGE, STREAMS, 'Agents and workflows without the members of `compliance`.'],
  },
  'openai-agents-js': {
    lines: [
      "import { install } from 'agent-compliance/integrations/openai-agents';",
      'install(reporter, { checkPolicy: true, agents });',
    ],
    model: 'a tracing processor',
    tools: 'the same processor: name, success and latency',
    guardrails:
      'the same processor: the guardrails of the SDK, by their names. With `checkPolicy`, a declared guardrail must run before the model: `runInParallel: false`',
    denial: 'with `checkPolicy`; `PolicyDeniedError` reaches the caller of `run`',
    notObserved: ['Everything, if tracing is disabled. A warning at startup states this.', STREAMS],
  },
  'langgraph-js': {
    lines: [
      "import { ComplianceHandler } from 'agent-compliance/integrations/langchain';",
      "const callbacks = [new ComplianceHandler(reporter, { checkPolicy: true, guardrails: ['pii-detector'] })];",
    ],
    model: 'a callback handler, which each run receives in `callbacks`',
    tools: 'the same handler: name, success and latency',
    guardrails: 'nodes that `guardrails` names. A node blocks with an exception',
    denial: 'with `checkPolicy`; `PolicyDeniedError` reaches the caller',
    notObserved: [NO_USAGE, STREAMS, 'Runs without the handler in `callbacks`.'],
  },
  'mcp-js': {
    lines: ["import { install } from 'agent-compliance/integrations/mcp';", 'install(reporter, server);'],
    report: JS_REPORT,
    model: 'the tool reports each call with its tokens: `reporter.behavior().model(…)`',
    tools: 'every call of a tool: name, success and latency',
    guardrails:
      'tools that `guardrails` names; for all others the tool reports each run: `reporter.behavior().guardrail(…)`',
    denial:
      'the tool calls `reporter.checkPolicy(…)` before each call of a model. A denial is an error of the tool',
    notObserved: [
      'Calls of a model that a tool does not report: the protocol has no tokens.',
      'Calls over stdio: they do not pass the sidecar.',
    ],
  },
};
