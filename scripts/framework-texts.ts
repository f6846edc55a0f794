/** The written part of the section of one framework; its lines are those of the example, and the tests record the results. */
export interface FrameworkText {
  /** Python: the extra that installs the integration. */
  extra?: string;
  model: string;
  tools: string;
  guardrails: string;
  denial: string;
  /** Beyond what no integration observes. */
  notObserved?: readonly string[];
}

const DENIED = 'with `check_policy=True`';
const BY_HAND = '`current_behavior().guardrail(…)`';

/** By `page` of the example's row; none for a web framework, whose agent reports its calls itself. */
export const FRAMEWORK_TEXTS: Readonly<Record<string, FrameworkText>> = {
  langgraph: {
    extra: 'langgraph',
    model: 'a callback handler that is part of every run',
    tools: 'the same handler: name, success and latency',
    guardrails: `nodes that \`guardrails\` names. A node blocks with an exception, with \`Command(goto=END)\`, or with \`{"blocked": True}\`. Others: ${BY_HAND}`,
    denial: DENIED,
  },
  langchain: {
    extra: 'langchain',
    model: 'a callback handler that is part of every run',
    tools: 'the same handler: name, success and latency',
    guardrails: `runnables and middleware that \`guardrails\` names, by an exception or by \`{"blocked": True}\`; \`PIIMiddleware\` without a name; others: ${BY_HAND}`,
    denial: DENIED,
  },
  'openai-agents': {
    extra: 'openai-agents',
    model: 'every model class of the SDK, also without tracing',
    tools: 'a tracing processor: name, success and latency',
    guardrails: `the same processor: the guardrails of the SDK, by their names. With \`check_policy\`, a declared guardrail must run before the model: \`run_in_parallel=False\`. Others: ${BY_HAND}`,
    denial: DENIED,
    notObserved: [
      'Tools and guardrails, if tracing is disabled. `install(export=False)` keeps it, and sends nothing to OpenAI.',
    ],
  },
  crewai: {
    extra: 'crewai',
    model: 'listeners of the event bus',
    tools: 'the same listeners: name, success and latency',
    guardrails: `guardrails of tasks, by their names; others: ${BY_HAND}`,
    denial: DENIED,
  },
  'pydantic-ai': {
    extra: 'pydantic-ai',
    model: 'every model class of the framework',
    tools: 'every toolset: name, success and latency',
    guardrails: `output validators and tools that \`guardrails\` names; others: ${BY_HAND}`,
    denial: DENIED,
  },
  autogen: {
    extra: 'autogen',
    model: 'every model client',
    tools: 'every workbench: name, success and latency',
    guardrails: `tools that \`guardrails\` names; others: ${BY_HAND}`,
    denial: `${DENIED}. It also leaves a team unchanged`,
    notObserved: [
      'A stream without `stream_options={"include_usage": True}`, because it has no token usage.',
    ],
  },
  fastmcp: {
    extra: 'mcp',
    model: 'the tool reports each call with its tokens: `current_behavior().model(…)`',
    tools:
      'every call of a tool: name, success and latency. Servers of `mcp` 1.x (`FastMCP`), `mcp` 2.x (`MCPServer`) and `fastmcp` 3.x and 4.x',
    guardrails: `tools that \`guardrails\` names; others: ${BY_HAND}`,
    denial:
      'the tool calls `await default_reporter().acheck_policy(…)` before each call of a model. With `check_policy=True` the policy is evaluated before each call of a tool. A denial is an error of the tool',
    notObserved: [
      'Calls of a model that a tool does not report: the protocol has no tokens.',
      'Calls over stdio: they do not pass the sidecar.',
    ],
  },
  'ai-sdk-js': {
    model: 'a language model middleware',
    tools: 'the same middleware and the telemetry of the AI SDK: name, success and latency',
    guardrails: '`reporter.behavior().guardrail(…)`',
    denial: 'with `checkPolicy`; `PolicyDeniedError` reaches the caller',
    notObserved: [
      'Models that are not wrapped by the middleware.',
      'With version 5 of the AI SDK the latency of tools, and for a stream their success. Versions 6 and 7 state both.',
    ],
  },
  'mastra-js': {
    model: 'a processor of the agent',
    tools: 'hooks around the tools of the agent: name, success and latency',
    guardrails: 'the processors that are passed to `compliance`, by their ids',
    denial: 'with `checkPolicy`; `PolicyDeniedError` reaches the caller',
    notObserved: ['Agents and workflows without the members of `compliance`.'],
  },
  'openai-agents-js': {
    model: 'a tracing processor',
    tools: 'the same processor: name, success and latency',
    guardrails:
      'the same processor: the guardrails of the SDK, by their names. With `checkPolicy`, a declared guardrail must run before the model: `runInParallel: false`',
    denial: 'with `checkPolicy`; `PolicyDeniedError` reaches the caller of `run`',
    notObserved: ['Everything, if tracing is disabled. A warning at startup states this.'],
  },
  'langgraph-js': {
    model: 'a callback handler, which each run receives in `callbacks`',
    tools: 'the same handler: name, success and latency',
    guardrails: 'nodes that `guardrails` names. A node blocks with an exception',
    denial: 'with `checkPolicy`; `PolicyDeniedError` reaches the caller',
    notObserved: ['Runs without the handler in `callbacks`.'],
  },
  'mcp-js': {
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
